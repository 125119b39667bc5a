"""The blocking client of one server."""

import os
import socket
import ssl
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from farcache import _values
from farcache._farcache import KEYS_MAX, check_key
from farcache._values import Key, ServerSpec, check_cas, check_delta, check_integer, room_of
from farcache.exceptions import (
    MemcacheClientError,
    MemcacheError,
    MemcacheServerError,
    MemcacheUnexpectedCloseError,
    MemcacheUnknownCommandError,
)

__all__ = ["Client", "KeepaliveOpts", "PooledClient"]


def _flag(value: bytes) -> bool:
    return int(value) != 0


def _octal(value: bytes) -> int:
    return int(value, 8)


def _yes(value: bytes) -> bool:
    return value == b"yes"


# Statistics that are no integers.
_STATISTICS: dict[bytes, Any] = {
    b"version": bytes,
    b"inter": bytes,
    b"stat_key_prefix": bytes,
    b"rusage_user": float,
    b"rusage_system": float,
    b"growth_factor": float,
    b"umask": _octal,
    b"auth_enabled_sasl": _yes,
    b"hash_is_expanding": _flag,
    b"slab_reassign_running": _flag,
    b"detail_enabled": _flag,
    b"cas_enabled": _flag,
    b"maxconns_fast": _flag,
    b"slab_reassign": _flag,
    b"slab_automove": _flag,
}

# Every client, so that a process that was forked can leave the parent's connections alone.
_CLIENTS: "weakref.WeakSet[Client]" = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(_CLIENTS):
        client._core.forget()
        client._core = client._new_core()


os.register_at_fork(after_in_child=_after_fork)


class KeepaliveOpts:
    """Taken for pymemcache's sake. The end of a server is felt without it."""

    __slots__ = ("cnt", "idle", "intvl")

    def __init__(self, idle: int = 1, intvl: int = 1, cnt: int = 5) -> None:
        for name, value in (("idle", idle), ("intvl", intvl), ("cnt", cnt)):
            if value < 1:
                raise ValueError(f"The {name} parameter must be greater or equal to 1.")
        self.idle, self.intvl, self.cnt = idle, intvl, cnt


