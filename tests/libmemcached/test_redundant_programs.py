"""PHP and pylibmc programs whose values are coded over five servers, one of which dies.

Nothing but their environment tells them so."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import runs
import servers

PYLIBMC = pathlib.Path(__file__).resolve().parents[2] / ".cache/pylibmc/installed"
PROGRAMS = {
    "php": ["php", runs.PROGRAMS / "rounds.php"],
    "pylibmc": [sys.executable, runs.PROGRAMS / "rounds.py"],
}
POLICY, SERVERS = "ec:3,2", 5
# Rounds before one server is killed in the middle of the next, and rounds without it.
ROUNDS_BEFORE, ROUNDS_AFTER = 2, 3
READS_IN_A_ROUND = 36


@pytest.fixture
def five(tmp_path_factory):
    """Servers of ours, one of which the test kills."""
    options = ["-m", "64", "-t", "1"]
    folders = [tmp_path_factory.mktemp("server") for _ in range(SERVERS)]
    running = [servers.Server(folder, options=options, path=servers.binary()) for folder in folders]
    yield running
    for server in running:
        server.kill()


def start(program, drop_in, transport, five):
    environment = dict(
        os.environ, FARCACHE_REDUNDANCY=POLICY, FARCACHE_TRANSPORT=transport,
        UCX_LOG_LEVEL="error", LD_LIBRARY_PATH=str(drop_in), PYTHONPATH=str(PYLIBMC))
    return subprocess.Popen(
        [*PROGRAMS[program], *(server.address for server in five)], env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def await_rounds(process, count):
    """Reads until so many rounds have ended; what the program finds wrong fails the test."""
    for _ in range(count):
        line = process.stdout.readline()
        assert re.fullmatch(r"round \d+\n", line), line


def items(server):
    """How many items lie on the server."""
    command = ["memcstat", f"--servers={server.address}"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(re.search(r"curr_items: (\d+)", told)[1])


@pytest.mark.parametrize("transport", ["tcp", "fabric"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_read_fails_or_is_wrong_while_a_server_dies(drop_in, five, program, transport):
    if not shutil.which(str(PROGRAMS[program][0])):
        pytest.skip(f"{program} is not installed")
    process = start(program, drop_in, transport, five)
    try:
        await_rounds(process, ROUNDS_BEFORE)
        # The program knows of no policy: its environment does.
        assert len({items(server) for server in five}) == 1 and items(five[0]) > 1
        five[0].kill()
        await_rounds(process, ROUNDS_AFTER)
        told, _ = process.communicate(timeout=runs.PROGRAM_SECONDS_MAX)
    finally:
        process.kill()
        process.wait()
    *_, last = told.splitlines()
    reads, wrong = map(int, re.fullmatch(r"(\d+) reads, (\d+) wrong", last).groups())
    assert (wrong, process.returncode) == (0, 0)
    assert reads >= (ROUNDS_BEFORE + ROUNDS_AFTER) * READS_IN_A_ROUND
