"""Servers, and the clients that run the same tests: pymemcache's, and ours over sockets and over the fabric."""

import itertools
import os
import pathlib
import sys
import types

import farcache
import pymemcache
import pytest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
KEYS = itertools.count()
sys.path.append(str(REPOSITORY / "tests/clients"))
# UCX writes its warnings to standard output.
os.environ.setdefault("UCX_LOG_LEVEL", "error")
os.environ.pop("FARCACHE_TRANSPORT", None)

import servers  # noqa: E402 (found beside the other clients' tests)

PATIENCE = {"timeout": servers.PATIENCE_SECONDS, "connect_timeout": servers.PATIENCE_SECONDS}


@pytest.fixture(scope="session")
def start(tmp_path_factory):
    """Starts servers that end with the tests, and must end well."""
    running = []

    def start_one(transport="tcp", options=(), **more):
        folder = tmp_path_factory.mktemp("server")
        running.append(servers.Server(folder, transport, options, path=servers.binary(), **more))
        return running[-1]

    yield start_one
    servers.stop_all(running)


@pytest.fixture(scope="session")
def server(start):
    """A server that all tests share."""
    return start()


@pytest.fixture(scope="session")
def second_server(start):
    """Another one."""
    return start()


def _library(module, **settings):
    def client(server, **more):
        place = server.socket_path or (server.host, server.port)
        return module.Client(place, **{**PATIENCE, **settings, **more})

    def hash_client(places, **more):
        return module.HashClient(places, **{**PATIENCE, **settings, **more})

    return types.SimpleNamespace(
        module=module,
        is_ours=module is farcache,
        transport=settings.get("transport"),
        client=client,
        hash_client=hash_client,
    )


LIBRARIES = {
    "pymemcache": _library(pymemcache),
    "sockets": _library(farcache, transport="tcp"),
    "fabric": _library(farcache, transport="fabric"),
}


@pytest.fixture(params=LIBRARIES)
def library(request):
    """The clients under test, in turn."""
    return LIBRARIES[request.param]


@pytest.fixture(params=["tcp", "fabric"])
def transport(request):
    """What carries our operations."""
    return request.param


@pytest.fixture
def client(library, server):
    """A client that hears how everything ends."""
    made = library.client(server, default_noreply=False)
    yield made
    made.close()


@pytest.fixture
def key():
    """A key that no other test uses."""
    return f"python-{os.getpid()}-{next(KEYS)}"
