"""One of the six clients of scripts/bench-cluster languages: Python, pymemcache with its rendezvous hashing. What all of them do is told in
bench/README.md.

pymemcache's class for discovery is younger than its last release, so a thread asks for the servers, and a change makes a new `HashClient`.
"""

import sys
import threading
import time

from pymemcache.client.base import Client
from pymemcache.client.hash import HashClient

TIMEOUT_SECONDS = 5


class Part:
    """What was done in a part of the time."""

    def __init__(self):
        self.reads = self.hits = self.updates = self.wrong = self.stale = self.failed = 0
        self.latencies_us = []

    def __str__(self):
        counts = self.reads, self.hits, self.updates, self.wrong, self.stale, self.failed
        return " ".join(map(str, ["part", *counts, *self.latencies_us]))


class Discovery:
    """The servers, as the endpoint tells them."""

    def __init__(self, endpoint, poll_ms):
        host, port = endpoint.rsplit(":", 1)
        self._endpoint, self._poll_seconds = (host, int(port)), poll_ms / 1000
        self.servers = self._ask()
        threading.Thread(target=self._keep_asking, daemon=True).start()

    def _ask(self):
        client = Client(self._endpoint, timeout=TIMEOUT_SECONDS)
        *_, nodes = client.raw_command(b"config get cluster", end_tokens=b"\n\r\nEND\r\n").splitlines()
        client.close()
        return [(host, int(port)) for host, _, port in (node.split("|") for node in nodes.decode().split(" "))]

    def _keep_asking(self):
        while True:
            time.sleep(self._poll_seconds)
            try:
                self.servers = self._ask()
            except OSError as error:
                print(f"python: discovery: {error}", file=sys.stderr)


class Reader:
    """Reads through the cache, and checks what it reads."""

    def __init__(self, name, endpoint, keys, value_bytes, poll_ms):
        self.name, self.value_bytes = name, value_bytes
        # Of each key, the version given to it last, and the last one whose write was acknowledged.
        self.given, self.acknowledged = [0] * keys, [0] * keys
        self._discovery = Discovery(endpoint, poll_ms)
        self._servers, self._client = None, None
        self.adopt_servers()

    def adopt_servers(self):
        """Goes by the servers that were told last."""
        servers = self._discovery.servers
        if servers == self._servers:
            return
        if self._client:
            self._client.close()
        self._servers = servers
        self._client = HashClient(servers, timeout=TIMEOUT_SECONDS, connect_timeout=TIMEOUT_SECONDS, no_delay=True, default_noreply=False)
        print("servers", len(servers), flush=True)

    def store(self, number):
        """Stores the key's next version; whether that was acknowledged."""
        self.given[number] += 1
        version, key = self.given[number], f"{self.name}:{number}"
        try:
            is_stored = self._client.set(key, f"{key} {version} ".ljust(self.value_bytes, ".").encode())
        except Exception as error:
            print(f"{self.name}: set: {error!r}", file=sys.stderr)
            return False
        if is_stored:
            self.acknowledged[number] = version
        return is_stored

    def read(self, part, number, start):
        part.reads += 1
        try:
            value = self._client.get(f"{self.name}:{number}")
        except Exception as error:
            print(f"{self.name}: get: {error!r}", file=sys.stderr)
            part.failed += 1
            return
        part.latencies_us.append(round((time.monotonic() - start) * 1e6))
        if value is None:
            part.failed += not self.store(number)
        else:
            part.hits += 1
            self._judge(part, number, value)

    def _judge(self, part, number, value):
        """Counts a value that nobody has stored under this key, and one that is older than what was acknowledged."""
        words = value.decode(errors="replace").split(" ")
        key, version, rest = words if len(words) == 3 else ("", "", "")
        is_right = (len(value) == self.value_bytes and key == f"{self.name}:{number}" and version.isdecimal()
                    and not rest.strip(".") and int(version) <= self.given[number])
        part.wrong += not is_right
        part.stale += is_right and int(version) < self.acknowledged[number]


def run(reader, operations, rate, part_ms):
    parts = []
    start = time.monotonic()
    for index, operation in enumerate(operations):
        kind, number = operation.split()
        begin = start + index / rate
        now = time.monotonic()
        if now < begin:
            time.sleep(begin - now)
            # Who had time to sleep is not charged with a timer that was late.
            begin = time.monotonic()
        at = index * 1000 // rate // part_ms
        if at == len(parts):
            parts.append(Part())
        reader.adopt_servers()
        if kind == "u":
            parts[at].updates += 1
            parts[at].failed += not reader.store(int(number))
        else:
            reader.read(parts[at], int(number), begin)
    return parts


def main():
    name, endpoint, path, *numbers = sys.argv[1:]
    keys, value_bytes, rate, part_ms, poll_ms = map(int, numbers)
    with open(path, encoding="ascii") as file:
        operations = file.readlines()
    reader = Reader(name, endpoint, keys, value_bytes, poll_ms)
    if not all(reader.store(number) for number in range(keys)):
        raise SystemExit("not all keys could be stored")
    print("ready", flush=True)
    if sys.stdin.readline():
        print(*run(reader, operations, rate, part_ms), "end", sep="\n")


if __name__ == "__main__":
    main()
