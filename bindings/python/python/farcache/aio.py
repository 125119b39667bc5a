"""The client for asyncio.

>>> import asyncio
>>> from farcache import aio
>>> async def main():
...     async with aio.Client("127.0.0.1:11211") as client:
...         await client.set("greeting", b"hello")
...         return await asyncio.gather(*(client.get("greeting") for _ in range(100)))

One thread of the library's moves all operations of a client; the event loop hears of what has ended by one descriptor.
What is begun while others are under way travels together with it.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

from farcache import _values
from farcache._farcache import KEYS_MAX
from farcache._values import Key, ServerSpec, check_cas, check_delta, check_integer, room_of

__all__ = ["Client"]


class Client(_values.Base):
    """A client of one server, for one event loop: the one that runs at its first operation.

    The methods are those of `farcache.Client`, awaited; the arguments those of its that make sense here. A call that is
    cancelled gives its result up; the operation may still take effect, and a buffer given to `get_into` may still be
    written to until `close` has returned.
    """

    def __init__(
        self,
        server: ServerSpec,
        serde: Any = None,
        connect_timeout: float | None = None,
        timeout: float | None = None,
        key_prefix: bytes | str = b"",
        allow_unicode_keys: bool = False,
        encoding: str = "ascii",
        **settings: Any,
    ) -> None:
        settings.update(connect_timeout=connect_timeout, timeout=timeout, progress_thread=True)
        super().__init__(
            server, serde, None, None, key_prefix, allow_unicode_keys, encoding, settings
        )
        self._loop: asyncio.AbstractEventLoop | None = None

    def _future(self) -> asyncio.Future[Any]:
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
            loop.add_reader(self._core.descriptor(), self._core.drain)
        return loop.create_future()

    # Reading

    async def get(self, key: Key, default: Any = None) -> Any:
        """The value of a key, or the default."""
        future = self._future()
        if self._is_plain:
            self._core.get(key, default, future)
            return await future
        self._core.get_item(key, None, future)
        return self._deserialized(key, await future, default)

    async def gets(
        self, key: Key, default: Any = None, cas_default: Any = None
    ) -> tuple[Any, Any]:
        """The value of a key and its CAS token, or the defaults."""
        return await self._with_token(key, None, default, cas_default)

    async def gat(self, key: Key, expire: int = 0, default: Any = None) -> Any:
        """Gets a value and gives it a new expiry."""
        expire = check_integer(expire, "expire")
        return (await self._with_token(key, expire, default, None))[0]

    async def _with_token(
        self, key: Key, expire: int | None, default: Any, cas_default: Any
    ) -> tuple[Any, Any]:
        future = self._future()
        self._core.get_item(key, expire, future)
        item = await future
        if item is None:
            return default, cas_default
        return self._deserialized(key, item, default), b"%d" % item[2]

    async def get_view(self, key: Key) -> memoryview | None:
        """A value where it was received, without a copy; None where there is none."""
        future = self._future()
        self._core.get_view(key, future)
        return await future

    async def get_into(self, key: Key, buffer: Any) -> int | None:
        """Receives a value into a buffer; its length in bytes, or None where there is none."""
        future = self._future()
        self._core.get_into(key, room_of(buffer), future)
        got = await future
        return None if got is None else got[0]

    async def get_many(self, keys: Iterable[Key]) -> dict[Key, Any]:
        """The values of those keys that have one."""
        found = await self._many(keys, not self._is_plain)
        if self._is_plain:
            return found
        return {key: self._deserialized(key, item, None) for key, item in found.items()}

    get_multi = get_many

    async def gets_many(self, keys: Iterable[Key]) -> dict[Key, tuple[Any, Any]]:
        """Values and CAS tokens of those keys that have one."""
        found = await self._many(keys, True)
        return {
            key: (self._deserialized(key, item, None), b"%d" % item[2])
            for key, item in found.items()
        }

    async def _many(self, keys: Iterable[Key], whole: bool) -> dict[Key, Any]:
        keys = list(keys)
        futures = []
        for start in range(0, len(keys), KEYS_MAX):
            futures.append(self._future())
            self._core.get_many(keys[start : start + KEYS_MAX], whole, futures[-1])
        found: dict[Key, Any] = {}
        for part in await asyncio.gather(*futures):
            found.update(part)
        return found

    # Storing

    async def set(self, key: Key, value: Any, expire: int = 0, flags: int | None = None) -> bool:
        """Stores a value in any case."""
        return await self._store(_values.SET, key, value, expire, flags) == _values.STORED

    async def add(self, key: Key, value: Any, expire: int = 0, flags: int | None = None) -> bool:
        """Stores a value where the key is absent."""
        return await self._store(_values.ADD, key, value, expire, flags) == _values.STORED

    async def replace(
        self, key: Key, value: Any, expire: int = 0, flags: int | None = None
    ) -> bool:
        """Stores a value where the key is present."""
        return await self._store(_values.REPLACE, key, value, expire, flags) == _values.STORED

    async def append(self, key: Key, value: Any) -> bool:
        """Puts a value behind the one that is there."""
        return await self._store(_values.APPEND, key, value, 0, None) == _values.STORED

    async def prepend(self, key: Key, value: Any) -> bool:
        """Puts a value in front of the one that is there."""
        return await self._store(_values.PREPEND, key, value, 0, None) == _values.STORED

    async def cas(
        self,
        key: Key,
        value: Any,
        cas: int | str | bytes,
        expire: int = 0,
        flags: int | None = None,
    ) -> bool | None:
        """Stores a value where the item has this token: True; False where it has another, None where there is none."""
        stored = await self._store(_values.SET, key, value, expire, flags, check_cas(cas))
        return None if stored == _values.NOT_FOUND else stored == _values.STORED

    async def _store(
        self, mode: int, key: Key, value: Any, expire: int, flags: int | None, cas: int = 0
    ) -> int:
        check_integer(expire, "expire")
        data, flags = self._serialized(key, value, flags)
        future = self._future()
        self._core.store(mode, key, data, expire, flags, cas, future)
        return await future

    # Changing

    async def delete(self, key: Key) -> bool:
        """Deletes an item; whether there was one."""
        future = self._future()
        self._core.delete(key, future)
        return await future

    async def incr(self, key: Key, value: int) -> int | None:
        """Adds to a number; the sum, or None where there is none."""
        return await self._count(key, value, True)

    async def decr(self, key: Key, value: int) -> int | None:
        """Subtracts from a number, down to 0; the difference, or None where there is none."""
        return await self._count(key, value, False)

    async def _count(self, key: Key, value: int, is_up: bool) -> int | None:
        delta = check_delta(value)
        future = self._future()
        self._core.count(key, delta, is_up, None, 0, future)
        return await future

    async def touch(self, key: Key, expire: int = 0) -> bool:
        """Gives an item a new expiry; whether there was one."""
        future = self._future()
        self._core.touch(key, check_integer(expire, "expire"), future)
        return await future

    # The server

    async def stats(self, group: str = "") -> dict[bytes, bytes]:
        """The server's statistics, general or of a group."""
        future = self._future()
        self._core.stats(0, group, future)
        return await future

    async def version(self) -> bytes:
        """The server's version."""
        future = self._future()
        self._core.version(0, future)
        return await future

    async def flush_all(self, delay: int = 0) -> bool:
        """Drops every item of the server, now or so many seconds later."""
        future = self._future()
        self._core.flush(0, check_integer(delay, "delay"), future)
        return await future

    def lanes(self) -> str | None:
        """By which networks of the fabric the server is reached; None over a socket and before the first operation."""
        return self._core.lanes()

    async def close(self) -> None:
        """Ends the connection; what is still under way is waited for, and its callers are cancelled."""
        if self._loop is not None:
            self._loop.remove_reader(self._core.descriptor())
            self._loop = None
        core, self._core = self._core, self._new_core()
        core.end()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
