"""Items on the SSD behave as items in memory do: the same requests, with and without a tier, get the same replies."""

import os
import re
import signal
import struct
import subprocess
import threading
import time

import pytest
import servers
from behaviour.binary import packet
from tier import Connection, MEMORY_MEGABYTES, VALUE_BYTES, datagram, fill, options, spill, value_of

pytestmark = pytest.mark.skipif(servers.is_memcached(), reason="memcached has no such tier")

ITEMS = 2 * (MEMORY_MEGABYTES << 20) // VALUE_BYTES
LARGE = value_of(7, 300_000)
# Items of one kind share segments; more of a kind push out what was stored before.
MORE_LARGE = b"".join(b"set more%d 0 0 300000\r\n%s\r\n" % (number, LARGE) for number in range(3))
MORE_SHORT_LIVED = b"".join(b"set more%d 0 20 4000\r\n%s\r\n" % (number, LARGE[:4000]) for number in range(60))

# Name, what is stored first, the requests made when that lies on the SSD.
BINARY_NOOP = packet(0x0A)
COMMANDS = [
    ("get", b"set k 5 0 3\r\nabc\r\n", b"get k\r\nget k absent k\r\n"),
    ("several gets", b"".join(b"set k%d 0 0 2\r\nv%d\r\n" % (n, n) for n in range(9)),
     b"get k0 k1 k2 k3\r\nget k4\r\nmg k5 v k\r\nget k6 no k7\r\nget k8 k0\r\n"),
    ("a get between changes", b"set k 0 0 1\r\n1\r\nset l 0 0 1\r\n5\r\n",
     b"set m 0 0 1\r\nx\r\nget k m\r\nset k 0 0 1\r\n2\r\nget k l\r\ndelete l\r\nget k l\r\n"),
    ("gat", b"set k 5 0 3\r\nabc\r\nset l 6 0 3\r\ndef\r\n", b"gat 100 k no l\r\nmg k t\r\nmg l t\r\n"),
    ("touch", b"set k 5 0 3\r\nabc\r\n", b"touch k 100\r\nmg k t v\r\ntouch no 0\r\n"),
    ("append", b"set k 5 0 3\r\nabc\r\n", b"append k 0 0 3\r\ndef\r\nprepend k 0 0 3\r\n___\r\nget k\r\n"),
    ("incr", b"set k 5 0 2\r\n99\r\n", b"incr k 2\r\ndecr k 100\r\nincr k 18446744073709551615\r\nget k\r\n"),
    ("incr of text", b"set k 5 0 2\r\nxy\r\n", b"incr k 2\r\nget k\r\n"),
    ("add", b"set k 5 0 3\r\nabc\r\n", b"add k 0 0 1\r\nx\r\nget k\r\n"),
    ("replace", b"set k 5 0 3\r\nabc\r\n", b"replace k 0 0 1\r\nx\r\nget k\r\nreplace no 0 0 1\r\nx\r\n"),
    ("set", b"set k 5 0 3\r\nabc\r\n", b"set k 0 0 1\r\nx\r\nget k\r\n"),
    ("delete", b"set k 5 0 3\r\nabc\r\n", b"delete k\r\nget k\r\ndelete k\r\nadd k 0 0 1\r\nx\r\nget k\r\n"),
    ("cas of another", b"set k 5 0 3\r\nabc\r\n", b"cas k 0 0 1 1\r\nx\r\nget k\r\n"),
    ("noreply", b"set k 5 0 2\r\n10\r\n", b"incr k 1 noreply\r\nappend k 0 0 1 noreply\r\n7\r\nget k\r\n"),
    ("mg", b"set k 5 0 3\r\nabc\r\n", b"mg k s f t k Oopaque v\r\nmg k s q\r\nmg no q\r\nmn\r\n"),
    ("mg with a new expiry", b"set k 5 0 3\r\nabc\r\n", b"mg k t T90 t v\r\nmg k t\r\n"),
    ("mg that would create", b"set k 5 0 3\r\nabc\r\n", b"mg k N30 v t\r\nmg no N30 v t\r\nmg no N30 v\r\n"),
    ("mg that recaches", b"set k 5 20 3\r\nabc\r\n" + MORE_SHORT_LIVED, b"mg k R30 v\r\nmg k R30 v\r\n"),
    ("md", b"set k 5 0 3\r\nabc\r\n", b"md k q\r\nmg k v\r\nmd k\r\n"),
    ("md that marks as stale", b"set k 5 0 3\r\nabc\r\n", b"md k I T30\r\nmg k v t\r\nmg k v\r\n"),
    ("md that clears", b"set k 5 0 3\r\nabc\r\n", b"md k x\r\nmg k v f s\r\n"),
    ("ma", b"set k 5 0 2\r\n10\r\n", b"ma k v t\r\nma k MD D3 v\r\nma k T60 v t\r\nma no N9 J7 v\r\nma k q\r\nget k\r\n"),
    ("ms", b"set k 5 0 3\r\nabc\r\n", b"ms k 2 MA\r\nde\r\nms k 2 MP s k\r\n__\r\nms k 1 ME s\r\nx\r\nms k 1 MR s\r\ny\r\nget k\r\n"),
    ("ms that compares", b"set k 5 0 3\r\nabc\r\n", b"ms k 2 C1\r\nde\r\nms k 2 C1 I\r\nde\r\nget k\r\n"),
    ("a large value", b"set k 5 0 300000\r\n" + LARGE + b"\r\n" + MORE_LARGE, b"get k\r\nmg k s v\r\nget k k\r\n"),
    ("append to a large value", b"set k 5 0 300000\r\n" + LARGE + b"\r\n" + MORE_LARGE,
     b"append k 0 0 20000\r\n" + LARGE[:20000] + b"\r\nget k\r\n"),
    ("a large value appended", b"set k 5 0 3\r\nabc\r\n", b"append k 0 0 300000\r\n" + LARGE + b"\r\nget k\r\n"),
    ("a large value with a token", b"set k 5 0 3\r\nabc\r\n", b"cas k 0 0 300000 1\r\n" + LARGE + b"\r\nget k\r\n"),
    ("me", b"set k 5 0 3\r\nabc\r\n", b"me k\r\nme no\r\n"),
]

