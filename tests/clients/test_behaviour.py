"""Farcache answers odd inputs byte for byte as memcached does, but for the listed differences."""

import shutil

import pytest
import servers
from behaviour import binary, differences, meta, text
from behaviour.case import comparable, play

CASES = {case.name: case for source in (text, meta, binary) for case in source.cases()}


@pytest.fixture(scope="module")
def memcached():
    """The memcached to compare with."""
    path = shutil.which("memcached")
    assert path, "memcached, which the replies are compared with, is not installed"
    return path


@pytest.fixture(scope="module")
def pairs(start, memcached):
    """The server under test and memcached, started alike, for each set of options."""
    found = {}

    def pair(options):
        if options not in found:
            options_of_both = [*options, "-m", "64", "-t", "1"]
            found[options] = (start(options=options_of_both), start(options=options_of_both, path=memcached))
        return found[options]

    return pair


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
def test_the_reply_is_the_same(pairs, name):
    case = CASES[name]
    tested, reference = pairs(case.options)
    expected = replies(case, reference)
    if not servers.is_memcached():
        expected = differences.wanted(case, expected)
    assert replies(case, tested).split(b"\n") == expected.split(b"\n"), case.inputs


@pytest.mark.parametrize("difference", differences.DIFFERENCES, ids=lambda difference: difference.reason)
def test_every_listed_difference_is_one(pairs, difference):
    for case in filter(difference.covers, CASES.values()):
        _, reference = pairs(case.options)
        reply = replies(case, reference)
        if difference.apply(reply) != reply:
            return
    pytest.fail("no reply of memcached is changed by this rule")
