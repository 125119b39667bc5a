"""Servers for the tests of one module, and keys that no other test uses."""

import itertools

import pytest
import servers

KEYS = itertools.count()


@pytest.fixture(scope="session")
def tested_binary():
    """The path of the server under test."""
    return servers.binary()


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Starts servers that end with the module, and must end well."""
    running = []

    def start_one(transport="tcp", options=(), **more):
        server = servers.Server(tmp_path_factory.mktemp("server"), transport, options, **more)
        running.append(server)
        return server

    yield start_one
    servers.stop_all(running)


@pytest.fixture(scope="module", params=["tcp", "unix", "tls"])
def server(request, start):
    """A server behind each kind of socket in turn."""
    return start(request.param)


@pytest.fixture
def key():
    """A key that no other test uses."""
    return f"key-{next(KEYS)}"


@pytest.fixture(scope="session")
def needs_sasl():
    """Skips SASL where the server under test would need a password database of the system."""
    if servers.is_memcached():
        pytest.skip("this memcached takes SASL passwords from the system's database only")
