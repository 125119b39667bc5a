"""Shared memory between the server and clients that run as other users: those of its group have it, others go on over sockets."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests/clients"))

import servers  # noqa: E402 (found beside the other clients' tests)

# Users and a group that nobody else has; they need no names.
SERVER, CLIENT, GROUP, OTHER_GROUP = 31011, 31012, 31013, 31014

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv") or not pathlib.Path("/dev/shm").is_dir(),
    reason="only root can run programs as several users",
)


@pytest.fixture
def folder():
    """A folder as farcached.tmpfiles makes it."""
    path = pathlib.Path(f"/dev/shm/farcache-test-{os.getpid()}")
    path.mkdir()
    os.chown(path, SERVER, GROUP)
    path.chmod(0o2770)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def programs(tmp_path):
    """Programs where every user may start them."""
    for parent in [tmp_path, *tmp_path.parents][:3]:
        parent.chmod(0o755)
    built = pathlib.Path(servers.binary()).parent
    for name in ("farcached", "ohb_memlat"):
        shutil.copy(built / name, tmp_path)
    return tmp_path


def as_user(user, group, folder=None):
    """What stands in front of a command that a user runs."""
    words = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "env", "UCX_LOG_LEVEL=fatal"]
    return words + ([f"FARCACHE_SHARED_MEMORY={folder}"] if folder else [])


@pytest.fixture
def server(programs, folder):
    """A server that runs as a user of its own."""
    command = " ".join(map(str, [*as_user(SERVER, GROUP, folder), programs / "farcached"]))
    start = programs / "start"
    start.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    start.chmod(0o755)
    running = servers.Server(programs, path=str(start), options=["-t", "1", "-m", "512", "--fabric", "require"])
    yield running.address
    assert running.stop() == 0


def wait_for(condition):
    deadline = time.monotonic() + servers.PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def measured(programs, server, user, transport):
    options = ["--transport", transport, "--benchmarks", "mix", "--sizes", "64,64K", "--iterations", "200"]
    command = [*user, programs / "ohb_memlat", "--servers", server, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_users_of_the_group_share_memory(programs, server, folder):
    result = measured(programs, server, as_user(CLIENT, GROUP, folder), "fabric")
    assert result.returncode == 0, result.stderr
    assert "posix" in result.stdout
    # A worker that the server makes after its client has gone has private files for a moment.
    wait_for(lambda: {(path.stat().st_uid, path.stat().st_mode & 0o777) for path in folder.iterdir()} == {(SERVER, 0o660)})


def test_who_does_not_share_by_name_is_told_why(programs, server):
    result = measured(programs, server, as_user(CLIENT, GROUP), "fabric")
    assert result.returncode != 0
    assert "another user" in result.stderr


def test_others_go_on_over_sockets(programs, server, folder):
    outsider = as_user(CLIENT, OTHER_GROUP, folder)
    assert measured(programs, server, outsider, "fabric").returncode != 0
    result = measured(programs, server, outsider, "auto")
    assert result.returncode == 0, result.stderr
    assert "over sockets" in result.stdout, result.stdout
