"""libmemcached's command line tools, unchanged, on our libraries: the tests of the clients once more."""

import os
import pathlib
import subprocess
import sys

import pytest
import runs

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TESTS = REPOSITORY / "tests/clients/test_libmemcached_tools.py"


@pytest.mark.parametrize("transport", ["tcp", "auto"])
def test_tools(drop_in, transport):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(drop_in), FARCACHE_TRANSPORT=transport, UCX_LOG_LEVEL="error")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS]
    result = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("server_path", ["farcached"], indirect=True)
def test_tools_go_over_the_fabric(drop_in, start, tmp_path):
    server = start()
    environment = dict(os.environ, LD_LIBRARY_PATH=str(drop_in), FARCACHE_TRANSPORT="fabric", UCX_LOG_LEVEL="error")
    file = tmp_path / "key"
    file.write_bytes(b"value")
    for name, *arguments in (
        ["memccp", str(file)], ["memccat", "key"], ["memcexist", "key"], ["memctouch", "key"], ["memcrm", "key"],
        ["memcstat"], ["memcflush"], ["memcslap", "--test=get", "--execute-number=100", "--initial-load=100"],
    ):
        before = runs.fabric_messages(server)
        command = [name, f"--servers={server.host}:{server.port}", *arguments]
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, (name, result.stderr)
        # The counter itself is asked for over a socket.
        assert runs.fabric_messages(server) > before, name
