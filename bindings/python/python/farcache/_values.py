"""What both kinds of client do with servers, keys and values."""

import ssl
import tempfile
from typing import Any

from farcache._farcache import Core
from farcache.exceptions import MemcacheClientError, MemcacheIllegalInputError
from farcache.serde import LegacyWrappingSerde

ServerSpec = tuple[str, int] | str
Key = bytes | str

DEFAULT_PORT = 11211
# How `Core.store` stores, and how it says that this has ended.
SET, ADD, REPLACE, APPEND, PREPEND = range(5)
STORED, NOT_STORED, EXISTS, NOT_FOUND = range(4)
# No item has this CAS token; 0 would be no condition at all.
NO_SUCH_CAS = (1 << 64) - 1


def normalize_server_spec(server: Any) -> ServerSpec:
    """`(host, port)`, or the path of a unix socket."""
    if isinstance(server, tuple):
        return server
    if isinstance(server, list):
        return server[0], server[1]
    if not isinstance(server, str):
        raise ValueError(f"Unsupported server specification: {server!r}")
    if server.startswith("unix:"):
        return server[len("unix:") :]
    if server.startswith("/"):
        return server
    if server.startswith("["):
        host, _, port = server[1:].partition("]")
        return host, int(port.removeprefix(":") or DEFAULT_PORT)
    host, _, port = server.rpartition(":") if ":" in server else (server, "", "")
    return host, int(port or DEFAULT_PORT)


def address(server: ServerSpec) -> str:
    """The server as the library writes it."""
    if isinstance(server, str):
        return server
    host, port = server
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def check_integer(value: Any, name: str) -> int:
    """Refuses what is no integer."""
    if not isinstance(value, int):
        raise MemcacheIllegalInputError(f"{name} must be integer, got bad value: {value!r}")
    return value


def check_delta(value: Any) -> int:
    """Refuses what memcached does not count with."""
    if not 0 <= check_integer(value, "value") < 1 << 64:
        raise MemcacheClientError("invalid numeric delta argument")
    return value


def check_cas(cas: Any) -> int:
    """A CAS token as a number."""
    text = cas.decode("ascii", "replace") if isinstance(cas, bytes) else cas
    if not isinstance(text, int | str):
        raise MemcacheIllegalInputError(
            f"cas must be integer, string, or bytes, got bad value: {cas!r}"
        )
    text = str(text)
    if not (text.isascii() and text.isdigit()):
        raise MemcacheIllegalInputError(
            f"cas must only contain values in 0-9, got bad value: {cas!r}"
        )
    number = int(text)
    return number if 0 < number <= NO_SUCH_CAS else NO_SUCH_CAS


def buffer_of(value: Any, encoding: str) -> Any:
    """The bytes to store: an object's own where it has some, else its text's."""
    if isinstance(value, bytes | bytearray):
        return value
    try:
        view = memoryview(value)
    except TypeError:
        view = None
    # A single number has a buffer too; as with every number its text is stored.
    if view is not None and view.ndim > 0:
        return view.cast("B") if view.nbytes else b""
    try:
        return str(value).encode(encoding)
    except UnicodeEncodeError as error:
        raise MemcacheIllegalInputError(f"Data values must be binary-safe: {error}") from None


def room_of(buffer: Any) -> memoryview:
    """A buffer's bytes, to receive into."""
    view = memoryview(buffer)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


class Base:
    """What it takes to make a `Core`, and to translate values."""

    def __init__(
        self,
        server: Any,
        serde: Any,
        serializer: Any,
        deserializer: Any,
        key_prefix: bytes | str,
        allow_unicode_keys: bool,
        encoding: str,
        settings: dict[str, Any],
    ) -> None:
        self.server = normalize_server_spec(server)
        self.serde = serde or LegacyWrappingSerde(serializer, deserializer)
        self._is_plain = not (serde or deserializer)
        if isinstance(key_prefix, str):
            key_prefix = key_prefix.encode("ascii")
        if not isinstance(key_prefix, bytes):
            raise TypeError("key_prefix should be bytes.")
        self.key_prefix = key_prefix
        self.allow_unicode_keys = allow_unicode_keys
        self.encoding = encoding
        self._settings = settings
        self._core = self._new_core()

    def _new_core(self) -> Core:
        return Core(
            address(self.server), self.key_prefix, self.allow_unicode_keys, **self._settings
        )

    def _serialized(self, key: Key, value: Any, flags: int | None) -> tuple[Any, int]:
        value, own_flags = self.serde.serialize(key, value)
        return buffer_of(value, self.encoding), own_flags if flags is None else flags

    def _deserialized(self, key: Key, item: Any, default: Any) -> Any:
        if item is None:
            return default
        return self.serde.deserialize(key, item[0], item[1])


def encryption(
    tls_context: ssl.SSLContext | None, given: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    """Settings for TLS, and what must live as long as they are used."""
    if tls_context is None:
        return given, None
    if tls_context.verify_mode != ssl.CERT_REQUIRED or not tls_context.check_hostname:
        raise ValueError("tls_context: certificates and host names are always checked")
    authorities = tls_context.get_ca_certs(binary_form=True)
    if not authorities:
        raise ValueError("tls_context has no authorities of its own; name a file as tls_ca_file")
    file = tempfile.NamedTemporaryFile("w", prefix="farcache-", suffix=".pem")
    file.writelines(ssl.DER_cert_to_PEM_cert(certificate) for certificate in authorities)
    file.flush()
    return {**given, "tls_ca_file": file.name}, file
