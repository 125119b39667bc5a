"""Talks to a server with an SSD tier, and moves items there."""

import socket
import time

MEMORY_MEGABYTES = 8
VALUE_BYTES = 4096
PATIENCE_SECONDS = 60


class Connection:
    """A plain connection for the text and the binary protocol."""

    def __init__(self, server):
        self.socket = server.connect(PATIENCE_SECONDS)
        self.reader = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def line(self):
        """The next line without its end; none at the end of the conversation."""
        line = self.reader.readline()
        return line[:-2] if line else None

    def ask(self, command):
        """Sends a line and returns the first line of the answer."""
        self.send(command + b"\r\n")
        return self.line()

    def store(self, key, value, exptime=0, flags=0):
        self.send(b"set %s %d %d %d\r\n%s\r\n" % (key, flags, exptime, len(value), value))
        assert self.line() == b"STORED"

    def get(self, key):
        """The value, or none."""
        head = self.ask(b"get " + key)
        if head == b"END":
            return None
        value = self.reader.read(int(head.split()[3]) + 2)[:-2]
        assert self.line() == b"END"
        return value

    def get_many(self, keys):
        """The values that are there, by key."""
        self.send(b"get " + b" ".join(keys) + b"\r\n")
        found, head = {}, self.line()
        while head != b"END":
            _, key, _, size = head.split()
            found[key] = self.reader.read(int(size) + 2)[:-2]
            head = self.line()
        return found

    def stats(self, topic=b""):
        """The statistics by name."""
        line, found = self.ask(b"stats " + topic), {}
        while line != b"END":
            _, name, value = line.decode().split(" ", 2)
            found[name] = value
            line = self.line()
        return found

    def tier(self, name):
        return int(self.stats(b"tier")[name])

    def talk(self, data):
        """Sends requests and returns everything that is answered to them."""
        self.send(data + b"mn\r\n")
        answer = b""
        while not answer.endswith(b"MN\r\n"):
            piece = self.socket.recv(1 << 16)
            assert piece, answer
            answer += piece
        return answer[: -len(b"MN\r\n")]

    def close(self):
        self.reader.close()
        self.socket.close()


def value_of(number, size=VALUE_BYTES):
    """A value that tells its number at every place."""
    text = b"%08d" % number
    return (text * (size // len(text) + 1))[:size]


def fill(connection, count, prefix=b"filler", size=VALUE_BYTES):
    """Stores values that push what was there before out of memory."""
    for start in range(0, count, 100):
        numbers = range(start, min(start + 100, count))
        connection.send(b"".join(
            b"set %s-%d 0 0 %d noreply\r\n%s\r\n" % (prefix, number, size, value_of(number, size))
            for number in numbers))
    assert connection.ask(b"mn") == b"MN"


def spill(connection):
    """Moves everything that is in memory to the SSD, and waits until it is written."""
    before = connection.tier("segments_written")
    fill(connection, 3 * (MEMORY_MEGABYTES << 20) // VALUE_BYTES)
    deadline = time.monotonic() + PATIENCE_SECONDS
    # What was in memory went first, and the fillers that follow it fill as many segments.
    while connection.tier("segments_written") < before + MEMORY_MEGABYTES + 4:
        assert time.monotonic() < deadline, "the device does not catch up"
        time.sleep(0.01)


def options(path, size="96m", more=()):
    """The options of a small server whose tier lies at `path`."""
    return ["-m", str(MEMORY_MEGABYTES), "-t", "1", "-v", "--ssd", f"{path}:{size}", *more]


def datagram(server_port, request):
    """The answer to a request over UDP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE_SECONDS)
        client.connect(("127.0.0.1", server_port))
        client.send(b"\0\7\0\0\0\1\0\0" + request)
        return client.recv(1 << 16)[8:]