EXTRAS = struct.pack(">II", 5, 0)
COUNTING = struct.pack(">QQI", 2, 10, 0)
BINARY = [
    ("get", b"abc", [packet(0x00, b"k"), packet(0x0C, b"k"), packet(0x0D, b"k"), packet(0x00, b"no")]),
    ("touch", b"abc", [packet(0x1C, b"k", struct.pack(">I", 90)), packet(0x1D, b"k", struct.pack(">I", 80)),
                       packet(0x23, b"k", struct.pack(">I", 80))]),
    ("append", b"abc", [packet(0x0E, b"k", value=b"def"), packet(0x0F, b"k", value=b"__"), packet(0x00, b"k")]),
    ("increment", b"40", [packet(0x05, b"k", COUNTING), packet(0x06, b"k", COUNTING), packet(0x00, b"k")]),
    ("delete", b"abc", [packet(0x04, b"k", cas=1), packet(0x04, b"k"), packet(0x00, b"k")]),
    ("set", b"abc", [packet(0x01, b"k", EXTRAS, b"x", cas=1), packet(0x03, b"k", EXTRAS, b"xy"), packet(0x00, b"k")]),
    ("large append", b"abc", [packet(0x0E, b"k", value=LARGE), packet(0x00, b"k")]),
]


@pytest.fixture(scope="module")
def tiered(start, tmp_path_factory):
    """A server with a tier."""
    return start(options=options(tmp_path_factory.mktemp("tier") / "ssd"))


@pytest.fixture(scope="module")
def plain(start):
    """A server without one."""
    return start(options=["-m", "64", "-t", "2"])


@pytest.fixture
def connection(tiered):
    connection = Connection(tiered)
    assert connection.ask(b"flush_all") == b"OK"
    yield connection
    connection.close()


@pytest.fixture
def other(plain):
    connection = Connection(plain)
    assert connection.ask(b"flush_all") == b"OK"
    yield connection
    connection.close()


