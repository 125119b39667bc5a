"""Programs that others wrote for libmemcached, unchanged: pylibmc and PHP's extension, each with its own test suite."""

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
PHP_SUITE = REPOSITORY / ".cache/php-memcached"
EXTENSION = pathlib.Path(__file__).resolve().parent / "programs/extension.php"
# Where pylibmc's tests of its configuration by a server look for that, whatever the environment says.
PYLIBMC_PORT = 11211
PYLIBMC_TESTS_MIN = 38
EXTENSION_LINES_MIN = 250
# What the extension does takes so many messages at least, and PHP ends with the last one.
EXTENSION_MESSAGES_MIN = 700
# So many of the extension's own tests pass with the system's library; the others are for other versions or port 11211.
PHP_TESTS_MIN = 70
PHP_MESSAGES_MIN = 2000
# Some tests wait by the clock, so on a busy machine one may fail that is all right.
PHP_TRIES = 3
PHP_SUITE_SECONDS_MAX = 600


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
def pylibmc_server(start):
    """A server where pylibmc's tests look for one, if nobody else is there."""
    return start(port=PYLIBMC_PORT if is_free(PYLIBMC_PORT) else servers.ANY_PORT)


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


def phps_tests_passed(folder, server, tests, library_folder=None, transport="tcp"):
    """Which of these tests of the extension pass; they get the server's address by a file beside them."""
    folder.mkdir()
    shutil.copytree(PHP_SUITE / "tests", folder / "tests")
    constants = {"HOST": f'"{server.host}"', "PORT": server.port}
    lines = [f'define("MEMC_SERVER_{name}", {value});' for name, value in constants.items()]
    (folder / "tests/config.inc.local").write_text("<?php\n" + "\n".join(lines) + "\n")
    command = ["php", PHP_SUITE / "run-tests.php", "-q", "--no-color", "--no-progress", "-W", folder / "results", *sorted(tests)]
    result = subprocess.run(
        command, cwd=folder, env=environment(library_folder, transport, TEST_PHP_EXECUTABLE=shutil.which("php")),
        capture_output=True, text=True, errors="replace", timeout=PHP_SUITE_SECONDS_MAX)
    assert (folder / "results").exists(), result.stdout[-2000:] + result.stderr[-2000:]
    results = (line.split("\t") for line in (folder / "results").read_text().splitlines())
    return {f"tests/{pathlib.Path(path).name}" for outcome, path in results if outcome == "PASSED"}


@pytest.fixture(scope="module")
def phps_tests(tmp_path_factory):
    """The extension's own tests that pass with the system's library and Debian's memcached."""
    if not (PHP_SUITE / "fetched").exists():
        pytest.skip("scripts/php-suite has not fetched the tests of PHP's extension")
    memcached = shutil.which("memcached") or pytest.skip("memcached is not installed")
    server = servers.Server(tmp_path_factory.mktemp("server"), path=memcached)
    try:
        passed = phps_tests_passed(tmp_path_factory.mktemp("php") / "system", server, ["tests"])
    finally:
        server.stop()
    assert len(passed) >= PHP_TESTS_MIN
    return passed


@pytest.mark.skipif(not shutil.which("php"), reason="PHP and its memcached extension are not installed")
def test_phps_extension_passes_its_own_tests(phps_tests, drop_in, start, server_path, tmp_path):
    transport, server = transport_of(server_path), start()
    left = set(phps_tests)
    for attempt in range(PHP_TRIES):
        if left:
            left -= phps_tests_passed(tmp_path / f"{attempt}", server, left, drop_in, transport)
    assert left == set()
    if transport == "fabric":
        assert runs.fabric_messages(server) > PHP_MESSAGES_MIN
