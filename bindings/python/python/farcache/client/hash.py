"""The blocking client of several servers."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from farcache._values import Key, ServerSpec, normalize_server_spec
from farcache.client.base import Client, PooledClient
from farcache.client.rendezvous import RendezvousHash
from farcache.exceptions import MemcacheError, MemcacheUnexpectedCloseError

__all__ = ["HashClient"]

logger = logging.getLogger(__name__)

# A server that fails like this may be down.
_IS_DOWN = (OSError, MemcacheUnexpectedCloseError)


class _Failures:
    """How often a server has failed in a row after the first time, and when it did last."""

    def __init__(self) -> None:
        self.retries = 0
        self.last_s = time.monotonic()

    def again(self) -> None:
        self.retries += 1
        self.last_s = time.monotonic()


class HashClient:
    """A client of several servers; a key lives on one of them, chosen by `hasher`.

    The arguments are those of pymemcache's `HashClient`, and those of `Client`. A server that fails is left alone for
    `retry_timeout` seconds; after `retry_attempts` more failures its keys go to the others, for `dead_timeout` seconds.
    """

    client_class = Client

    def __init__(
        self,
        servers: Iterable[ServerSpec],
        hasher: Callable[[], Any] = RendezvousHash,
        serde: Any = None,
        serializer: Any = None,
        deserializer: Any = None,
        connect_timeout: float | None = None,
        timeout: float | None = None,
        retry_attempts: int = 2,
        retry_timeout: float = 1,
        dead_timeout: float = 60,
        use_pooling: bool = False,
        ignore_exc: bool = False,
        **more: Any,
    ) -> None:
        self.clients: dict[str, Client] = {}
        self.retry_attempts = retry_attempts
        self.retry_timeout = retry_timeout
        self.dead_timeout = dead_timeout
        self.ignore_exc = ignore_exc
        self.hasher = hasher()
        self._class = PooledClient if use_pooling else self.client_class
        if not use_pooling:
            for name in ("max_pool_size", "pool_idle_timeout", "lock_generator"):
                more.pop(name, None)
        self._arguments = {
            "serde": serde,
            "serializer": serializer,
            "deserializer": deserializer,
            "connect_timeout": connect_timeout,
            "timeout": timeout,
            **more,
        }
        self._lock = threading.Lock()
        self._failures: dict[str, _Failures] = {}
        self._dead_since_s: dict[str, float] = {}
        for server in servers:
            self.add_server(normalize_server_spec(server))

    # Servers

    def add_server(self, server: ServerSpec, port: int | None = None) -> None:
        """Adds a server; some keys of the others are its from now on."""
        server = _joined(server, port)
        name = _name(server)
        self.clients[name] = self._class(server, **self._arguments)
        self.hasher.add_node(name)

    def remove_server(self, server: ServerSpec, port: int | None = None) -> None:
        """Takes a server out, for `dead_timeout` seconds."""
        self._bury(_name(_joined(server, port)))

    def _bury(self, name: str) -> None:
        with self._lock:
            self._failures.pop(name, None)
            if name in self._dead_since_s:
                return
            self._dead_since_s[name] = time.monotonic()
            self.hasher.remove_node(name)
        logger.debug("server %s is dead", name)

    def _raise_the_dead(self) -> None:
        until = time.monotonic() - self.dead_timeout
        with self._lock:
            for name in [name for name, since in self._dead_since_s.items() if since < until]:
                del self._dead_since_s[name]
                self.hasher.add_node(name)

    def _server_of(self, key: Key) -> str | None:
        if self._dead_since_s:
            self._raise_the_dead()
        while True:
            name = self.hasher.get_node(key)
            if name is None:
                if self.ignore_exc:
                    return None
                raise MemcacheError("All servers seem to be down right now")
            failures = self._failures.get(name)
            if failures is None or failures.retries < self.retry_attempts:
                return name
            self._bury(name)

    def _failed(self, name: str) -> None:
        with self._lock:
            failures = self._failures.get(name)
            if failures is None:
                self._failures[name] = _Failures()
            else:
                failures.again()
        if self.retry_attempts <= 0:
            self._bury(name)

    def _is_left_alone(self, name: str) -> bool:
        failures = self._failures.get(name)
        return failures is not None and time.monotonic() - failures.last_s <= self.retry_timeout

    def _guarded(self, name: str, call: Callable[[], Any], default: Any) -> Any:
        """Calls, and keeps book of how the server fares."""
        if self._failures and self._is_left_alone(name):
            return default
        try:
            result = call()
        except _IS_DOWN:
            self._failed(name)
            if self.ignore_exc:
                return default
            raise
        except Exception:
            if self.ignore_exc:
                return default
            raise
        if self._failures:
            self._failures.pop(name, None)
        return result

    def _run(self, method: str, key: Key, default: Any, *args: Any, **more: Any) -> Any:
        name = self._server_of(key)
        if name is None:
            return default
        function = getattr(self.clients[name], method)
        return self._guarded(name, lambda: function(key, *args, **more), default)

    # One key

    def get(self, key: Key, default: Any = None) -> Any:
        """As `Client.get`."""
        return self._run("get", key, default, default)

    def gets(self, key: Key, *args: Any, **more: Any) -> Any:
        """As `Client.gets`."""
        return self._run("gets", key, None, *args, **more)

    def gat(self, key: Key, expire: int = 0, default: Any = None) -> Any:
        """As `Client.gat`."""
        return self._run("gat", key, default, expire, default)

    def get_view(self, key: Key) -> memoryview | None:
        """As `Client.get_view`."""
        return self._run("get_view", key, None)

    def get_into(self, key: Key, buffer: Any) -> int | None:
        """As `Client.get_into`."""
        return self._run("get_into", key, None, buffer)

    def set(self, key: Key, *args: Any, **more: Any) -> bool:
        """As `Client.set`."""
        return self._run("set", key, False, *args, **more)

    def add(self, key: Key, *args: Any, **more: Any) -> bool:
        """As `Client.add`."""
        return self._run("add", key, False, *args, **more)

    def replace(self, key: Key, *args: Any, **more: Any) -> bool:
        """As `Client.replace`."""
        return self._run("replace", key, False, *args, **more)

    def append(self, key: Key, *args: Any, **more: Any) -> bool:
        """As `Client.append`."""
        return self._run("append", key, False, *args, **more)

    def prepend(self, key: Key, *args: Any, **more: Any) -> bool:
        """As `Client.prepend`."""
        return self._run("prepend", key, False, *args, **more)

    def cas(self, key: Key, *args: Any, **more: Any) -> bool | None:
        """As `Client.cas`."""
        return self._run("cas", key, False, *args, **more)

    def delete(self, key: Key, *args: Any, **more: Any) -> bool:
        """As `Client.delete`."""
        return self._run("delete", key, False, *args, **more)

    def incr(self, key: Key, *args: Any, **more: Any) -> Any:
        """As `Client.incr`."""
        return self._run("incr", key, False, *args, **more)

    def decr(self, key: Key, *args: Any, **more: Any) -> Any:
        """As `Client.decr`."""
        return self._run("decr", key, False, *args, **more)

    def touch(self, key: Key, *args: Any, **more: Any) -> bool:
        """As `Client.touch`."""
        return self._run("touch", key, False, *args, **more)

    # Many keys

    def get_many(self, keys: Iterable[Key], gets: bool = False) -> dict[Key, Any]:
        """As `Client.get_many`; all servers are asked at the same time."""
        begun = []
        for name, part in self._shares(keys).items():
            client = self.clients[name]
            call = _bound(client._begin_many, part, gets)
            pending = self._guarded(name, call, None)
            if pending is not None:
                begun.append((name, _bound(client._finish_many, pending, gets)))
        found: dict[Key, Any] = {}
        for name, call in begun:
            found.update(self._guarded(name, call, {}))
        return found

    get_multi = get_many

    def gets_many(self, keys: Iterable[Key]) -> dict[Key, Any]:
        """As `Client.gets_many`."""
        return self.get_many(keys, gets=True)

    gets_multi = gets_many

    def set_many(self, values: Mapping[Key, Any], *args: Any, **more: Any) -> list[Key]:
        """As `Client.set_many`."""
        shares = self._shares(values)
        placed = {key for part in shares.values() for key in part}
        failed = [key for key in values if key not in placed]
        for name, part in shares.items():
            share = {key: values[key] for key in part}
            call = _bound(self.clients[name].set_many, share, *args, **more)
            failed += self._guarded(name, call, part)
        return failed

    set_multi = set_many

    def delete_many(self, keys: Iterable[Key], *args: Any, **more: Any) -> bool:
        """As `Client.delete_many`."""
        for name, part in self._shares(keys).items():
            self._guarded(name, _bound(self.clients[name].delete_many, part), False)
        return True

    delete_multi = delete_many

    def _shares(self, keys: Iterable[Key]) -> dict[str, list[Key]]:
        shares: dict[str, list[Key]] = {}
        for key in keys:
            name = self._server_of(key)
            if name is not None:
                shares.setdefault(name, []).append(key)
        return shares

    # All servers

    def flush_all(self, *args: Any, **more: Any) -> None:
        """Drops every item of every server."""
        for name, client in self.clients.items():
            self._guarded(name, _bound(client.flush_all, *args, **more), False)

    def lanes(self) -> dict[str, str | None]:
        """As `Client.lanes`, for each server."""
        return {name: client.lanes() for name, client in self.clients.items()}

    def close(self) -> None:
        """Ends all connections. The next operation makes new ones."""
        for client in self.clients.values():
            client.close()

    disconnect_all = close
    quit = close


def _bound(function: Callable[..., Any], *args: Any, **more: Any) -> Callable[[], Any]:
    return lambda: function(*args, **more)


def _joined(server: Any, port: int | None) -> ServerSpec:
    if port is None:
        return normalize_server_spec(server)
    if not isinstance(server, str):
        raise TypeError("Server must be a string when passing port.")
    return server, port


def _name(server: ServerSpec) -> str:
    return server if isinstance(server, str) else f"{server[0]}:{server[1]}"
