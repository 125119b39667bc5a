"""Unmodified programs whose values lie on several servers, some of which are killed."""

import os
import signal
import subprocess

import pytest
import runs
import servers

VALUES = 24
# Policies with their servers, and how many of them may be lost.
POLICIES = {"replicate:3,sync": (3, 1), "ec:3,2": (5, 2)}


@pytest.fixture
def start_many(tmp_path_factory):
    """Servers of ours, some of which the test kills."""
    running = []

    def start(count):
        for _ in range(count):
            folder = tmp_path_factory.mktemp("server")
            running.append(servers.Server(folder, options=["-m", "64"], path=servers.binary()))
        return running

    yield start
    for server in running:
        server.kill()


class Program:
    """The program, which goes on whenever it is told that a server is gone."""

    def __init__(self, program, drop_in, text, transport, environment):
        environment = dict(os.environ, FARCACHE_TRANSPORT=transport, UCX_LOG_LEVEL="error", **environment)
        environment["LD_LIBRARY_PATH"] = str(drop_in)
        self.process = subprocess.Popen(
            [program, text, str(VALUES)], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def go_on(self):
        self.process.stdin.write("on\n")
        self.process.stdin.flush()

    def await_ready(self):
        assert self.process.stdout.readline() == "ready\n"

    def end(self):
        told, _ = self.process.communicate(timeout=runs.PROGRAM_SECONDS_MAX)
        assert self.process.returncode == 0
        return told.splitlines()


def text_for(started, *options):
    """What memcached() is told; time limits are generous, as the machine may be busy."""
    addresses = [f"--SERVER={server.host}:{server.port}" for server in started]
    return " ".join([*addresses, "--POLL-TIMEOUT=60000", "--CONNECT-TIMEOUT=60000", *options])


@pytest.mark.parametrize("by_environment", [False, True], ids=["text", "environment"])
@pytest.mark.parametrize("transport", ["tcp", "fabric"])
@pytest.mark.parametrize("policy", POLICIES)
def test_values_survive_killed_servers(compile_program, drop_in, start_many, policy, transport, by_environment):
    count, losses = POLICIES[policy]
    started = start_many(count)
    options = [] if by_environment else [f"--REDUNDANCY={policy}"]
    environment = {"FARCACHE_REDUNDANCY": policy} if by_environment else {}
    program = Program(
        compile_program("redundant.c"), drop_in, text_for(started, *options), transport, environment)
    program.await_ready()
    for server in started[:losses]:
        # In the middle of reads and writes; then everything once more without it.
        program.go_on()
        os.kill(server.process.pid, signal.SIGKILL)
        program.await_ready()
        program.go_on()
        program.await_ready()
    assert program.end() == ["everything holds"]
