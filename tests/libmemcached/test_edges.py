"""Every function at its edges, on handles of every kind: the same program ends the same with the system's library and with ours,
but for what is listed here, and with ours it never crashes."""

import contextlib
import re
import shutil
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import runs
import servers

CASES_MIN = 90
# Programs that wait beside each other for a server that never answers.
WAITING_SIDE_BY_SIDE = 32
# Sequences of calls by chance, from the first seed on; more of them by hand: edges ... random SEED COUNT.
SEED, SEQUENCES = 1000, 80
# More bytes than any question but the largest value: what is closed with bytes unread is reset.
READ_AT_ONCE = 1 << 16

# Where the original confuses itself: answers that it has not read are taken for those of later questions, or an address of UDP is
# used for TCP. Ours answers the question that was asked. A pattern of cases, and why.
CONFUSED = {
    r"asked-binary/": "with values not fetched the next answers in the binary protocol are those of the keys",
    r"(replicated|encrypted)/mget-then-set": "the same",
    r"replicated/delete(-\w+)*": "the deletion of a copy that is not there is answered, too",
    r"noreply(-binary)?/(version|stat|stat-unknown|stat-execute|analyze|dump|ping)": "it asks and does not read the answer",
    r"noreply-binary/(increment-text|increment-absent|initial-not|delete-absent|delete-trigger|replace|add|append|prepend|cas-\w+)": "quiet requests are answered, too",
    r"noreply(-binary)?/copies": "nobody waits for the copies: how many are there by then is chance",
    r".*/udp": "after UDP was switched on and off it connects to the address of the other protocol",
    r"udp-later/": "UDP is switched on, and it goes on over TCP",
}
# Where ours answers otherwise on purpose; docs/libmemcached.md says so.
OURS = {
    r".*/(by|exist)-no-key": "memcached_exist takes keys that cannot be any, and sends them",
    r".*/namespaces": "keys that are too long with their namespace are sent",
    r"with-namespace/(set|get)-long-key": "the same",
    r".*/no-time": "with a time limit of 0 the original answers by chance: the answer may be there already",
    r"replicated/(behaviors|buckets|buckets-of-none|add-servers|distributions|ring)": "ours reads all copies",
    r"silent-binary/flush-later": "memcached_flush without an answer is a success in the binary protocol",
    r"closing/(set-huge|copies|no-time)": "by chance the code is that of the system's error",
    r"removing(-\w+)*/stat-unknown": "ours asks all servers at once, and so finds out earlier who is not there",
    r"removing(-\w+)*/(mget(-\w+)*|fetch-execute|result-reused|foreign-result)":
        "of a server's keys the first two find out that it is removed; the original asks others for those that follow",
}


def cases_of(lines):
    """What was said in each case. The system's error number is not compared where the original forgets it."""
    told = {}
    for line in lines:
        if line.startswith("case "):
            said = told[line[5:]] = []
        else:
            said.append(re.sub(r"^error (\d+) \d$", r"error \1", line))
    return told


def has_crashed(said):
    return any(line.startswith("ended by") for line in said)


def is_listed(name):
    return any(re.fullmatch(pattern + ("" if "/" in pattern[:-1] else ".*"), name) for pattern in [*CONFUSED, *OURS])


class Listener:
    """Takes connections and never answers, or closes them once something is asked.

    If it closed them at once, it would be chance whether the original can still send its question, and which
    code it returns.
    """

    def __init__(self, closes):
        self.listener, self.closes, self.kept = socket.create_server(("127.0.0.1", 0), backlog=128), closes, []
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                taken, _ = self.listener.accept()
            except OSError:
                return  # The listener is closed.
            self.kept.append(taken)
            if self.closes:
                threading.Thread(target=self._close_when_asked, args=(taken,), daemon=True).start()

    def _close_when_asked(self, taken):
        with contextlib.suppress(OSError):  # The client, or this listener, has closed it.
            taken.recv(READ_AT_ONCE)
        taken.close()

    def close(self):
        # An accept that waits ends with this, not with a close.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for taken in self.kept:
            taken.close()


@pytest.fixture
def listeners():
    made = [Listener(closes=False), Listener(closes=True)]
    yield made
    for listener in made:
        listener.close()


def kinds():
    """The kinds of handles, from the program itself."""
    text = (runs.PROGRAMS / "edges.c").read_text()
    table = re.search(r"\} const kinds\[\] = \{(.*?)\n\};", text, re.DOTALL)[1]
    return re.findall(r'\{"([\w-]+)",', table)


PAIRS = [("memcached", kind) for kind in kinds()] + [("farcached", kind) for kind in ("text", "binary", "replicated")]


def said_by(program, arguments, kind, *library):
    """What the program says in all cases of a kind. Where these wait for a server that never answers, several wait at once."""
    count = WAITING_SIDE_BY_SIDE if kind.startswith("silent") else 1
    with ThreadPoolExecutor(count) as pool:
        parts = pool.map(lambda first: runs.run(program, [*arguments, f"{kind}/", first, count], *library), range(count))
        return cases_of(line for part in parts for line in part)


@pytest.fixture
def places(start, listeners):
    """The program's arguments: servers that are there, down, silent and closing."""
    started = []
    for _ in range(2):
        port = servers.free_port()
        started.append(start(options=["-U", str(port)], port=port))
    told = [word for server in started for word in (server.host, server.port)]
    return [*told, servers.free_port(), *(listener.port for listener in listeners)]


@pytest.mark.parametrize("server_path", ["memcached"], indirect=True)
def test_no_sequence_of_calls_crashes(compile_program, drop_in, places):
    arguments = [*places, "random", SEED, SEQUENCES]
    assert runs.run(compile_program("edges.c"), arguments, drop_in) == []


@pytest.mark.parametrize("server_path, kind", PAIRS, indirect=["server_path"])
def test_both_libraries_say_the_same(server_path, kind, compile_program, drop_in, places):
    """Over sockets with memcached, over the fabric with farcached."""
    program = compile_program("edges.c")
    transport = "tcp" if server_path == shutil.which("memcached") else "auto"
    theirs = said_by(program, places, kind)
    ours = said_by(program, places, kind, drop_in, transport)
    assert len(theirs) >= CASES_MIN and ours.keys() == theirs.keys()
    assert [name for name in ours if has_crashed(ours[name])] == []
    compared = [name for name in theirs if not has_crashed(theirs[name]) and not is_listed(name)]
    differences = {name: (theirs[name], ours[name]) for name in compared if theirs[name] != ours[name]}
    assert differences == {}
