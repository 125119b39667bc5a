"""Kills a server with an SSD tier again and again while clients write, and checks by content what is back.

The rules are those of docs/design/tier.md, "What survives". Every state of a key has a number: each SET, DELETE and
touch makes the next one. A value tells its key, the number of the SET that made it and its length at every place, so
any wrong byte shows.
"""

import dataclasses
import random
import threading
import time

import servers
from tier import Connection

PIPELINE = 8
# What the server takes by itself, and what an item has beside its value, at most.
ITEM_BYTES_MAX, KEY_BYTES_MAX = 1 << 20, 1 << 10
# Parts of the requests that change something.
DELETED, TOUCHED = 0.15, 0.1
ABSENT = None


@dataclasses.dataclass(frozen=True)
class Load:
    """What is stored, and where."""

    keys: int = 600
    value_bytes_max: int = 12_000
    memory_megabytes: int = 2
    # Of each device.
    size: str = "48m"
    devices: int = 1
    clients: int = 3


class Violation(AssertionError):
    """A rule does not hold."""


class Key:
    """What is known of one key."""

    def __init__(self, name, value_bytes_max):
        self.name, self.value_bytes_max = name, value_bytes_max
        # By state, the number of the SET that made its value; absence for a deletion. Those before the floor are forgotten.
        self.values = {0: ABSENT}
        # The last state that was sent; the one that the server has now, once it has answered.
        self.sent = self.answered = 0
        # The oldest state that may be found, which is known to be durable; 0 is absence from the start.
        self.floor = 0

    def next_request(self, chance):
        """A SET, DELETE or touch that makes the next state."""
        before = self.values[self.sent]
        self.sent += 1
        kind = chance.random()
        if kind < DELETED:
            self.values[self.sent] = ABSENT
            return b"delete %s\r\n" % self.name
        if kind < DELETED + TOUCHED:
            self.values[self.sent] = before
            return b"touch %s 0\r\n" % self.name
        self.values[self.sent] = self.sent
        value = self.value_of(self.sent)
        return b"set %s 0 0 %d\r\n%s\r\n" % (self.name, len(value), value)

    def value_of(self, number):
        """What the SET of this number stores: its size varies with both key and number."""
        text = b"%s=%010d;" % (self.name, number)
        size = (number * 2654435761 + len(self.name) * 97) % self.value_bytes_max
        return (text * (size // len(text) + 1))[: max(size, len(text))]

    def number_of(self, value):
        """The number of the SET that stored a value."""
        name = self.name
        head = value[: len(name) + 12]
        if not head.startswith(name + b"=") or not head.endswith(b";"):
            raise Violation(f"{name}: not a value of this key: {value[:40]!r}")
        number = int(head[len(name) + 1 : -1])
        if value != self.value_of(number):
            raise Violation(f"{name}: state {number} is not whole")
        return number

    def note_durable(self, state):
        """This state is durable: none before it may be found."""
        for older in range(self.floor, state):
            del self.values[older]
        self.floor = state

    def check(self, value, may_evict=False):
        """Judges what is found after a restart: from now on it is that, whatever else was possible."""
        if value is ABSENT:
            was_changed = self.sent > self.floor
            if not (was_changed or self.values[self.floor] is ABSENT or may_evict):
                raise Violation(f"{self.name}: state {self.floor} was durable and is gone")
            self.note_durable(self.sent)
            self.values[self.sent] = ABSENT
            return
        number = self.number_of(value)
        if number not in self.values.values():
            raise Violation(
                f"{self.name}: the value of state {number} is back, though {self.floor} was durable; {self.sent} states were sent")
        self.note_durable(self.sent)
        self.values[self.sent] = number


class Writer(threading.Thread):
    """A client that changes its own keys until the server dies."""

    def __init__(self, server, keys, seed, durability):
        super().__init__()
        self.connection = Connection(server)
        self.keys, self.chance = keys, random.Random(seed)
        self.is_sync, self.may_evict = durability == "sync", durability == "cache"
        self.failure = None

    def run(self):
        try:
            while True:
                self._round()
        except (OSError, EOFError):
            pass
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure

    def _round(self):
        keys = self.chance.sample(self.keys, PIPELINE)
        if self.chance.random() < 0.3:
            return self._read(keys[0])
        self.connection.send(b"".join(key.next_request(self.chance) for key in keys))
        for key in keys:
            line = self.connection.line()
            if line is None:
                raise EOFError
            if line not in (b"STORED", b"DELETED", b"TOUCHED", b"NOT_FOUND"):
                raise Violation(f"{key.name}: {line!r}")
            key.answered = key.sent
            if self.is_sync:
                key.note_durable(key.sent)

    def _read(self, key):
        self.connection.send(b"get %s\r\n" % key.name)
        line = self.connection.line()
        if line is None:
            raise EOFError
        expected = key.values[key.answered]
        if line == b"END":
            if expected is not ABSENT and not self.may_evict:
                raise Violation(f"{key.name}: state {key.answered} cannot be read; {self._circumstances(key)}")
            return
        size = int(line.split()[3])
        value = self.connection.reader.read(size + 2)
        if len(value) < size + 2 or self.connection.line() is None:
            raise EOFError
        if key.number_of(value[:-2]) != expected:
            raise Violation(f"{key.name}: read another state than the last, {key.answered}")

    def _circumstances(self, key):
        """What the server tells of an item that was not there."""
        is_there = self.connection.get(key.name) is not None
        return f"there the next time: {is_there}; {self.connection.stats(b'tier')}"


class Loop:
    """Servers that follow each other on the same files."""

    def __init__(self, folder, durability="writeback", seed=1, load=Load(), program=None):
        self.folder, self.durability, self.load, self.program = folder, durability, load, program
        self.options = ["-m", str(load.memory_megabytes), "-t", "2", "--durability", durability]
        self.options += ["-I", str(max(ITEM_BYTES_MAX, load.value_bytes_max + KEY_BYTES_MAX))]
        for number in range(load.devices):
            self.options += ["--ssd", f"{folder / f'ssd-{number}'}:{load.size}"]
        self.chance = random.Random(seed)
        self.keys = [Key(b"key-%d" % number, load.value_bytes_max) for number in range(load.keys)]
        self.found = 0

    def run_once(self, seconds_max):
        """Starts a server, checks what is back, changes keys, kills the server."""
        server = servers.Server(self.folder, options=self.options, path=self.program)
        try:
            self._check(server)
            self._write(server, self.chance.uniform(0, seconds_max))
        finally:
            server.kill()

    def stop_in_order(self):
        """An orderly stop loses nothing: checks that everything is as it was answered last."""
        server = servers.Server(self.folder, options=self.options, path=self.program)
        self._check(server)
        if server.stop() != 0:
            raise Violation("the server did not end well")
        server = servers.Server(self.folder, options=self.options, path=self.program)
        try:
            before = {key.name: key.values[key.floor] for key in self.keys}
            self._check(server)
            after = {key.name: key.values[key.floor] for key in self.keys}
            if before != after:
                raise Violation("an orderly stop has lost items")
        finally:
            server.kill()

    def _check(self, server):
        connection = Connection(server)
        values = connection.get_many([key.name for key in self.keys])
        self.found += len(values)
        for key in self.keys:
            key.check(values.get(key.name), may_evict=self.durability == "cache")
            # What the last process had sent and not been answered is decided now.
            key.answered = key.floor
        if self.durability != "cache" and int(connection.stats(b"tier")["evictions"]) > 0:
            raise Violation("the device is too small for this test")
        connection.close()

    def _write(self, server, seconds):
        clients = self.load.clients
        writers = [
            Writer(server, self.keys[number::clients], self.chance.random(), self.durability)
            for number in range(clients)
        ]
        for writer in writers:
            writer.start()
        time.sleep(seconds)
        server.kill()
        for writer in writers:
            writer.join()
            if writer.failure:
                raise writer.failure
