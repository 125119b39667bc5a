"""The servers that a rule of memcached's is tested with: the one under test, and memcached itself where it has been built."""

import pytest
import servers
from behaviour import recorded

BOTH = ("tested", "memcached")


def path_of(which):
    """The program of one of BOTH; skips where it is not here."""
    if which == "tested":
        return servers.binary()
    if not recorded.REFERENCE.exists():
        pytest.skip(f"there is no memcached {recorded.VERSION} here: see what scripts/memcached-reference says")
    return str(recorded.REFERENCE)
