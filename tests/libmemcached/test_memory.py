"""The programs with servers lose and misuse no memory on our libraries: Valgrind, AddressSanitizer."""

import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "bindings/libmemcached/include"
VALGRIND = [
    "valgrind", "-q", "--fair-sched=try", "--leak-check=full", "--show-leak-kinds=definite,indirect",
    "--errors-for-leak-kinds=definite,indirect", "--error-exitcode=9", f"--suppressions={HERE.parent}/valgrind.supp",
]
PROGRAMS = ["nonblocking.c", "operations.c", "pools.c", "plusplus.cc"]
LIBRARIES = ("-l:libmemcachedutil.so.2", "-l:libmemcached.so.11", "-l:libhashkit.so.2", "-lsasl2", "-lpthread")


@pytest.fixture(scope="module")
def build(drop_in, tmp_path_factory):
    """Compiles a program against our headers and libraries, with these options."""
    folder, done = tmp_path_factory.mktemp("memory"), {}

    def build_one(name, *options):
        if (name, options) not in done:
            program = done[(name, options)] = folder / f"{name}-{len(done)}"
            compiler = "c++" if name.endswith(".cc") else "cc"
            command = [compiler, "-g", "-O1", "-Wall", "-Wno-nonnull", f"-I{INCLUDE}", *options, HERE / "programs" / name]
            subprocess.run([*command, "-o", program, f"-L{drop_in}", f"-Wl,-rpath,{drop_in}", *LIBRARIES], check=True)
        return done[(name, options)]

    return build_one


def check(command, server, transport):
    """Runs it on the server; it must end well."""
    environment = dict(os.environ, FARCACHE_TRANSPORT=transport, UCX_LOG_LEVEL="error", PATIENCE_MS="60000")
    command = [*command, server.host, str(server.port)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=300)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr


@pytest.mark.parametrize("server_path", ["farcached"], indirect=True)
@pytest.mark.parametrize("transport", ["tcp", "fabric"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_valgrind(name, transport, build, start):
    check([*VALGRIND, build(name)], start(), transport)


@pytest.mark.parametrize("server_path", ["farcached"], indirect=True)
@pytest.mark.parametrize("transport", ["tcp", "fabric"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_address_sanitizer(name, transport, build, start):
    check([build(name, "-fsanitize=address,undefined", "-fno-sanitize-recover")], start(), transport)
