"""memcached's own monitoring script, memcached-tool, over TCP and unix sockets."""

import pathlib
import shutil
import subprocess
import time

import pytest

PLACES = ("memcached-tool", "/usr/share/memcached/scripts/memcached-tool")
ITEMS = 50
# A server may answer a dump with "BUSY" while it walks its items for another reason.
BUSY_SECONDS_MAX = 60


@pytest.fixture(scope="module", params=["tcp", "unix"])
def filled_server(request, start):
    """A server with a few items of several sizes."""
    server = start(request.param)
    with server.connect() as connection:
        for number in range(ITEMS):
            value = b"x" * (1 + number * 40)
            connection.sendall(b"set tool-%d %d 0 %d noreply\r\n%s\r\n" % (number, number, len(value), value))
        connection.sendall(b"get tool-0\r\nmn\r\n")
        received = b""
        while b"MN\r\n" not in received:
            received += connection.recv(4096)
    return server


@pytest.fixture
def tool(filled_server):
    path = next((place for place in PLACES if shutil.which(place) or pathlib.Path(place).exists()), None)
    assert path, "memcached-tool is missing; it is part of the package memcached"

    def run(*arguments):
        command = ["perl", path, filled_server.address, *arguments]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


def test_display(tool):
    heading, *rows = tool("display").splitlines()
    assert heading.split()[:4] == ["#", "Item_Size", "Max_age", "Pages"]
    assert rows, "no class is shown"
    assert sum(int(row.split()[4]) for row in rows) == ITEMS


def test_stats(tool):
    fields = dict(line.split()[:2] for line in tool("stats").splitlines()[1:])
    assert fields["curr_items"] == str(ITEMS)
    assert int(fields["get_hits"]) >= 1 and fields["cmd_set"] == str(ITEMS)


def test_settings(tool):
    fields = dict(line.split()[:2] for line in tool("settings").splitlines()[1:] if len(line.split()) > 1)
    assert fields["maxbytes"] == str(64 << 20)
    assert fields["item_size_max"] == str(1 << 20)


def test_sizes(tool):
    assert "Size" in tool("sizes") or "disabled" in tool("sizes")


def test_dump_holds_every_item(tool):
    text = tool("dump")
    assert text.count("add tool-") == ITEMS
    assert "add tool-49 49 0 1961\n" + "x" * 1961 in text.replace("\r", "")


def test_keys(tool):
    wanted = {f"tool-{number}" for number in range(ITEMS)}
    deadline = time.monotonic() + BUSY_SECONDS_MAX
    found = None
    while found != wanted and time.monotonic() < deadline:
        lines = tool("keys").splitlines()
        found = {line.split("key=")[1].split()[0] for line in lines if "key=" in line}
    assert found == wanted
