"""Kills a server with an SSD tier again and again while clients write, and checks by content what is back.

The rules are those of docs/design/tier.md, "What survives". Every state of a key has a number: each SET and each
DELETE makes the next one. A value tells its key, its number and its length at every place, so any wrong byte shows.
"""

import random
import threading
import time

import servers
from tier import Connection

KEYS = 600
VALUE_BYTES_MAX = 12_000
MEMORY_MEGABYTES = 2
PIPELINE = 8
ABSENT = None


class Violation(AssertionError):
    """A rule does not hold."""


def value_of(key, number):
    """The value of a key's state: its size varies with both."""
    text = b"%s=%010d;" % (key, number)
    size = (number * 2654435761 + len(key) * 97) % VALUE_BYTES_MAX
    return (text * (size // len(text) + 1))[: max(size, len(text))]


def number_of(key, value):
    """The number of the state that a value belongs to."""
    head = value[: len(key) + 12]
    if not head.startswith(key + b"=") or not head.endswith(b";"):
        raise Violation(f"{key}: not a value of this key: {value[:40]!r}")
    number = int(head[len(key) + 1 : -1])
    if value != value_of(key, number):
        raise Violation(f"{key}: state {number} is not whole")
    return number


class Key:
    """What is known of one key."""

    def __init__(self, name):
        self.name = name
        # Numbers of the states that were sent and are deletions.
        self.deletions = set()
        # The last number that was sent; the state that the server has now, once it has answered.
        self.sent = self.answered = 0
        # The oldest state that may be found, which is known to be durable; 0 is absence from the start.
        self.floor = 0
        self.floor_is_absence = True

    def next_request(self, chance):
        """A SET or DELETE that makes the next state."""
        self.sent += 1
        if chance.random() < 0.15:
            self.deletions.add(self.sent)
            return b"delete %s\r\n" % self.name
        value = value_of(self.name, self.sent)
        return b"set %s 0 0 %d\r\n%s\r\n" % (self.name, len(value), value)

    def note_durable(self, number):
        """This state is durable."""
        self.floor, self.floor_is_absence = number, number in self.deletions

    def check(self, value, may_evict=False):
        """Judges what is found after a restart, which is durable from now on."""
        if value is ABSENT:
            was_changed = self.sent > self.floor
            if not (was_changed or self.floor_is_absence or may_evict):
                raise Violation(f"{self.name}: state {self.floor} was durable and is gone")
            # Whatever comes now must be newer than everything so far.
            self.floor, self.floor_is_absence = self.sent, True
            return
        number = number_of(self.name, value)
        if number < self.floor or (number == self.floor and self.floor_is_absence):
            raise Violation(f"{self.name}: state {number} is back, though {self.floor} was durable")
        if number > self.sent or number in self.deletions:
            raise Violation(f"{self.name}: state {number} was never stored")
        self.floor, self.floor_is_absence = number, False


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
            if line not in (b"STORED", b"DELETED", b"NOT_FOUND"):
                raise Violation(f"{key.name}: {line!r}")
            key.answered = key.sent
            if self.is_sync:
                key.note_durable(key.sent)

    def _read(self, key):
        self.connection.send(b"get %s\r\n" % key.name)
        line = self.connection.line()
        if line is None:
            raise EOFError
        if line == b"END":
            is_absent = key.answered in key.deletions or (key.answered == key.floor and key.floor_is_absence)
            if not is_absent and not self.may_evict:
                raise Violation(f"{key.name}: state {key.answered} cannot be read")
            return
        size = int(line.split()[3])
        value = self.connection.reader.read(size + 2)
        if len(value) < size + 2 or self.connection.line() is None:
            raise EOFError
        if number_of(key.name, value[:-2]) != key.answered:
            raise Violation(f"{key.name}: read another state than the last, {key.answered}")


class Loop:
    """Servers that follow each other on one file."""

    def __init__(self, folder, durability="writeback", seed=1, clients=3, program=None, size="48m"):
        self.folder, self.durability, self.seed, self.program = folder, durability, seed, program
        self.options = ["-m", str(MEMORY_MEGABYTES), "-t", "2", "--ssd", f"{folder / 'ssd'}:{size}",
                        "--durability", durability]
        self.chance = random.Random(seed)
        self.keys = [Key(b"key-%d" % number) for number in range(KEYS)]
        self.clients = clients
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
            before = {key.name: (key.floor, key.floor_is_absence) for key in self.keys}
            self._check(server)
            after = {key.name: (key.floor, key.floor_is_absence) for key in self.keys}
            if {name for name in before if before[name][1] != after[name][1]}:
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
        for key in self.keys:
            key.answered = key.floor
        if self.durability != "cache" and int(connection.stats(b"tier")["evictions"]) > 0:
            raise Violation("the device is too small for this test")
        connection.close()

    def _write(self, server, seconds):
        writers = [
            Writer(server, self.keys[number :: self.clients], self.chance.random(), self.durability)
            for number in range(self.clients)
        ]
        for writer in writers:
            writer.start()
        time.sleep(seconds)
        server.kill()
        for writer in writers:
            writer.join()
            if writer.failure:
                raise writer.failure
