"""memcached's own tests, run against the server under test where they ask what it answers too."""

import os
import pathlib
import shutil
import signal
import subprocess

import memcached_suite
import pytest
import servers
from behaviour import recorded

TESTS = recorded.REFERENCE.parent / "t"
# How long one of them may take on a busy machine.
SECONDS_MAX = 300
# These move the time.
NEED_A_DEBUG_BUILD = ("expirations",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where memcached's tests find what they start: their directory is the one it was built in."""
    if not TESTS.exists():
        pytest.skip(f"there is no memcached {recorded.VERSION} here: see what scripts/memcached-reference says")
    place = tmp_path_factory.mktemp("memcached")
    (place / "t").symlink_to(TESTS)
    (place / "timedrun").symlink_to(TESTS.parent / "timedrun")
    (place / "memcached-debug").symlink_to(servers.binary())
    return place


def moves_time():
    """Whether the server under test lets tests move its time."""
    return "debug" in pathlib.Path(servers.binary()).parts


def reason_to_leave_out(name):
    """Why a test is left out; none if it is not."""
    beginnings = [beginning for beginning in memcached_suite.LEFT_OUT if name.startswith(beginning)]
    return max(beginnings, key=len, default=None) if name not in memcached_suite.APPLICABLE else None


def test_every_test_of_memcached_is_run_or_left_out_for_a_reason(folder):
    names = {path.stem for path in TESTS.glob("*.t")}
    assert set(memcached_suite.APPLICABLE) <= names
    assert [name for name in sorted(names - set(memcached_suite.APPLICABLE)) if not reason_to_leave_out(name)] == []


@pytest.mark.skipif(not shutil.which("perl"), reason="there is no perl here")
@pytest.mark.parametrize("name", memcached_suite.APPLICABLE)
def test_memcacheds_own_test_passes(folder, name, tmp_path):
    if name in NEED_A_DEBUG_BUILD and not servers.is_memcached() and not moves_time():
        pytest.skip("only a debug build lets tests move its time")
    with open(tmp_path / "output", "w+b") as output:
        process = subprocess.Popen(["perl", f"t/{name}.t"], cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(SECONDS_MAX)
        finally:
            # The servers that it has started and not ended.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        output.seek(0)
        lines = output.read().decode("latin-1").splitlines()
    assert status == 0, "\n".join(line for line in lines if not line.startswith("ok "))
    assert any(line.startswith("ok ") for line in lines), "it has tested nothing"
