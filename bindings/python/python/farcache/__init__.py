"""Client of Farcache and memcached, with pymemcache's interface.

>>> from farcache import Client
>>> client = Client("127.0.0.1:11211")
>>> client.set("greeting", b"hello")
True
>>> client.get("greeting")
b'hello'

`Client` and `HashClient` take what pymemcache's take; `farcache.aio` has the client for asyncio.
"""

from farcache._farcache import __version__
from farcache.client.base import Client, KeepaliveOpts, PooledClient
from farcache.client.hash import HashClient
from farcache.exceptions import (
    BufferTooSmallError,
    FabricUnavailableError,
    MemcacheClientError,
    MemcacheError,
    MemcacheIllegalInputError,
    MemcacheServerError,
    MemcacheUnexpectedCloseError,
    MemcacheUnknownCommandError,
    MemcacheUnknownError,
)

__all__ = [
    "BufferTooSmallError",
    "Client",
    "FabricUnavailableError",
    "HashClient",
    "KeepaliveOpts",
    "MemcacheClientError",
    "MemcacheError",
    "MemcacheIllegalInputError",
    "MemcacheServerError",
    "MemcacheUnexpectedCloseError",
    "MemcacheUnknownCommandError",
    "MemcacheUnknownError",
    "PooledClient",
    "__version__",
]
