"""Builds the drop-in libraries once, and compiles the programs once, against the system's headers."""

import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
HEADER = pathlib.Path("/usr/include/libmemcached/memcached.h")
LIBRARIES = ("-lmemcachedutil", "-lmemcached", "-lhashkit", "-lsasl2", "-lpthread")
sys.path.append(str(HERE.parent / "clients"))

import servers  # noqa: E402 (found beside the other clients' tests)


def pytest_collection_modifyitems(items):
    """Nothing can be compared where there is nothing to compare with."""
    if not HEADER.exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason="libmemcached and its headers are not installed"))


@pytest.fixture(scope="session")
def drop_in(tmp_path_factory):
    """The folder with our libraries, under the names that the loader asks for."""
    folder = tmp_path_factory.mktemp("drop-in")
    subprocess.run([REPOSITORY / "scripts/drop-in", folder], check=True)
    return folder


@pytest.fixture(scope="session")
def compile_program(tmp_path_factory):
    """Compiles a program of the folder programs/; the same binary then runs with either library."""
    folder, done = tmp_path_factory.mktemp("programs"), {}

    def compile_one(name):
        if name not in done:
            done[name] = folder / pathlib.Path(name).stem
            command = ["cc", "-Wall", "-Werror", "-Wno-nonnull", "-o", done[name], HERE / "programs" / name, *LIBRARIES]
            subprocess.run(command, check=True)
        return done[name]

    return compile_one


@pytest.fixture(scope="session")
def nonblocking(drop_in, tmp_path_factory):
    """The program with the non-blocking operations, which only our library has."""
    program = tmp_path_factory.mktemp("nonblocking") / "nonblocking"
    include = REPOSITORY / "bindings/libmemcached/include"
    command = ["cc", "-Wall", "-Werror", f"-I{include}", "-o", program, HERE / "programs/nonblocking.c"]
    subprocess.run([*command, f"-L{drop_in}", "-l:libmemcached.so.11", "-lhashkit"], check=True)
    return program


@pytest.fixture(scope="session", params=["memcached", "farcached"])
def server_path(request):
    """Each of the two servers in turn."""
    if request.param == "farcached":
        return servers.binary()
    return shutil.which("memcached") or pytest.skip("memcached is not installed")


@pytest.fixture
def start(tmp_path_factory, server_path):
    """Starts servers that end with the test, and must end well."""
    running = []

    def start_one(transport="tcp", options=(), path=server_path, **more):
        folder = tmp_path_factory.mktemp("server")
        running.append(servers.Server(folder, transport, options, path=path, **more))
        return running[-1]

    yield start_one
    servers.stop_all(running)
