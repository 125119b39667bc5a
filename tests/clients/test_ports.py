"""Which ports -p, -U and -l open, and what the file that MEMCACHED_PORT_FILENAME names says of them."""

import contextlib
import os
import re
import signal
import subprocess
import time

import pytest
import reference
import servers

# What the server is started with, where {a} and {b} are free ports, and what it listens to in the end: protocol
# and port, where ? is one that the system chose.
CASES = {
    "-p -1": "TCP ?",
    "-p 0": "",
    "-p 0 -U 0": "",
    "-p -1 -U 0": "TCP ?",
    "-p {a}": "TCP {a}",
    "-U -1": "TCP ?, UDP ?",
    "-U {a}": "TCP {a}, UDP {a}",
    "-p 0 -U -1": "UDP ?",
    "-p 0 -U {a}": "UDP {a}",
    "-p -1 -U -1": "TCP ?, UDP ?",
    "-p {a} -U -1": "TCP {a}, UDP ?",
    "-p {a} -U {b}": "TCP {a}, UDP {b}",
    "-l 127.0.0.1:{a}": "TCP {a}",
    "-l 127.0.0.1:{a} -p 0": "",
    "-l 127.0.0.1:{a} -U -1": "TCP {a}, UDP {a}",
    "-l 127.0.0.1:{a} -p 0 -U -1": "UDP {a}",
    "-l 127.0.0.1:-1": "TCP ?",
    "-l 127.0.0.1:-1,127.0.0.1:{a}": "TCP ?, TCP {a}",
}
REFUSED = ("-p -2", "-U -2", "-p 70000", "-U 70000", "-Y {users} -p -1 -U -1", "-Y {users} -p -1 -U {a}",
           "-Y {users} -p -1 -B auto", "-Y {users} -p -1 -B binary")
# States of /proc/net: listening, and a datagram socket that has no peer.
LISTENING = {"tcp": "0A", "udp": "07"}


def arguments(options, tmp_path):
    """The command line of a case."""
    users = tmp_path / "users"
    users.write_text("user:password\n")
    # Those of one kind of socket at least.
    ports = {"a": servers.free_port(), "b": servers.free_port(), "users": users}
    line = options.format(**ports).split()
    return line if "-l" in line else [*line, "-l", "127.0.0.1"], ports


def launch(path, line, environment):
    identity = ["-u", "root"] if os.geteuid() == 0 else []
    return subprocess.Popen([path, *line, *identity, "-m", "16", "-t", "1"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, env={**os.environ, **environment})


def sockets_of(process):
    """What a process listens to, in the words of the ports file."""
    folder = f"/proc/{process.pid}/fd"
    links = []
    for name in os.listdir(folder):
        # A file that a server reads as it starts may be closed by now; sockets it listens to stay.
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(f"{folder}/{name}"))
    inodes = {found[1] for link in links if (found := re.match(r"socket:\[(\d+)\]", link))}
    lines = []
    for protocol, state in LISTENING.items():
        with open(f"/proc/{process.pid}/net/{protocol}", encoding="ascii") as table:
            rows = [row.split() for row in table][1:]
        ports = {int(row[1].rpartition(":")[2], 16) for row in rows if row[9] in inodes and row[3] == state}
        lines += [f"{protocol.upper()} INET: {port}" for port in ports]
    return sorted(lines)


@pytest.mark.parametrize("which", reference.BOTH)
@pytest.mark.parametrize("options", CASES)
def test_the_ports_are_those_of_memcached(which, options, tmp_path):
    line, ports = arguments(options, tmp_path)
    told = tmp_path / "ports"
    process = launch(reference.path_of(which), line, {"MEMCACHED_PORT_FILENAME": str(told)})
    try:
        deadline = time.monotonic() + servers.PATIENCE_SECONDS
        while not told.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert process.poll() is None, "the server has ended"
        lines = told.read_text().splitlines()
        assert sorted(lines) == sockets_of(process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(servers.PATIENCE_SECONDS)
    wanted = [part.split() for part in CASES[options].format(**ports).split(", ") if part]
    assert len(lines) == len(wanted), lines
    for (protocol, port), written in zip(wanted, lines, strict=True):
        assert re.fullmatch(rf"{protocol} INET: {port.replace('?', '(?!11211$)[1-9][0-9]*')}", written), lines


@pytest.mark.parametrize("which", reference.BOTH)
@pytest.mark.parametrize("options", REFUSED)
def test_what_memcached_refuses_is_refused(which, options, tmp_path):
    line, _ = arguments(options, tmp_path)
    process = launch(reference.path_of(which), line, {})
    try:
        assert process.wait(servers.PATIENCE_SECONDS) != 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("which", reference.BOTH)
def test_no_ports_are_written_for_a_unix_socket(which, tmp_path):
    told, place = tmp_path / "ports", tmp_path / "socket"
    process = launch(reference.path_of(which), ["-s", str(place)], {"MEMCACHED_PORT_FILENAME": str(told)})
    try:
        deadline = time.monotonic() + servers.PATIENCE_SECONDS
        while not answers(place) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert answers(place)
        assert not told.exists()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(servers.PATIENCE_SECONDS)


def answers(place):
    """Whether the server behind a unix socket serves: then it has written what it writes."""
    with servers.socket.socket(servers.socket.AF_UNIX) as connection:
        try:
            connection.connect(str(place))
            connection.sendall(b"mn\r\n")
            return connection.recv(4) == b"MN\r\n"
        except OSError:
            return False
