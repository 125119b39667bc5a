"""What can go wrong. The names are pymemcache's, and two more.

Connecting and waiting fail with Python's own exceptions: `ConnectionRefusedError`, `TimeoutError` and other kinds of
`OSError`.
"""


class MemcacheError(Exception):
    """Every failure that is not an `OSError`."""


class MemcacheClientError(MemcacheError):
    """What was asked makes no sense, or may not be asked."""


class MemcacheUnknownCommandError(MemcacheClientError):
    """The server does not know this operation."""


class MemcacheIllegalInputError(MemcacheClientError):
    """A key or a number that cannot be sent."""


class BufferTooSmallError(MemcacheClientError):
    """A value is longer than the buffer for it, which is unchanged."""


class MemcacheServerError(MemcacheError):
    """The server has refused."""


class MemcacheUnknownError(MemcacheError):
    """The server has answered what the protocol does not allow."""


class MemcacheUnexpectedCloseError(MemcacheServerError):
    """The connection ended before the answer. Whether the operation was carried out is unknown."""


class FabricUnavailableError(MemcacheServerError):
    """`transport="fabric"` was asked for, and the fabric is not to be had; the message says why."""
