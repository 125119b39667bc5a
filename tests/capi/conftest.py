"""libfarcache as it is built, programs that are linked with it, and servers for them."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
INCLUDE = REPOSITORY / "bindings/c/include"
PROGRAM_SECONDS_MAX = 300
# The usual time limits, of some seconds, are short on a busy machine, and under Valgrind more so.
PATIENCE = "connect-timeout-ms=60000 timeout-ms=60000"
sys.path.append(str(HERE.parent / "clients"))

import servers  # noqa: E402 (found beside the other clients' tests)


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The folder with libfarcache.so.1."""
    folder = tmp_path_factory.mktemp("library")
    subprocess.run([REPOSITORY / "scripts/c-library", folder], check=True)
    return folder


@pytest.fixture(scope="session")
def compile_program(library, tmp_path_factory):
    """Compiles a program, C or C++, and links it with the library; once for each set of options."""
    folder, done = tmp_path_factory.mktemp("programs"), {}

    def compile_one(source, *options):
        key = (source, options)
        if key not in done:
            done[key] = folder / f"{source.stem}-{len(done)}"
            compiler = "c++" if source.suffix == ".cc" else "cc"
            command = [compiler, "-g", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", *options, source]
            link = [f"-L{library}", "-lfarcache", "-lpthread", f"-Wl,-rpath,{library}"]
            subprocess.run([*command, "-o", done[key], *link], check=True)
        return done[key]

    return compile_one


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server that ends, and ends well, after the last test."""
    running = servers.Server(tmp_path_factory.mktemp("server"), path=servers.binary())
    yield running
    assert running.stop() == 0


@pytest.fixture
def run(server):
    """Runs a program on the server and returns what it says."""

    def run_one(program, transport="tcp", tool=(), **variables):
        # UCX writes its warnings to standard output, where the programs speak.
        environment = dict(
            os.environ, FARCACHE_TRANSPORT=transport, UCX_LOG_LEVEL="error", FARCACHE_OPTIONS=PATIENCE, **variables)
        command = [*tool, program, f"{server.host}:{server.port}"]
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=PROGRAM_SECONDS_MAX
        )
        assert result.returncode == 0, f"{command} ended with {result.returncode}: {result.stdout}{result.stderr}"
        return result.stdout

    return run_one


@pytest.fixture
def fabric_messages(run, compile_program):
    """How many messages have come to the server over the fabric."""
    return lambda: int(run(compile_program(HERE / "programs/fabric_messages.c")))