class Client(_values.Base):
    """A client of one server, which any number of threads may use at the same time.

    The arguments are those of pymemcache's `Client`. Further ones: `transport` ("auto": the fabric where the server
    offers it, else a socket; "fabric"; "tcp"), `user` and `password` for SASL, `tls_ca_file`, `tls_certificate_file`,
    `tls_key_file` and `tls_server_name`, `spin` (seconds that a waiting thread polls before it sleeps).

    Times are in seconds. Without `timeout` an operation takes 5 s at most, without `connect_timeout` connecting takes 4 s.

    With `noreply` the server's refusals are not told. The operation is waited for all the same, so that what follows
    sees its effect.
    """

    def __init__(
        self,
        server: ServerSpec,
        serde: Any = None,
        serializer: Any = None,
        deserializer: Any = None,
        connect_timeout: float | None = None,
        timeout: float | None = None,
        no_delay: bool = False,
        ignore_exc: bool = False,
        socket_module: Any = socket,
        socket_keepalive: KeepaliveOpts | None = None,
        key_prefix: bytes | str = b"",
        default_noreply: bool = True,
        allow_unicode_keys: bool = False,
        encoding: str = "ascii",
        tls_context: ssl.SSLContext | None = None,
        **settings: Any,
    ) -> None:
        self.connect_timeout = connect_timeout
        self.timeout = timeout
        self.ignore_exc = ignore_exc
        self.default_noreply = default_noreply
        settings, self._authorities = _values.encryption(tls_context, settings)
        settings.update(connect_timeout=connect_timeout, timeout=timeout)
        super().__init__(
            server, serde, serializer, deserializer, key_prefix, allow_unicode_keys, encoding, settings
        )
        _CLIENTS.add(self)

    def check_key(self, key: Key, key_prefix: bytes | None = None) -> bytes:
        """The key as it is sent; refuses one that cannot be."""
        prefix = self.key_prefix if key_prefix is None else key_prefix
        return check_key(key, self.allow_unicode_keys, prefix)

    # Reading

    def get(self, key: Key, default: Any = None) -> Any:
        """The value of a key, or the default."""
        try:
            if self._is_plain:
                return self._core.get(key, default)
            return self._deserialized(key, self._core.get_item(key), default)
        except Exception:
            if self.ignore_exc:
                return default
            raise

    def gets(self, key: Key, default: Any = None, cas_default: Any = None) -> tuple[Any, Any]:
        """The value of a key and its CAS token, or the defaults."""
        return self._with_token(key, None, default, cas_default)

    def gat(self, key: Key, expire: int = 0, default: Any = None) -> Any:
        """Gets a value and gives it a new expiry."""
        return self.gats(key, expire, default)[0]

    def gats(
        self, key: Key, expire: int = 0, default: Any = None, cas_default: Any = None
    ) -> tuple[Any, Any]:
        """Gets a value with its CAS token, and gives it a new expiry."""
        return self._with_token(key, check_integer(expire, "expire"), default, cas_default)

    def _with_token(
        self, key: Key, expire: int | None, default: Any, cas_default: Any
    ) -> tuple[Any, Any]:
        try:
            item = self._core.get_item(key, expire)
            if item is None:
                return default, cas_default
            return self._deserialized(key, item, default), b"%d" % item[2]
        except Exception:
            if self.ignore_exc:
                return default, cas_default
            raise

    def get_view(self, key: Key) -> memoryview | None:
        """A value where it was received, without a copy; None where there is none. Nothing is deserialised."""
        return self._core.get_view(key)

    def get_into(self, key: Key, buffer: Any) -> int | None:
        """Receives a value into a writable, contiguous buffer: a bytearray, a memoryview, a numpy array.

        Returns the value's length in bytes, or None where there is none. What is behind the value stays as it is.
        No other thread may use the buffer meanwhile.

        Raises BufferTooSmallError where the value does not fit; the buffer is unchanged then.
        """
        got = self._core.get_into(key, room_of(buffer))
        return None if got is None else got[0]

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Any]:
        """The values of those keys that have one."""
        return self._finish_many(self._begin_many(keys, False), False)

    get_multi = get_many

    def gets_many(self, keys: Iterable[Key]) -> dict[Key, tuple[Any, Any]]:
        """Values and CAS tokens of those keys that have one."""
        return self._finish_many(self._begin_many(keys, True), True)

    def _begin_many(self, keys: Iterable[Key], with_cas: bool) -> list[Any]:
        """Sends the question, so that several servers work at the same time."""
        keys = list(keys)
        whole = with_cas or not self._is_plain
        try:
            return [
                self._core.get_many(keys[start : start + KEYS_MAX], whole)
                for start in range(0, len(keys), KEYS_MAX)
            ]
        except Exception:
            if self.ignore_exc:
                return []
            raise

    def _finish_many(self, pending: list[Any], with_cas: bool) -> dict[Key, Any]:
        found: dict[Key, Any] = {}
        try:
            for part in pending:
                found.update(part.wait())
            if with_cas:
                return {
                    key: (self._deserialized(key, item, None), b"%d" % item[2])
                    for key, item in found.items()
                }
            if self._is_plain:
                return found
            return {key: self._deserialized(key, item, None) for key, item in found.items()}
        except Exception:
            if self.ignore_exc:
                return {}
            raise

    # Storing

    def set(
        self,
        key: Key,
        value: Any,
        expire: int = 0,
        noreply: bool | None = None,
        flags: int | None = None,
    ) -> bool:
        """Stores a value in any case: bytes, a contiguous buffer as it is, anything else as its text."""
        return self._store(_values.SET, key, value, expire, noreply, flags) == _values.STORED

    def add(
        self,
        key: Key,
        value: Any,
        expire: int = 0,
        noreply: bool | None = None,
        flags: int | None = None,
    ) -> bool:
        """Stores a value where the key is absent."""
        return self._store(_values.ADD, key, value, expire, noreply, flags) == _values.STORED

    def replace(
        self,
        key: Key,
        value: Any,
        expire: int = 0,
        noreply: bool | None = None,
        flags: int | None = None,
    ) -> bool:
        """Stores a value where the key is present."""
        return self._store(_values.REPLACE, key, value, expire, noreply, flags) == _values.STORED

    def append(
        self,
        key: Key,
        value: Any,
        expire: int = 0,
        noreply: bool | None = None,
        flags: int | None = None,
    ) -> bool:
        """Puts a value behind the one that is there."""
        return self._store(_values.APPEND, key, value, expire, noreply, flags) == _values.STORED

    def prepend(
        self,
        key: Key,
        value: Any,
        expire: int = 0,
        noreply: bool | None = None,
        flags: int | None = None,
    ) -> bool:
        """Puts a value in front of the one that is there."""
        return self._store(_values.PREPEND, key, value, expire, noreply, flags) == _values.STORED

    def cas(
        self,
        key: Key,
        value: Any,
        cas: int | str | bytes,
        expire: int = 0,
        noreply: bool = False,
        flags: int | None = None,
    ) -> bool | None:
        """Stores a value where the item has this token: True; False where it has another, None where there is none."""
        token = check_cas(cas)
        stored = self._store(_values.SET, key, value, expire, noreply, flags, token)
        return None if stored == _values.NOT_FOUND else stored == _values.STORED

    def _store(
        self,
        mode: int,
        key: Key,
        value: Any,
        expire: int,
        noreply: bool | None,
        flags: int | None,
        cas: int = 0,
    ) -> int:
        check_integer(expire, "expire")
        data, flags = self._serialized(key, value, flags)
        if noreply is None:
            noreply = self.default_noreply
        try:
            stored = self._core.store(mode, key, data, expire, flags, cas)
        except MemcacheUnexpectedCloseError:
            raise
        except MemcacheServerError:
            if noreply:
                return _values.STORED
            raise
        return _values.STORED if noreply else stored

    def set_many(
        self,
        values: Mapping[Key, Any],
        expire: int = 0,
        noreply: bool | None = None,
        flags: int | None = None,
    ) -> list[Key]:
        """Stores many values at once; returns the keys of those that were not stored."""
        check_integer(expire, "expire")
        items = [(key, *self._serialized(key, value, flags)) for key, value in values.items()]
        if noreply is None:
            noreply = self.default_noreply
        try:
            codes = self._core.set_many(items, expire)
        except MemcacheUnexpectedCloseError:
            raise
        except MemcacheServerError:
            if noreply:
                return []
            raise
        if noreply:
            return []
        return [key for key, code in zip(values, codes, strict=True) if code != _values.STORED]

    set_multi = set_many

    # Changing

    def delete(self, key: Key, noreply: bool | None = None) -> bool:
        """Deletes an item; whether there was one."""
        deleted = self._core.delete(key)
        return deleted or bool(self.default_noreply if noreply is None else noreply)

    def delete_many(self, keys: Iterable[Key], noreply: bool | None = None) -> bool:
        """Deletes many items at once."""
        self._core.delete_many(keys)
        return True

    delete_multi = delete_many

    def incr(self, key: Key, value: int, noreply: bool | None = False) -> int | None:
        """Adds to a number; the sum, or None where there is none."""
        return self._count(key, value, True, noreply)

    def decr(self, key: Key, value: int, noreply: bool | None = False) -> int | None:
        """Subtracts from a number, down to 0; the difference, or None where there is none."""
        return self._count(key, value, False, noreply)

    def _count(self, key: Key, value: int, is_up: bool, noreply: bool | None) -> int | None:
        delta = check_delta(value)
        try:
            number = self._core.count(key, delta, is_up)
        except MemcacheClientError:
            if noreply:
                return None
            raise
        return None if noreply else number

    def touch(self, key: Key, expire: int = 0, noreply: bool | None = None) -> bool:
        """Gives an item a new expiry; whether there was one."""
        touched = self._core.touch(key, check_integer(expire, "expire"))
        return touched or bool(self.default_noreply if noreply is None else noreply)

    # The server

    def stats(self, *args: str | bytes) -> dict[bytes, Any]:
        """The server's statistics, general or of a group ("settings", "fabric", ...)."""
        words = [word.decode() if isinstance(word, bytes) else str(word) for word in args]
        try:
            told = self._core.stats(0, " ".join(words))
        except Exception:
            if self.ignore_exc:
                return {}
            raise
        return {name: _statistic(name, value) for name, value in told.items()}

    def version(self) -> bytes:
        """The server's version."""
        return self._core.version(0)

    def flush_all(self, delay: int = 0, noreply: bool | None = None) -> bool:
        """Drops every item of the server, now or so many seconds later."""
        return self._core.flush(0, check_integer(delay, "delay"))

    def cache_memlimit(self, memlimit: int) -> bool:
        """Changes how many MB the server uses."""
        return self.raw_command(f"cache_memlimit {check_integer(memlimit, 'memlimit')}") == b"OK"

    def raw_command(self, command: str | bytes, end_tokens: str | bytes = "\r\n") -> bytes:
        """Sends a command of the text protocol by a connection of its own; the answer up to the end tokens."""
        encoding = "utf8" if self.allow_unicode_keys else "ascii"
        command = command.encode(encoding) if isinstance(command, str) else command
        end = end_tokens.encode(encoding) if isinstance(end_tokens, str) else end_tokens
        with self._text_socket() as connection:
            connection.sendall(command + b"\r\n")
            told = b""
            while end not in told:
                part = connection.recv(1 << 16)
                if not part:
                    raise MemcacheUnexpectedCloseError("the connection ended before the answer")
                told += part
                _raise_refusal(told)
        return told.partition(end)[0]

    def _text_socket(self) -> socket.socket:
        seconds = self.timeout if self.timeout is not None else 5
        if isinstance(self.server, str):
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(seconds)
            connection.connect(self.server)
            return connection
        connection = socket.create_connection(self.server, seconds)
        authorities = self._settings.get("tls_ca_file")
        if not authorities:
            return connection
        context = ssl.create_default_context(cafile=authorities)
        if self._settings.get("tls_certificate_file"):
            context.load_cert_chain(
                self._settings["tls_certificate_file"], self._settings["tls_key_file"]
            )
        name = self._settings.get("tls_server_name") or self.server[0]
        return context.wrap_socket(connection, server_hostname=name)

    def shutdown(self, graceful: bool = False) -> None:
        """Ends the server, where it allows that (`-A`)."""
        try:
            self.raw_command("shutdown graceful" if graceful else "shutdown")
        except (MemcacheUnexpectedCloseError, ConnectionResetError):
            pass

    def lanes(self) -> str | None:
        """By which networks of the fabric the server is reached; None over a socket and before the first operation."""
        return self._core.lanes()

    def close(self) -> None:
        """Ends the connection. The next operation makes a new one."""
        self._core = self._new_core()

    disconnect_all = close
    quit = close

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __setitem__(self, key: Key, value: Any) -> None:
        self.set(key, value, noreply=True)

    def __getitem__(self, key: Key) -> Any:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __delitem__(self, key: Key) -> None:
        self.delete(key, noreply=True)


class PooledClient(Client):
    """A `Client`, which threads share anyway: what says how many connections there are is taken and has no effect."""

    def __init__(
        self,
        server: ServerSpec,
        *args: Any,
        max_pool_size: int | None = None,
        pool_idle_timeout: float = 0,
        lock_generator: Any = None,
        **more: Any,
    ) -> None:
        super().__init__(server, *args, **more)


def _statistic(name: bytes, value: bytes) -> Any:
    try:
        return _STATISTICS.get(name, int)(value)
    except ValueError:
        return value


def _raise_refusal(told: bytes) -> None:
    line, ended, _ = told.partition(b"\r\n")
    if not ended:
        return
    word, _, why = line.partition(b" ")
    if word == b"ERROR":
        raise MemcacheUnknownCommandError("the server does not know this command")
    kinds: dict[bytes, type[MemcacheError]] = {
        b"CLIENT_ERROR": MemcacheClientError,
        b"SERVER_ERROR": MemcacheServerError,
    }
    if word in kinds:
        raise kinds[word](why.decode("utf8", "replace"))
