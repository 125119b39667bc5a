"""The clients, under pymemcache's names of modules."""

from farcache.client.base import Client, KeepaliveOpts, PooledClient
from farcache.client.hash import HashClient

__all__ = ["Client", "HashClient", "KeepaliveOpts", "PooledClient"]
