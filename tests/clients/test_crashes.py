"""A few rounds of what scripts/kill-loop does many times."""

import crashes
import pytest
import servers

pytestmark = pytest.mark.skipif(servers.is_memcached(), reason="memcached has no such tier")
ROUNDS = 6
SECONDS_MAX = 0.6
ROUNDS_MORE_MAX = 10
SECONDS_MORE_MAX = 10


@pytest.mark.parametrize("durability", ["cache", "writeback", "sync"])
def test_after_a_kill_nothing_is_wrong_and_nothing_old_comes_back(tmp_path, durability):
    loop = crashes.Loop(tmp_path, durability)
    for _ in range(ROUNDS):
        loop.run_once(SECONDS_MAX)
    # On a busy machine, little may have been stored in so short a time.
    for _ in range(ROUNDS_MORE_MAX):
        if loop.found > 0:
            return
        loop.run_once(SECONDS_MORE_MAX)
    pytest.fail("nothing ever reached the SSD")


def test_an_orderly_stop_between_kills_loses_nothing(tmp_path):
    loop = crashes.Loop(tmp_path)
    for _ in range(2):
        loop.run_once(SECONDS_MAX)
        loop.stop_in_order()
