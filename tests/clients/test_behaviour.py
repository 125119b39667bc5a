"""Farcache answers odd inputs byte for byte as memcached does, but for the listed differences."""

import time

import pytest
import servers
from behaviour import differences, ours, recorded

# How long it may take, on a busy machine, until seconds that are told, rounded, are on the same side of a
# round number as when they were recorded.
CLOCKS_APART_SECONDS_MAX = 20
OURS = {case.name: (case, reply) for case, reply in ours.cases()}
RECORDED = recorded.load()


@pytest.fixture(scope="module")
def tested(start):
    """The servers under test."""
    return recorded.Servers(start)


@pytest.fixture(scope="module")
def reference(start):
    """memcached itself, of the version that the replies were recorded from."""
    if not recorded.REFERENCE.exists():
        pytest.skip(f"there is no memcached {recorded.VERSION} here: see what scripts/memcached-reference says")
    return recorded.Servers(lambda options: start(options=options, path=str(recorded.REFERENCE)))


def reply_of(tested, case):
    try:
        return tested.reply(case)
    except NotImplementedError:
        pytest.skip("only a debug build lets tests move its time")


def test_every_case_has_a_recorded_reply():
    assert sorted(RECORDED) == sorted(recorded.CASES)


@pytest.mark.parametrize("name", recorded.CASES)
def test_the_reply_is_the_same(tested, name):
    case, expected = recorded.CASES[name], RECORDED[name]
    if not servers.is_memcached():
        expected = differences.wanted(case, expected)
    deadline = time.monotonic() + CLOCKS_APART_SECONDS_MAX
    while (found := reply_of(tested, case)) != expected and time.monotonic() < deadline:
        time.sleep(0.1)
    assert found.split(b"\n") == expected.split(b"\n"), case.inputs


def test_memcached_still_gives_the_recorded_replies(reference):
    def differs(name):
        return reference.reply(recorded.CASES[name]) != RECORDED[name]

    # Once more, because of seconds told at the edge of a round number.
    assert [name for name in RECORDED if differs(name) and differs(name)] == []


@pytest.mark.parametrize("name", OURS)
def test_the_reply_is_the_one_written_down(tested, name):
    if servers.is_memcached():
        pytest.skip("written for Farcache")
    case, expected = OURS[name]
    assert reply_of(tested, case).split(b"\n") == expected.split(b"\n"), case.inputs


@pytest.mark.parametrize("difference", differences.DIFFERENCES, ids=lambda difference: difference.reason[:40])
def test_every_listed_difference_is_one(difference):
    cases = filter(difference.covers, recorded.CASES.values())
    assert any(difference.rewrite(RECORDED[case.name], case) != RECORDED[case.name] for case in cases), (
        "no reply of memcached is changed by this rule")