def comparable(reply):
    """A reply without what depends on when and where an item was stored."""
    reply = re.sub(rb" la=\d+ cas=\d+ fetch=\w+ cls=1 size=\d+", b"", reply)
    return re.sub(rb"\bt(\d+)\b", lambda found: b"t~%d" % ((int(found[1]) + 5) // 10), reply)


@pytest.mark.parametrize(("name", "before", "requests"), COMMANDS, ids=[name for name, *_ in COMMANDS])
def test_commands_on_the_ssd_answer_as_in_memory(connection, other, name, before, requests):
    stored = connection.talk(before)
    assert stored == other.talk(before) and b"STORED" in stored
    spill(connection)
    reads = connection.tier("reads")
    reply = connection.talk(requests)
    assert comparable(reply) == comparable(other.talk(requests))
    needs_no_read = name in ("add", "replace", "set", "delete", "md")
    assert needs_no_read or connection.tier("reads") > reads, "it was not on the SSD"


def binary_talk(connection, packets):
    """The answers to packets, without the opaque's and the token's values."""
    connection.send(b"".join(packets) + BINARY_NOOP)
    answers = []
    while not answers or answers[-1][0] != 0x0A:
        header = connection.reader.read(24)
        body = connection.reader.read(struct.unpack(">I", header[8:12])[0])
        answers.append((header[1], header[6:8], body))
    return answers


@pytest.mark.parametrize(("name", "value", "packets"), BINARY, ids=[name for name, *_ in BINARY])
def test_binary_commands_on_the_ssd_answer_as_in_memory(tiered, plain, connection, name, value, packets):
    first = [packet(0x01, b"k", EXTRAS, value)]
    binary = [Connection(tiered), Connection(plain)]
    assert binary_talk(binary[0], first) == binary_talk(binary[1], first)
    spill(connection)
    reads = connection.tier("reads")
    assert binary_talk(binary[0], packets) == binary_talk(binary[1], packets)
    assert connection.tier("reads") > reads
    for one in binary:
        one.close()


def test_half_as_much_data_again_as_memory_stays_a_hit(connection):
    count = 3 * (MEMORY_MEGABYTES << 20) // VALUE_BYTES // 2
    fill(connection, count, b"data")
    assert connection.tier("items_written") > 0
    for number in range(count):
        assert connection.get(b"data-%d" % number) == value_of(number)


def test_one_get_of_many_keys_returns_all_in_order(connection):
    fill(connection, ITEMS, b"many")
    keys = [b"many-%d" % number for number in range(0, ITEMS, 3)]
    connection.send(b"get " + b" ".join(keys) + b"\r\n")
    for key in keys:
        assert connection.line() == b"VALUE %s 0 %d" % (key, VALUE_BYTES)
        assert connection.reader.read(VALUE_BYTES + 2)[:-2] == value_of(int(key[5:]))
    assert connection.line() == b"END"


def test_deep_pipelines_keep_their_order(connection):
    fill(connection, ITEMS, b"deep")
    for _ in range(3):
        connection.send(b"".join(b"get deep-%d\r\nincr n 1\r\n" % number for number in range(0, ITEMS, 5)))
        for number in range(0, ITEMS, 5):
            assert connection.line() == b"VALUE deep-%d 0 %d" % (number, VALUE_BYTES)
            assert connection.reader.read(VALUE_BYTES + 2)[:-2] == value_of(number)
            assert connection.line() == b"END"
            assert connection.line() == b"NOT_FOUND"


def test_tokens_survive_the_way_to_the_ssd(connection):
    connection.store(b"k", b"value")
    connection.send(b"gets k\r\n")
    token = connection.line().split()[4]
    connection.line(), connection.line()
    spill(connection)
    connection.send(b"cas k 0 0 3 %s\r\nnew\r\n" % token)
    assert connection.line() == b"STORED"
    assert connection.get(b"k") == b"new"
    connection.send(b"cas k 0 0 3 %s\r\nold\r\n" % token)
    assert connection.line() == b"EXISTS"


def test_what_expires_on_the_ssd_is_gone(connection):
    connection.store(b"short", b"value", exptime=2)
    connection.store(b"long", b"value", exptime=1000)
    spill(connection)
    deadline = time.monotonic() + servers.PATIENCE_SECONDS
    while connection.get(b"short") is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert connection.get(b"long") == b"value"


def test_a_flush_reaches_the_ssd(connection):
    connection.store(b"k", b"value")
    spill(connection)
    assert connection.ask(b"flush_all") == b"OK"
    assert connection.get(b"k") is None
    connection.store(b"k", b"new")
    assert connection.get(b"k") == b"new"


def test_memory_is_served_while_others_wait_for_the_ssd(tiered, connection):
    fill(connection, ITEMS, b"busy")
    connection.store(b"hot", b"value")
    stop = threading.Event()

    def read_from_the_ssd():
        reader = Connection(tiered)
        number = 0
        while not stop.is_set():
            number = (number + 331) % ITEMS
            assert reader.get(b"busy-%d" % number) == value_of(number)
        reader.close()

    threads = [threading.Thread(target=read_from_the_ssd) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(2000):
            assert connection.get(b"hot") == b"value"
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_clients_that_leave_while_they_wait_take_nothing_with_them(tiered, connection):
    fill(connection, ITEMS, b"left")
    for start_at in range(0, 200, 10):
        leaving = [Connection(tiered) for _ in range(10)]
        for number, one in enumerate(leaving):
            one.send(b"get " + b" ".join(b"left-%d" % (start_at + number + step) for step in range(0, 300, 10)) + b"\r\n")
        for one in leaving:
            one.close()
    deadline = time.monotonic() + servers.PATIENCE_SECONDS
    while int(connection.stats()["curr_connections"]) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert connection.get(b"left-1") == value_of(1)
    assert connection.stats()["values_pinned"] == "0"


def test_datagrams_reach_the_ssd(start, tmp_path):
    server = start(options=options(tmp_path / "ssd", more=["-U", str(servers.ANY_PORT)]))
    connection, port = Connection(server), server.udp_port
    connection.store(b"k", b"value")
    spill(connection)
    assert datagram(port, b"get k\r\n") == b"VALUE k 0 5\r\nvalue\r\nEND\r\n"
    assert datagram(port, b"append k 0 0 1\r\n!\r\nget k\r\n") == b"STORED\r\nVALUE k 0 6\r\nvalue!\r\nEND\r\n"


def test_the_tier_is_told_about(connection):
    spill(connection)
    before, general, own = connection.stats(b"tier"), connection.stats(), connection.stats(b"tier")
    settings = connection.stats(b"settings")
    # Writing goes on meanwhile.
    assert 0 < int(before["items_written"]) <= int(general["extstore_objects_written"]) <= int(own["items_written"])
    assert int(general["extstore_limit_maxbytes"]) == 96 << 20
    assert float(own["write_amplification"]) > 0.9
    assert settings["durability"] == "writeback" and settings["ssd"].endswith("/ssd")
    for name in ("get_extstore", "badcrc_from_extstore", "extstore_bytes_used", "extstore_io_queue"):
        assert name in general


def test_without_a_tier_nothing_is_told(other):
    assert not [name for name in other.stats() if "extstore" in name]
    assert other.stats(b"tier") == {}


@pytest.mark.parametrize("durability", ["cache", "writeback", "sync"])
def test_everything_is_back_after_an_orderly_stop(tmp_path, durability):
    path = tmp_path / "ssd"
    more = ["--durability", durability]
    server = servers.Server(tmp_path, options=options(path, more=more))
    connection = Connection(server)
    # A cache may drop what the device is too slow for.
    count = ITEMS // 4 if durability == "cache" else ITEMS
    fill(connection, count, b"kept")
    connection.store(b"short", b"value", exptime=1)
    connection.store(b"long", b"value", exptime=1000, flags=9)
    connection.store(b"gone", b"value")
    assert connection.ask(b"delete gone") == b"DELETED"
    assert server.stop() == 0
    server = servers.Server(tmp_path, options=options(path, more=more))
    connection = Connection(server)
    assert int(connection.stats(b"tier")["items_recovered"]) >= count
    for number in range(count):
        assert connection.get(b"kept-%d" % number) == value_of(number)
    assert connection.ask(b"mg long f v t").startswith(b"VA 5 f9 t")
    assert connection.line() == b"value"
    assert connection.get(b"gone") is None
    deadline = time.monotonic() + servers.PATIENCE_SECONDS
    while connection.get(b"short") is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert server.stop() == 0


def test_a_memory_file_keeps_what_is_in_memory(tmp_path):
    own = ["-m", str(MEMORY_MEGABYTES), "-e", str(tmp_path / "memory")]
    server = servers.Server(tmp_path, options=own)
    connection = Connection(server)
    connection.store(b"k", b"value")
    assert server.stop() == 0
    server = servers.Server(tmp_path, options=own)
    assert Connection(server).get(b"k") == b"value"
    assert server.stop() == 0


def refusal(arguments):
    """How a server that does not start ends: status and message."""
    command = [servers.binary(), "-u", "root", "-l", "127.0.0.1", "-p", str(servers.ANY_PORT), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=servers.PATIENCE_SECONDS, check=False)
    return ended.returncode, ended.stderr


def test_what_cannot_be_a_tier_is_refused(tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"something else")
    for path, size, named in [
        (tmp_path / "huge", ":900000t", "huge"),
        (other, ":32m", f"--ssd-format={other} lets"),
        (tmp_path / "no" / "such", ":32m", "such"),
    ]:
        status, message = refusal(["-m", "8", "--ssd", f"{path}{size}"])
        assert status == 71 and named in message, message
    status, message = refusal(["--ssd", f"{tmp_path}/small:1m"])
    assert status == 64 and "at least" in message, message
    assert other.read_bytes() == b"something else"


def test_a_tier_has_one_owner(tmp_path):
    server = servers.Server(tmp_path, options=options(tmp_path / "ssd"))
    status, message = refusal(["-m", "8", "--ssd", str(tmp_path / "ssd")])
    assert status == 71 and "in use" in message, message
    assert server.stop() == 0


def damage(kind, path):
    if kind == "vanished":
        os.truncate(path, 0)
    else:
        with open(path, "r+b") as file:
            file.seek(1 << 20)
            file.write(os.urandom((path.stat().st_size >> 1) - (1 << 20)))
            file.flush()
            os.fsync(file.fileno())


@pytest.mark.parametrize("kind", ["vanished", "overwritten"])
def test_a_damaged_file_gives_misses_and_never_wrong_bytes(tmp_path, kind):
    server = servers.Server(tmp_path, options=options(tmp_path / "ssd"))
    connection = Connection(server)
    fill(connection, ITEMS, b"hurt")
    spill(connection)
    damage(kind, tmp_path / "ssd")
    misses = 0
    for number in range(ITEMS):
        value = connection.get(b"hurt-%d" % number)
        assert value in (None, value_of(number))
        misses += value is None
    assert misses > 0
    connection.store(b"after", b"value")
    assert connection.get(b"after") == b"value"
    general = connection.stats()
    assert int(general["miss_from_extstore"]) > 0
    assert server.process.poll() is None
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(60) == 0
    log = server.log_path.read_text()
    assert 1 <= log.count("ERROR") <= 4, log


def test_a_full_ssd_refuses_instead_of_forgetting(tmp_path):
    """Where nothing may be evicted, what was stored stays, and what has no room is refused."""
    server = servers.Server(tmp_path, options=options(tmp_path / "ssd", size="24m", more=["-M"]))
    connection = Connection(server)
    stored, refused = [], 0
    for number in range(12_000):
        connection.send(b"set full-%d 0 0 %d\r\n%s\r\n" % (number, VALUE_BYTES, value_of(number)))
        answer = connection.line()
        assert answer in (b"STORED", b"SERVER_ERROR out of memory storing object")
        stored += [number] * (answer == b"STORED")
        refused += answer != b"STORED"
        if refused >= 50:
            break
    assert refused >= 50 and len(stored) * VALUE_BYTES > 20 << 20
    found = connection.get_many([b"full-%d" % number for number in stored])
    assert all(found.get(b"full-%d" % number) == value_of(number) for number in stored)
    assert server.stop() == 0


def test_bad_clients_find_no_way_in_while_others_wait(tiered, connection):
    """Input that comes while a request waits is handled after it, and in its order."""
    fill(connection, ITEMS, b"slow")
    impatient = Connection(tiered)
    for number in range(0, 300, 3):
        impatient.send(b"get slow-%d\r\n" % number)
        impatient.send(b"version\r\n")
    for number in range(0, 300, 3):
        assert impatient.line() == b"VALUE slow-%d 0 %d" % (number, VALUE_BYTES)
        assert impatient.reader.read(VALUE_BYTES + 2)[:-2] == value_of(number)
        assert impatient.line() == b"END"
        assert impatient.line().startswith(b"VERSION")
    impatient.close()
