"""scripts/farcache-run: what it starts, with which libraries and settings, and what it says where it cannot."""

import pathlib
import subprocess

import pytest
import servers

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
COMMAND = REPOSITORY / "scripts/farcache-run"
SHOW = 'echo "$LD_LIBRARY_PATH|${LD_PRELOAD-}|${FARCACHE_TRANSPORT-}|${FARCACHE_PROGRESS-}|$*"'


def call(*words, command=COMMAND, environment=None):
    environment = {"PATH": "/usr/bin:/bin", **(environment or {})}
    return subprocess.run([command, *map(str, words)], capture_output=True, text=True, env=environment)


def test_a_program_gets_the_libraries_and_the_settings(drop_in):
    told = call("-t", "tcp", "--progress=thread", "--libraries", drop_in, "--", "sh", "-c", SHOW, "sh", "a b", "-t")
    assert told.stdout == f"{drop_in}||tcp|thread|a b -t\n", told.stderr


def test_what_the_environment_says_stays(drop_in):
    environment = {"LD_LIBRARY_PATH": "/nowhere", "FARCACHE_TRANSPORT": "fabric"}
    told = call("-l", drop_in, "--preload", "sh", "-c", SHOW, environment=environment)
    assert told.stdout == f"{drop_in}:/nowhere|{drop_in}/libmemcached.so.11|fabric||\n", told.stderr


def test_a_linked_program_loads_our_library(drop_in):
    """The loader itself tells which files it takes."""
    told = call("-l", drop_in, "env", "LD_TRACE_LOADED_OBJECTS=1", "/usr/bin/memcping")
    assert f"libmemcached.so.11 => {drop_in}/libmemcached.so.11" in told.stdout, told


def test_the_exit_status_is_the_programs(drop_in):
    assert call("-l", drop_in, "sh", "-c", "exit 7").returncode == 7


def test_installed_it_finds_the_libraries_beside_it(drop_in, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib/farcache").symlink_to(drop_in)
    installed = tmp_path / "bin/farcache-run"
    installed.write_bytes(COMMAND.read_bytes())
    installed.chmod(0o755)
    link = tmp_path / "link"
    link.symlink_to(installed)
    told = call("-v", "true", command=link)
    assert told.returncode == 0 and str(drop_in) in told.stderr, told.stderr


@pytest.mark.parametrize("words, status, says", [
    ([], 125, "no program is given"),
    (["--transport", "rdma", "true"], 125, "--transport is auto or fabric or tcp, not 'rdma'"),
    (["-p"], 125, "-p needs a value"),
    (["--nonsense", "true"], 125, "there is no option '--nonsense'"),
    (["-l", "/usr/bin", "true"], 125, "not all of"),
    (["-l", "{drop_in}", "no-such-program"], 127, "no program is called 'no-such-program'"),
    (["-l", "{drop_in}", "/etc/passwd"], 126, "may not be executed"),
    (["-l", "{drop_in}", "/usr"], 126, "is a folder"),
])
def test_failures_are_named(words, status, says, drop_in):
    told = call(*(word.format(drop_in=drop_in) for word in words))
    assert (told.returncode, says in told.stderr) == (status, True), told.stderr


# The wheel of pylibmc has a copy of libmemcached in it.
WHEEL = REPOSITORY / ".cache/clients/bin/python"
USES_PYLIBMC = """
import sys, pylibmc
client = pylibmc.Client([sys.argv[1]])
client["key"] = "value"
print(client["key"])
"""


@pytest.fixture(scope="module")
def farcached(tmp_path_factory):
    """A server that offers the fabric."""
    running = servers.Server(tmp_path_factory.mktemp("server"), path=servers.binary())
    yield running
    assert running.stop() == 0


def call_pylibmc(farcached, drop_in, *options):
    program = ["--", WHEEL, "-c", USES_PYLIBMC, farcached.address]
    return call("-l", drop_in, *options, *program)


def messages(farcached):
    """How many messages have come over the fabric."""
    with farcached.connect() as connection:
        connection.sendall(b"stats fabric\r\n")
        told = b""
        while not told.endswith(b"END\r\n"):
            told += connection.recv(65536)
    return int(dict(line.split()[1:3] for line in told.splitlines()[:-1])[b"messages_in"])


def test_a_wheel_with_a_copy_is_warned_of(farcached, drop_in):
    told = call_pylibmc(farcached, drop_in)
    assert (told.returncode, told.stdout) == (0, "value\n"), told.stderr
    assert told.stderr.startswith("farcache-run: warning: the program brings a libmemcached of its own, /"), told.stderr
    assert "pylibmc.libs/libmemcached-" in told.stderr and told.stderr.endswith("start it with --preload\n")


@pytest.mark.parametrize("options", [["-t", "fabric"], []])
def test_a_wheel_with_a_copy_fails_where_the_fabric_is_demanded(farcached, drop_in, options):
    environment = {} if options else {"FARCACHE_TRANSPORT": "fabric"}
    program = ["--", WHEEL, "-c", USES_PYLIBMC, farcached.address]
    told = call("-l", drop_in, *options, *program, environment=environment)
    assert (told.returncode, told.stdout) == (125, ""), told
    assert "brings a libmemcached of its own" in told.stderr and "--preload" in told.stderr


def test_a_wheel_with_a_copy_uses_the_fabric_when_ours_is_preloaded(farcached, drop_in):
    before = messages(farcached)
    told = call_pylibmc(farcached, drop_in, "-t", "fabric", "--preload")
    assert (told.returncode, told.stdout, told.stderr) == (0, "value\n", "")
    assert messages(farcached) > before


def test_a_program_that_is_linked_with_the_library_is_not_warned_of(farcached, drop_in):
    told = call("-l", drop_in, "-t", "fabric", "memcping", f"--servers={farcached.address}")
    assert (told.returncode, told.stderr) == (0, "")


def test_a_program_without_any_libmemcached_is_told_where_the_fabric_is_demanded(drop_in):
    told = call("-l", drop_in, "-t", "fabric", WHEEL, "-c", "exit(7)")
    assert told.returncode == 7 and "has loaded no libmemcached" in told.stderr
    assert call("-l", drop_in, WHEEL, "-c", "exit(7)").stderr == ""
