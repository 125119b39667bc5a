"""Programs that others wrote for libmemcached, unchanged: pylibmc's own test suite, and PHP's extension."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

import pytest
import runs
import servers

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PYLIBMC = REPOSITORY / ".cache/pylibmc"
EXTENSION = pathlib.Path(__file__).resolve().parent / "programs/extension.php"
# Where pylibmc's tests of its configuration by a server look for that, whatever the environment says.
PYLIBMC_PORT = 11211
PYLIBMC_TESTS_MIN = 38
EXTENSION_LINES_MIN = 250
# What the extension does takes so many messages at least, and PHP ends with the last one.
EXTENSION_MESSAGES_MIN = 700


def environment(library_folder, transport, **more):
    chosen = dict(os.environ, FARCACHE_TRANSPORT=transport, UCX_LOG_LEVEL="error", **more)
    return dict(chosen, LD_LIBRARY_PATH=str(library_folder)) if library_folder else chosen


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def transport_of(server_path):
    """The fabric where the server has it."""
    return "fabric" if server_path == servers.binary() else "tcp"


@pytest.fixture
def pylibmc_server(start, monkeypatch):
    """A server where pylibmc's tests look for one, if nobody else is there."""
    if is_free(PYLIBMC_PORT):
        monkeypatch.setattr(servers, "free_port", lambda: PYLIBMC_PORT)
    return start()


def test_pylibmc_passes_its_own_tests(drop_in, pylibmc_server, server_path):
    transport, server = transport_of(server_path), pylibmc_server
    where = {"MEMCACHED_HOST": server.host, "MEMCACHED_PORT": str(server.port), "PYTHONPATH": str(PYLIBMC / "installed")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    if server.port != PYLIBMC_PORT:
        command.append("--ignore=tests/test_autoconf.py")
    result = subprocess.run(
        command, cwd=PYLIBMC / "suite", env=environment(drop_in, transport, **where), capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert int(re.search(r"(\d+) passed", result.stdout)[1]) >= PYLIBMC_TESTS_MIN
    if transport == "fabric":
        assert runs.fabric_messages(server) > 1000


def test_pylibmc_uses_the_library_in_front(drop_in):
    """Its module is linked with libmemcached by name, and brings none."""
    module = next((PYLIBMC / "installed").glob("_pylibmc*.so"))
    told = subprocess.run(["ldd", module], env=environment(drop_in, "tcp"), capture_output=True, text=True, check=True)
    assert f"libmemcached.so.11 => {drop_in}/libmemcached.so.11" in told.stdout


def extension(server, library_folder=None, transport="tcp"):
    """What PHP's extension does, line by line."""
    result = subprocess.run(
        ["php", EXTENSION, server.host, str(server.port)], env=environment(library_folder, transport),
        capture_output=True, text=True, timeout=runs.PROGRAM_SECONDS_MAX)
    assert result.returncode == 0 and not result.stderr, (result.returncode, result.stdout[-2000:], result.stderr[-2000:])
    return result.stdout.splitlines()


@pytest.mark.skipif(not shutil.which("php"), reason="PHP and its memcached extension are not installed")
def test_phps_extension_sees_the_same(drop_in, start, server_path):
    transport, server = transport_of(server_path), start()
    expected = extension(server)
    assert len(expected) >= EXTENSION_LINES_MIN
    before = runs.fabric_messages(server) if transport == "fabric" else 0
    assert extension(server, drop_in, transport) == expected
    if transport == "fabric":
        assert runs.fabric_messages(server) - before > EXTENSION_MESSAGES_MIN
