"""Values on several servers, some of which are killed, for a program in C."""

import os
import subprocess

import pytest
import servers
from conftest import HERE, PATIENCE, PROGRAM_SECONDS_MAX

# Policies with their servers, and how many of them may be lost.
POLICIES = {"replicate:3,sync": (3, 2), "ec:3,2": (5, 2)}


@pytest.mark.parametrize("transport", ["tcp", "fabric"])
@pytest.mark.parametrize("policy", POLICIES)
def test_values_survive_killed_servers(compile_program, tmp_path, policy, transport):
    count, losses = POLICIES[policy]
    program = compile_program(HERE / "programs/redundant.c")
    environment = dict(os.environ, FARCACHE_TRANSPORT=transport, UCX_LOG_LEVEL="error", FARCACHE_OPTIONS=PATIENCE)
    started, folders = [], [tmp_path / str(number) for number in range(count)]
    try:
        for folder in folders:
            folder.mkdir()
            started.append(servers.Server(folder, options=["-m", "64"], path=servers.binary()))
        command = [program, ",".join(server.address for server in started), policy]
        with subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            assert running.stdout.readline() == "ready\n"
            for server in started[:losses]:
                server.kill()
                running.stdin.write("on\n")
                running.stdin.flush()
                assert running.stdout.readline() == "ready\n"
            told, _ = running.communicate(timeout=PROGRAM_SECONDS_MAX)
            assert (told, running.returncode) == ("everything holds\n", 0)
    finally:
        for server in started:
            server.kill()
