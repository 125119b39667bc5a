"""Operations on servers: the same program says the same with the system's library and with ours."""

import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

import pytest
import runs
import servers

LINES_MIN = 350


def test_operations(compile_program, drop_in, start):
    """On two servers, so that keys are shared out, in both protocols."""
    program = compile_program("operations.c")
    started = [start(), start()]
    arguments = [word for server in started for word in (server.host, server.port)]
    expected = runs.run(program, arguments)
    assert len(expected) >= LINES_MIN
    assert runs.run(program, arguments, drop_in) == expected


def test_servers_that_speak_text_only(compile_program, nonblocking, drop_in, start, monkeypatch):
    """The same calls, carried by the text protocol: the server does not know another."""
    program, started = compile_program("operations.c"), [start(options=["-B", "ascii"]) for _ in range(2)]
    arguments = [word for server in started for word in (server.host, server.port)]
    monkeypatch.setenv("TEXT_ONLY", "1")
    expected = runs.run(program, arguments)
    assert len(expected) >= LINES_MIN // 2
    assert runs.run(program, arguments, drop_in, "auto") == expected
    assert runs.run(nonblocking, arguments[:2], drop_in, "auto") == ["everything holds"]


@pytest.mark.parametrize("options", [(), ("-B", "ascii")])
def test_meta_commands(compile_program, nonblocking, drop_in, start, monkeypatch, options):
    """The same calls, carried by meta commands, end as they end in text."""
    program, started = compile_program("operations.c"), [start(options=options) for _ in range(2)]
    relays = [runs.Relay(server) for server in started]
    arguments = [word for relay in relays for word in (relay.host, relay.port)]
    monkeypatch.setenv("TEXT_ONLY", "1")
    expected = runs.run(program, arguments)
    assert len(expected) >= LINES_MIN // 2
    monkeypatch.setenv("META_COMMANDS", "1")
    assert [relay.words(b"mg") for relay in relays] == [0, 0]
    before = [relay.words(b"gets?") for relay in relays]
    assert runs.run(program, arguments, drop_in) == expected
    assert runs.run(nonblocking, arguments[:2], drop_in) == ["everything holds"]
    for word, count in {b"mg": 50, b"ms": 50, b"md": 2, b"ma": 5}.items():
        assert sum(relay.words(word) for relay in relays) > count
    assert [relay.words(b"gets?") for relay in relays] == before
    for relay in relays:
        relay.close()


@pytest.mark.parametrize("server_path", ["farcached"], indirect=True)
def test_the_fabric_goes_before_meta_commands(nonblocking, drop_in, start, monkeypatch):
    server = start()
    monkeypatch.setenv("META_COMMANDS", "1")
    assert runs.run(nonblocking, (server.host, server.port), drop_in, "auto") == ["everything holds"]
    assert runs.fabric_messages(server) > 20


@pytest.mark.parametrize("server_path", ["farcached"], indirect=True)
def test_operations_over_the_fabric(compile_program, drop_in, start):
    program, server = compile_program("operations.c"), start()
    expected = runs.run(program, (server.host, server.port))
    before = runs.fabric_messages(server)
    assert runs.run(program, (server.host, server.port), drop_in, "fabric") == expected
    assert runs.fabric_messages(server) - before > 200


def test_failures_copies_and_expiries(compile_program, drop_in, start):
    """With a server that is down, whose keys go to the others."""
    program, started = compile_program("failing.c"), [start(), start()]
    arguments = [word for server in started for word in (server.host, server.port)] + [servers.free_port()]
    expected = runs.run(program, arguments)
    assert len(expected) >= 20
    assert runs.run(program, arguments, drop_in) == expected


@pytest.mark.parametrize("server_path", ["farcached"], indirect=True)
def test_failures_over_the_fabric(compile_program, drop_in, start):
    program, started = compile_program("failing.c"), [start(), start()]
    arguments = [word for server in started for word in (server.host, server.port)] + [servers.free_port()]
    expected = runs.run(program, arguments)
    assert runs.run(program, arguments, drop_in, "fabric") == expected
    assert all(runs.fabric_messages(server) > 200 for server in started)


@pytest.mark.parametrize("server_path", ["farcached"], indirect=True)
@pytest.mark.parametrize("transport", ["tcp", "fabric"])
def test_names_and_passwords(compile_program, drop_in, start, tmp_path, transport):
    """memcached takes its users from the system's database, which is not ours to change."""
    users = tmp_path / "users"
    users.write_text("bob:builder\n")
    program = compile_program("authenticated.c")
    server = start(options=["-S"], environment={"MEMCACHED_SASL_PWDB": str(users)})
    arguments = (server.host, server.port, "bob", "builder")
    expected = runs.run(program, arguments)
    assert len(expected) >= 10 and "data: set 0 get 0 'value' 3" in expected
    assert runs.run(program, arguments, drop_in, transport) == expected


def test_passwords_in_text(compile_program, drop_in, start, tmp_path):
    """Servers that want the password in text (-Y), which libmemcached cannot tell them: with ours the program says what it
    says with the system's library and a server that wants it in the binary protocol."""
    users = tmp_path / "users"
    users.write_text("bob:builder\n")
    program, environment = compile_program("authenticated.c"), {"MEMCACHED_SASL_PWDB": str(users)}
    binary = start(options=["-S"], path=servers.binary(), environment=environment)
    expected = runs.run(program, (binary.host, binary.port, "bob", "builder"))
    assert "data: set 0 get 0 'value' 3" in expected
    text = start(options=["-Y", str(users)])
    assert runs.run(program, (text.host, text.port, "bob", "builder"), drop_in, "auto") == expected


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the user")
@pytest.mark.parametrize("server_path", ["farcached"], indirect=True)
def test_a_server_that_has_changed_its_user_shares_memory_with_that_one(drop_in, start):
    server = start(options=["-u", "nobody"])
    folder = tempfile.mkdtemp()
    try:
        # Where that user can read them.
        shutil.copytree(drop_in, folder, dirs_exist_ok=True)
        os.chmod(folder, 0o755)
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        environment = dict(os.environ, LD_LIBRARY_PATH=folder, FARCACHE_TRANSPORT="fabric", UCX_LOG_LEVEL="error")
        command = [*user, "memcping", f"--servers={server.host}:{server.port}"]
        subprocess.run(command, env=environment, check=True, timeout=runs.PROGRAM_SECONDS_MAX)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert runs.fabric_messages(server) >= 1
    assert owner(server) == pwd.getpwnam("nobody").pw_uid


def owner(server):
    """Who may look into its memory: the owner of a process's files in /proc is root where others may not."""
    return os.stat(f"/proc/{server.process.pid}/environ").st_uid


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the user")
@pytest.mark.parametrize("server_path", ["farcached"], indirect=True)
def test_a_server_that_has_changed_its_user_shows_its_memory_to_nobody_before_a_client_asks_for_the_fabric(start):
    assert owner(start(options=["-u", "nobody"])) == 0
    assert owner(start(options=["-u", "nobody", "--fabric", "require"])) == pwd.getpwnam("nobody").pw_uid
    assert owner(start(options=["-u", "nobody", "--fabric", "off"])) == 0
    with tempfile.TemporaryDirectory() as folder:
        # UCX is found where that user can read it, and is none.
        os.chmod(folder, 0o755)
        pathlib.Path(folder, "libucp.so.0").touch()
        without = {"LD_LIBRARY_PATH": folder}
        assert owner(start(options=["-u", "nobody"], environment=without)) == 0


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
