"""libmemcached's command line tools, in the text and the binary protocol, over TCP and unix sockets."""

import shutil
import subprocess

import pytest
import reference
import servers

TOOL_SECONDS_MAX = 300


@pytest.fixture(scope="module", params=["tcp", "unix"])
def plain_server(request, start):
    """libmemcached has no TLS."""
    return start(request.param)


class Tools:
    """Runs the tools against one server in one protocol."""

    def __init__(self, server, options):
        self.options = [f"--servers={server.address}", *options]

    def run(self, name, *arguments, **more):
        command = [tool(name), *self.options, *arguments]
        return subprocess.run(command, capture_output=True, timeout=TOOL_SECONDS_MAX, **more)

    def status(self, name, *arguments):
        return self.run(name, *arguments).returncode

    def output(self, name, *arguments):
        result = self.run(name, *arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout


def tool(name):
    """The tool's path: distributions call the same tool memcstat or memstat."""
    return shutil.which(name) or shutil.which(name.replace("memc", "mem", 1)) or name


@pytest.fixture(params=["text", "binary"])
def tools(request, plain_server):
    return Tools(plain_server, ["--binary"] if request.param == "binary" else [])


@pytest.fixture(scope="module")
def capability(start):
    """A server of its own: memcaslap fills it."""
    return start()


# What memccapable, which is older, wants and memcached 1.6.45 no longer does: that a delete with words too many is refused.
NOT_WANTED = {"-a": ["ascii delete", "ascii delete noreply"], "-b": []}


@pytest.fixture(scope="module")
def capable_server(start):
    """Starts one of reference.BOTH for memccapable, which flushes it."""
    return lambda which: start(path=reference.path_of(which))


@pytest.mark.parametrize("which", reference.BOTH)
@pytest.mark.parametrize("protocol", NOT_WANTED)
def test_memccapable_finds_what_memcached_does(capable_server, protocol, which):
    server = capable_server(which)
    command = ["memccapable", "-h", server.host, "-p", str(server.port), "-t", "10", protocol]
    result = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_SECONDS_MAX)
    output = result.stdout + result.stderr
    passed = [line.removesuffix("[pass]").strip() for line in result.stdout.splitlines() if line.endswith("[pass]")]
    failures = len(NOT_WANTED[protocol])
    assert ("All tests passed" in output) == (not failures), output
    assert (f"{failures} of {len(passed) + failures} tests failed" in output) == bool(failures), output
    assert len(passed) >= 20 and not set(passed) & set(NOT_WANTED[protocol]), output


def test_memccp_memccat_memcrm(tools, tmp_path, key):
    file = tmp_path / key
    file.write_bytes(b"what the file holds")
    assert tools.status("memccp", str(file)) == 0
    assert tools.output("memccat", key) == b"what the file holds\n"
    assert tools.status("memcrm", key) == 0
    assert tools.status("memccat", key) != 0


def test_a_large_file(tools, tmp_path, key):
    file = tmp_path / key
    file.write_bytes(bytes(number % 256 for number in range(900000)))
    assert tools.status("memccp", str(file)) == 0
    copy = tmp_path / "copy"
    assert tools.status("memccat", f"--file={copy}", key) == 0
    assert copy.read_bytes() == file.read_bytes()


def test_memcexist_and_memctouch(tools, tmp_path, key):
    assert tools.status("memcexist", key) != 0
    assert tools.status("memctouch", "--expire=100", key) != 0
    file = tmp_path / key
    file.write_bytes(b"x")
    assert tools.status("memccp", str(file)) == 0
    assert tools.status("memcexist", key) == 0
    assert tools.status("memctouch", "--expire=100", key) == 0
    assert tools.status("memcexist", key) == 0


def test_memcflush(tools, tmp_path, key):
    file = tmp_path / key
    file.write_bytes(b"x")
    assert tools.status("memccp", str(file)) == 0
    assert tools.status("memcflush") == 0
    assert tools.status("memcexist", key) != 0


def test_memcping(plain_server):
    assert Tools(plain_server, []).status("memcping") == 0


def test_memcstat(tools):
    text = tools.output("memcstat").decode()
    assert "pid: " in text and "curr_items: " in text and "limit_maxbytes: " in text
    assert "maxbytes: " in tools.output("memcstat", "settings").decode()


def test_memcstat_tells_the_version(plain_server):
    result = Tools(plain_server, []).run("memcstat", "--server-version", text=True)
    text = result.stdout + result.stderr
    assert plain_server.address.split(":")[0] in text and " 1." in text, text


def test_memcdump_lists_every_key(plain_server, tmp_path):
    tools = Tools(plain_server, [])
    names = {f"dumped-{number}" for number in range(20)}
    for name in names:
        (tmp_path / name).write_bytes(b"x" * 10)
    assert tools.status("memcflush") == 0
    assert tools.status("memccp", *(str(tmp_path / name) for name in names)) == 0
    found = {line.split()[0] for line in tools.output("memcdump").decode().splitlines() if line}
    # memcached shows only what has left its newest list already.
    assert found == names or servers.is_memcached() and found < names


@pytest.mark.parametrize("options", [
    ["--test=set"], ["--test=get"], ["--test=mget"], ["--test=set", "--non-blocking"],
    ["--test=set", "--noreply"], ["--test=get", "--concurrency=8"],
])
def test_memcslap(tools, options):
    result = tools.run("memcslap", "--execute-number=200", "--initial-load=200", *options)
    assert result.returncode == 0, result.stderr
    assert b"Failed" not in result.stdout + result.stderr


@pytest.mark.parametrize("options", [[], ["--binary"], ["--division=8"]])
def test_memcaslap(capability, options):
    # It has sockets of its own, TCP only.
    result = Tools(capability, []).run(
        "memcaslap", "--threads=1", "--concurrency=4", "--execute_number=400", *options, text=True)
    assert result.returncode == 0, result.stderr
    figures = dict(line.split(": ", 1) for line in result.stdout.splitlines() if ": " in line)
    assert (int(figures["cmd_get"]), int(figures["cmd_set"]), int(figures["get_misses"])) == (360, 40, 0), result.stdout


@pytest.fixture
def sasl_tools(start, tmp_path, needs_sasl):
    """A server that asks for a password; tools that know it; tools that do not."""
    users = tmp_path / "users"
    users.write_text("bob:builder\n")
    server = start("tcp", ["-S"], environment={"MEMCACHED_SASL_PWDB": str(users)})
    return [Tools(server, ["--binary", "--username=bob", f"--password={word}"]) for word in ("builder", "x")]


def test_sasl(sasl_tools, tmp_path, key):
    inside, outside = sasl_tools
    file = tmp_path / key
    file.write_bytes(b"x")
    assert inside.status("memccp", str(file)) == 0
    assert inside.output("memccat", key) == b"x\n"
    assert outside.status("memccat", key) != 0
