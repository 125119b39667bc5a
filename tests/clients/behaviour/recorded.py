"""The replies of the memcached whose behaviour Farcache follows, recorded, so that tests need not have it.

`python3 tests/clients/record_replies.py` records them anew from what scripts/memcached-reference has built.
"""

import json
import pathlib

from . import binary, clock, meta, text
from .case import StillTime, comparable, play

HERE = pathlib.Path(__file__).parent
# The version they are from.
VERSION = (HERE / "memcached-version").read_text().strip()
# Where scripts/memcached-reference puts that memcached.
REFERENCE = HERE.parents[2] / f".cache/memcached-{VERSION}/memcached-debug"
SOURCES = {source.__name__.rpartition(".")[2]: source for source in (text, meta, binary, clock)}
CASES = {case.name: case for source in SOURCES.values() for case in source.cases()}
# Short ones, on one thread: what memcached does must not depend on how much there is to do.
OPTIONS = ("-m", "64", "-t", "1")


class Servers:
    """Servers for cases: one for each set of options, and one whose time stands still unless a case moves it."""

    def __init__(self, start):
        self.start, self.running, self.times = start, {}, {}

    def reply(self, case):
        """What the server answers, made comparable."""
        kind = (case.options, case.moves_time())
        if kind not in self.running:
            self.running[kind] = self.start(options=[*case.options, *OPTIONS])
            if case.moves_time():
                with self.running[kind].connect() as connection:
                    self.times[kind] = StillTime(connection)
        server = self.running[kind]
        if not case.options:
            flush(server)
        with server.connect() as connection:
            return comparable(case, play(case, connection, self.times.get(kind)))


def flush(server):
    """Empties the server, so that a case sees nothing of the one before."""
    with server.connect() as connection:
        connection.sendall(b"flush_all noreply\r\nquit\r\n")
        while connection.recv(4096):
            pass


def path(source_name):
    """Where the replies to the cases of one source are."""
    return HERE / f"recorded/{source_name}.json"


def load():
    """The recorded replies, by the names of their cases."""
    replies = {}
    for name in SOURCES:
        replies.update(json.loads(path(name).read_text()))
    return {name: reply.encode("latin-1") for name, reply in replies.items()}


def save(servers):
    """Records the replies of these servers."""
    for name, source in SOURCES.items():
        replies = {case.name: servers.reply(case).decode("latin-1") for case in source.cases()}
        path(name).parent.mkdir(exist_ok=True)
        path(name).write_text(json.dumps(replies, indent=0, sort_keys=True) + "\n")
