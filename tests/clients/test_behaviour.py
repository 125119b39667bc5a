"""Farcache answers odd inputs byte for byte as memcached does, but for the listed differences."""

import shutil
import time

import pytest
import servers
from behaviour import binary, differences, meta, ours, text
from behaviour.case import comparable, play

# The version that the differences were written for; others differ from it in other ways.
MEMCACHED_VERSION = "1.6.18"
# The two servers' seconds do not end at the same instant, which shows in times left, rounded as they
# are: so long it may take, on a busy machine, until both have passed the same round number.
CLOCKS_APART_SECONDS_MAX = 20
CASES = {case.name: case for source in (text, meta, binary) for case in source.cases()}
OURS = {case.name: (case, reply) for case, reply in ours.cases()}


@pytest.fixture(scope="module")
def memcached():
    """The memcached to compare with."""
    path = shutil.which("memcached")
    assert path, "memcached, which the replies are compared with, is not installed"
    found = servers.version_line(path).split()[1]
    if found != MEMCACHED_VERSION:
        pytest.skip(f"memcached {found} is installed; the comparison is with {MEMCACHED_VERSION}")
    return path


@pytest.fixture(scope="module")
def tested(start):
    """The server under test, started once for each set of options."""
    return starter(start, None)


@pytest.fixture(scope="module")
def reference(start, memcached):
    """memcached, started alike."""
    return starter(start, memcached)


def starter(start, path):
    found = {}

    def with_options(options):
        if options not in found:
            found[options] = start(options=[*options, "-m", "64", "-t", "1"], path=path)
        return found[options]

    return with_options


def flush(server):
    """Empties the server, so that a case sees nothing of the one before."""
    with server.connect() as connection:
        connection.sendall(b"flush_all noreply\r\nquit\r\n")
        while connection.recv(4096):
            pass


def replies(case, server):
    if not case.options:
        flush(server)
    with server.connect() as connection:
        return comparable(case, play(case, connection))


@pytest.mark.parametrize("name", CASES)
def test_the_reply_is_the_same(tested, reference, name):
    case = CASES[name]
    deadline = time.monotonic() + CLOCKS_APART_SECONDS_MAX
    while True:
        expected = replies(case, reference(case.options))
        if not servers.is_memcached():
            expected = differences.wanted(case, expected)
        found = replies(case, tested(case.options))
        if found == expected or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    assert found.split(b"\n") == expected.split(b"\n"), case.inputs


@pytest.mark.parametrize("name", OURS)
def test_the_reply_is_the_one_written_down(tested, name):
    if servers.is_memcached():
        pytest.skip("written for Farcache")
    case, expected = OURS[name]
    assert replies(case, tested(case.options)).split(b"\n") == expected.split(b"\n"), case.inputs


@pytest.mark.parametrize("difference", differences.DIFFERENCES, ids=lambda difference: difference.reason[:40])
def test_every_listed_difference_is_one(reference, difference):
    for case in filter(difference.covers, CASES.values()):
        reply = replies(case, reference(case.options))
        if difference.rewrite(reply, case) != reply:
            return
    pytest.fail("no reply of memcached is changed by this rule")
