"""scripts/slow-moosefs says what went wrong, and nothing else. Instead of MooseFS and the network there are shell scripts."""

import os
import pathlib
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "slow-moosefs"

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="there is no /dev/fuse here")


@pytest.fixture
def start(tmp_path):
    """Starts it, with a chunk server that does what it is told here."""

    def run(chunkserver):
        programs = tmp_path / "bin"
        programs.mkdir()
        # What runs something in a namespace runs it here.
        ip = 'case "$1 $2" in "netns exec") shift 3; exec "$@" ;; esac'
        scripts = {
            "id": "echo 0", "ip": ip, "tc": "", "mount": "", "umount": "", "cp": "", "mfsmaster": "echo loading metadata",
            "mfschunkserver": chunkserver, "mfsmount": "echo accepted >&2",
        }
        for name, script in scripts.items():
            (programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (programs / name).chmod(0o755)
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        return subprocess.run([SCRIPT, "start", tmp_path / "moosefs"], env=environment, text=True, capture_output=True)

    return run


def test_one_that_starts_says_nothing(start):
    done = start("echo scanning")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_a_part_says_that_does_not_start_is_told(start):
    done = start('case "$*" in *" start") echo no space >&2; exit 5 ;; esac')
    assert done.returncode == 1
    assert "no space" in done.stderr and "loading" not in done.stderr
