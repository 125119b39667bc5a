"""Operations on servers: the same program says the same with the system's library and with ours."""

import pytest
import runs

LINES_MIN = 350


def test_operations(compile_program, drop_in, start):
    """On two servers, so that keys are shared out, in both protocols."""
    program = compile_program("operations.c")
    started = [start(), start()]
    arguments = [word for server in started for word in (server.host, server.port)]
    expected = runs.run(program, arguments)
    assert len(expected) >= LINES_MIN
    assert runs.run(program, arguments, drop_in) == expected


@pytest.mark.parametrize("server_path", ["farcached"], indirect=True)
def test_operations_over_the_fabric(compile_program, drop_in, start):
    program, server = compile_program("operations.c"), start()
    expected = runs.run(program, (server.host, server.port))
    before = runs.fabric_messages(server)
    assert runs.run(program, (server.host, server.port), drop_in, "fabric") == expected
    assert runs.fabric_messages(server) - before > 200


def test_pools_and_questions(compile_program, drop_in, start):
    program, server = compile_program("pools.c"), start()
    expected = runs.run(program, (server.host, server.port))
    assert len(expected) >= 20
    assert runs.run(program, (server.host, server.port), drop_in) == expected


def test_nonblocking_operations(nonblocking, drop_in, start):
    server = start()
    assert runs.run(nonblocking, (server.host, server.port), drop_in) == ["everything holds"]


@pytest.mark.parametrize("server_path", ["farcached"], indirect=True)
def test_nonblocking_operations_over_the_fabric(nonblocking, drop_in, start):
    server = start()
    assert runs.run(nonblocking, (server.host, server.port), drop_in, "fabric") == ["everything holds"]
