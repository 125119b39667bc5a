"""Go clients: gomemcache (text, with its own test suite too) and gomemcached (binary)."""

import os
import pathlib
import re
import subprocess
import textwrap

import pytest
import servers

FOLDER = pathlib.Path(__file__).parent / "go"
GO_SECONDS_MAX = 600


@pytest.fixture(scope="session")
def suite(tmp_path_factory):
    """Our Go tests, compiled once."""
    program = tmp_path_factory.mktemp("go") / "suite"
    go("test", "-c", "-o", str(program), ".")
    return program


def go(*arguments, environment=None):
    """Runs the Go command in the module of the tests."""
    environment = {**os.environ, **(environment or {})}
    result = subprocess.run(
        ["go", *arguments], cwd=FOLDER, env=environment, capture_output=True, text=True,
        timeout=GO_SECONDS_MAX)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def outcomes(output):
    """How many tests passed, and which did not."""
    found = re.findall(r"^--- (\w+): (\S+)", output, re.MULTILINE)
    return sum(how == "PASS" for how, _ in found), [name for how, name in found if how != "PASS"]


def run_suite(suite, server, pattern, **environment):
    place = {"SERVER_ADDRESS": server.address, **environment}
    if server.tls:
        place["SERVER_CERTIFICATE"] = str(server.log_path.parent / "certificate.pem")
    result = subprocess.run(
        [suite, "-test.v", f"-test.run={pattern}"], env={**os.environ, **place},
        capture_output=True, text=True, timeout=GO_SECONDS_MAX)
    passed, others = outcomes(result.stdout)
    assert result.returncode == 0 and not others, result.stdout + result.stderr
    return passed


def test_gomemcache_speaks_text(suite, server):
    assert run_suite(suite, server, "^TestText") == 8


def test_gomemcached_speaks_binary(suite, server):
    assert run_suite(suite, server, "^TestBinary") == 7


@pytest.mark.parametrize("transport", ["tcp", "unix", "tls"])
def test_gomemcached_authenticates(suite, start, tmp_path, needs_sasl, transport):
    users = tmp_path / "users"
    users.write_text("bob:builder\n")
    server = start(transport, ["-S"], environment={"MEMCACHED_SASL_PWDB": str(users)})
    assert run_suite(suite, server, "^TestSaslPlain", SERVER_USER="bob", SERVER_PASSWORD="builder") == 1


@pytest.fixture
def path_with_server_as_memcached(tmp_path):
    """A PATH on which the command "memcached" is the server under test."""
    command = tmp_path / "memcached"
    account = "-u root" if os.geteuid() == 0 else ""
    command.write_text(textwrap.dedent(f"""\
        #!/bin/sh
        exec "{servers.binary()}" {account} "$@"
    """))
    command.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def test_gomemcache_s_own_suite(path_with_server_as_memcached):
    output = go(
        "test", "-v", "-count=1", "-run", "^Test(UnixSocket|TLS|FakeServer)$",
        "github.com/bradfitz/gomemcache/memcache", environment={"PATH": path_with_server_as_memcached})
    passed, others = outcomes(output)
    assert passed == 3 and not others, output
