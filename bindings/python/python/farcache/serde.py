"""Serialisers, with the flags that pymemcache stores beside values: either client reads what the other has written."""

import logging
import pickle
import zlib
from collections.abc import Callable
from typing import Any

FLAG_BYTES = 0
FLAG_PICKLE = 1
FLAG_INTEGER = 2
FLAG_LONG = 4
FLAG_COMPRESSED = 8
FLAG_TEXT = 16

DEFAULT_PICKLE_VERSION = pickle.HIGHEST_PROTOCOL

logger = logging.getLogger(__name__)

Serializer = Callable[[Any, Any], tuple[Any, int]]
Deserializer = Callable[[Any, bytes, int], Any]


class LegacyWrappingSerde:
    """Two functions as one object; a function that is None changes nothing."""

    def __init__(self, serializer: Serializer | None, deserializer: Deserializer | None) -> None:
        self.serialize = serializer or (lambda key, value: (value, FLAG_BYTES))
        self.deserialize = deserializer or (lambda key, value, flags: value)


class PickleSerde:
    """Bytes stay what they are, texts and integers become readable, all else is pickled."""

    def __init__(self, pickle_version: int = DEFAULT_PICKLE_VERSION) -> None:
        self.pickle_version = pickle_version

    def serialize(self, key: Any, value: Any) -> tuple[Any, int]:
        """The bytes to store, and the flags that tell how they were made."""
        kind = type(value)
        if kind is bytes:
            return value, FLAG_BYTES
        if kind is str:
            return value.encode(), FLAG_TEXT
        if kind is int:
            return b"%d" % value, FLAG_INTEGER
        return pickle.dumps(value, self.pickle_version), FLAG_PICKLE

    def deserialize(self, key: Any, value: bytes, flags: int) -> Any:
        """What was stored; None where it cannot be unpickled here."""
        if flags & FLAG_TEXT:
            return value.decode()
        if flags & (FLAG_INTEGER | FLAG_LONG):
            return int(value)
        if flags & FLAG_PICKLE:
            try:
                return pickle.loads(value)
            except Exception:
                logger.info("a value cannot be unpickled", exc_info=True)
                return None
        return value


class CompressedSerde:
    """What another serialiser makes, compressed where that makes it shorter."""

    def __init__(
        self,
        compress: Callable[[bytes], bytes] = zlib.compress,
        decompress: Callable[[bytes], bytes] = zlib.decompress,
        serde: Any = None,
        min_compress_len: int = 400,
    ) -> None:
        self._compress = compress
        self._decompress = decompress
        self._serde = serde or pickle_serde
        self._min_compress_len = min_compress_len

    def serialize(self, key: Any, value: Any) -> tuple[Any, int]:
        """As the other serialiser, with FLAG_COMPRESSED where that is so."""
        value, flags = self._serde.serialize(key, value)
        if 0 < self._min_compress_len < len(value):
            compressed = self._compress(value)
            if len(compressed) <= len(value):
                return compressed, flags | FLAG_COMPRESSED
        return value, flags

    def deserialize(self, key: Any, value: bytes, flags: int) -> Any:
        """What was stored."""
        if flags & FLAG_COMPRESSED:
            value = self._decompress(value)
        return self._serde.deserialize(key, value, flags)


def get_python_memcache_serializer(pickle_version: int = DEFAULT_PICKLE_VERSION) -> Serializer:
    """A function that serialises with this version of pickle."""
    return PickleSerde(pickle_version).serialize


pickle_serde = PickleSerde()
compressed_serde = CompressedSerde()
python_memcache_serializer = pickle_serde.serialize
python_memcache_deserializer = pickle_serde.deserialize
