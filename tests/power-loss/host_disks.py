"""Disks made of files, on the host: loop devices for their partitions, and mounted file systems."""

import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import time

import checking
import disks

# Where a user's PATH does not have losetup and mount.
ENVIRONMENT = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
# A file system stays busy for a moment after its last user has ended.
UNMOUNT_ATTEMPTS_MAX = 50
UNMOUNT_PAUSE_SECONDS = 0.1


class Refused(Exception):
    """The system does not attach or mount."""


@dataclasses.dataclass
class Attached:
    """A disk that is there."""

    # Arguments of the server's --ssd.
    tiers: list
    # Block device of the marks.
    marks: str


def run(*command):
    """Output of a command of the system."""
    try:
        options = {"capture_output": True, "text": True, "env": ENVIRONMENT}
        done = subprocess.run(command, stdin=subprocess.DEVNULL, **options)
    except OSError as error:
        raise Refused(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        words = " ".join(map(str, command))
        raise Refused(f"{words}: {done.stderr.strip() or done.returncode}")
    return done.stdout


@contextlib.contextmanager
def attached(kind, path, mount_point):
    """The disk's partitions as loop devices, its file system mounted. Refused where that fails."""
    try:
        yield attach(kind, path, mount_point)
    finally:
        release(path, mount_point)


def attach(kind, path, mount_point):
    starts, sizes = disks.partition_starts(kind), disks.PARTITIONS[kind]
    loops = {}
    for number in disks.PARTITIONS_USED[kind]:
        loops[number] = attach_part(path, starts[number], sizes[number] * disks.MEGABYTE)
    marks = loops.pop(disks.MARK_PARTITION)
    if kind not in disks.MAKE_FILE_SYSTEM:
        return Attached(list(loops.values()), marks)
    mount_point.mkdir(exist_ok=True)
    run("mount", "-t", kind, loops[0], mount_point)
    return Attached([f"{mount_point / 'tier'}:{checking.TIER_FILE_SIZE}"], marks)


def attach_part(path, start, length):
    place = ("--offset", str(start), "--sizelimit", str(length))
    return run("losetup", "--find", "--show", *place, path).strip()


def release(path, mount_point):
    """Unmounts and detaches what there is of it, whatever state it was left in."""
    with interrupts_held():
        unmount(mount_point)
        for loop in loops_of(path):
            run("losetup", "--detach", loop)


def unmount(mount_point):
    for attempt in range(UNMOUNT_ATTEMPTS_MAX):
        if not os.path.ismount(mount_point):
            return
        try:
            run("umount", mount_point)
        except Refused:
            if attempt + 1 == UNMOUNT_ATTEMPTS_MAX:
                raise
            time.sleep(UNMOUNT_PAUSE_SECONDS)


def loops_of(path):
    """Loop devices of a file."""
    if not pathlib.Path(path).exists():
        return []
    lines = run("losetup", "--associated", path, "--noheadings", "--output", "NAME").split()
    return [line.strip() for line in lines]


@contextlib.contextmanager
def interrupts_held():
    """Nothing is left half released because somebody presses ^C twice."""
    numbers = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
