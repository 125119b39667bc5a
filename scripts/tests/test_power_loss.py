"""Disks after a cut: what was flushed is there, of the rest any part, and never anything else.

And their check on the host: what is attached is released, and what is wrong is kept.
"""

import contextlib
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import types

import pytest

POWER_LOSS = pathlib.Path(__file__).resolve().parents[2] / "tests/power-loss"
sys.path.insert(0, str(POWER_LOSS))

import checking  # noqa: E402
import disks  # noqa: E402
import host_check  # noqa: E402
import host_disks  # noqa: E402
import rounds  # noqa: E402

SECTOR = disks.SECTOR_BYTES
MARK = 100 * SECTOR


def write(sector, letter, sectors=1, flags=0):
    return disks.Entry(sector * SECTOR, letter * (sectors * SECTOR), flags, sectors * SECTOR)


FLUSH = disks.Entry(0, b"", disks.FLUSH, 0)


def replay(tmp_path, entries, seed):
    base = tmp_path / "base"
    base.write_bytes(bytes(128 * SECTOR))
    return disks.Replay(base, entries, MARK, random.Random(seed))


def letter_at(disk, sector):
    return bytes(disk[sector * SECTOR : (sector + 1) * SECTOR])


def test_what_was_flushed_is_there_after_every_cut(tmp_path):
    entries = [write(1, b"a"), write(2, b"b"), FLUSH, write(1, b"c", sectors=4), write(9, b"d")]
    seen = set()
    for seed in range(200):
        disk = replay(tmp_path, entries, seed).cut_at(len(entries))
        assert letter_at(disk, 1) in (b"a" * SECTOR, b"c" * SECTOR)
        assert letter_at(disk, 2) in (b"b" * SECTOR, b"c" * SECTOR)
        seen.add(tuple(letter_at(disk, sector)[:1] for sector in (1, 2, 3, 4, 9)))
    # Later writes are there, or not, or in part.
    assert (b"a", b"b", b"\0", b"\0", b"\0") in seen
    assert (b"c", b"c", b"c", b"c", b"d") in seen
    assert any(1 <= letters[:4].count(b"c") <= 3 for letters in seen)


def test_a_flush_at_the_very_end_may_not_have_ended(tmp_path):
    entries = [write(1, b"a"), FLUSH]
    ends = {letter_at(replay(tmp_path, entries, seed).cut_at(2), 1)[:1] for seed in range(50)}
    assert ends == {b"a", b"\0"}


def test_marks_and_forced_writes_are_always_there(tmp_path):
    entries = [write(1, b"f", flags=disks.FUA), write(MARK // SECTOR, b"m")]
    for seed in range(50):
        disk = replay(tmp_path, entries, seed).cut_at(2)
        assert letter_at(disk, 1) == b"f" * SECTOR
        assert letter_at(disk, MARK // SECTOR) == b"m" * SECTOR


def test_later_cuts_go_on_from_earlier_ones(tmp_path):
    entries = [write(1, b"a"), FLUSH, write(2, b"b"), FLUSH, write(3, b"c"), FLUSH, write(4, b"d")]
    going_on = replay(tmp_path, entries, 1)
    for count in range(1, len(entries) + 1):
        disk = going_on.cut_at(count)
        flushes = max(0, (count - 1) // 2)
        for sector in range(1, flushes + 1):
            assert letter_at(disk, sector) != bytes(SECTOR)
        for sector in range(count // 2 + 2, 10):
            assert letter_at(disk, sector) == bytes(SECTOR)


def test_a_log_is_read_up_to_its_unfinished_end(tmp_path):
    log = struct.pack("<QQQI", disks.LOG_MAGIC, 1, 0, SECTOR).ljust(SECTOR, b"\0")
    written = disks.UNFINISHED_ENTRIES + 3
    for number in range(written):
        log += struct.pack("<QQQQ", number, 1, 0, 0).ljust(SECTOR, b"\0") + bytes([number]) * SECTOR
    log += struct.pack("<QQQQ", 0, 0, disks.FLUSH, 0).ljust(SECTOR, b"\0")
    path = tmp_path / "log"
    path.write_bytes(log + bytes(4 * SECTOR))
    entries = disks.read_log(path)
    assert len(entries) == written + 1 - disks.UNFINISHED_ENTRIES
    assert entries[2].start == 2 * SECTOR and entries[2].data == b"\2" * SECTOR


def test_a_log_that_was_never_written_has_no_entries(tmp_path):
    (tmp_path / "log").write_bytes(b"")
    assert disks.read_log(tmp_path / "log") == []


def test_disks_are_written_with_all_that_is_not_zero(tmp_path):
    disk = bytearray(3 * 64 * 1024 + SECTOR)
    disk[70_000] = 1
    disk[-1] = 2
    disks.write_sparse(disk, tmp_path / "disk")
    assert (tmp_path / "disk").read_bytes() == bytes(disk)


def attached_or_skip(kind, path, mount_point):
    """A disk on this host, where that is possible."""
    disks.make(kind, path)
    try:
        with host_disks.attached(kind, path, mount_point):
            pass
    except host_disks.Refused as reason:
        pytest.skip(f"this host attaches no disks: {reason}")
    return host_disks.attached(kind, path, mount_point)


def is_released(path, mount_point):
    return not host_disks.loops_of(path) and not os.path.ismount(mount_point)


def test_partitions_are_attached_where_the_disk_has_them(tmp_path):
    path, mount_point = tmp_path / "disk", tmp_path / "mounted"
    with attached_or_skip("raw2", path, mount_point) as attached:
        assert len(attached.tiers) == 2
        for number, device in enumerate([*attached.tiers, attached.marks]):
            pathlib.Path(device).write_bytes(b"%d" % number * SECTOR)
    assert is_released(path, mount_point)
    content = path.read_bytes()
    for number, start in enumerate(disks.partition_starts("raw2")):
        assert content[start : start + SECTOR] == b"%d" % number * SECTOR
        assert content[start + SECTOR : start + 2 * SECTOR] == bytes(SECTOR)


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_a_file_system_is_mounted_and_released_when_the_check_fails(tmp_path, kind):
    path, mount_point = tmp_path / "disk", tmp_path / "mounted"
    with pytest.raises(RuntimeError):
        with attached_or_skip(kind, path, mount_point) as attached:
            assert attached.tiers[0].startswith(str(mount_point))
            (mount_point / "left").write_text("by the check")
            raise RuntimeError
    assert is_released(path, mount_point)
    with host_disks.attached(kind, path, mount_point):
        assert (mount_point / "left").read_text() == "by the check"


def test_a_file_system_that_cannot_be_mounted_is_refused_and_released(tmp_path):
    path, mount_point = tmp_path / "disk", tmp_path / "mounted"
    whole = attached_or_skip("ext4", path, mount_point)
    with open(path, "r+b") as disk:
        disk.seek(disks.partition_starts("ext4")[0])
        disk.write(bytes(disks.MEGABYTE))
    with pytest.raises(host_disks.Refused, match="mount"):
        with whole:
            pass
    assert is_released(path, mount_point)


def test_an_interrupted_check_releases_its_disk(tmp_path):
    path, mount_point = tmp_path / "disk", tmp_path / "mounted"
    attached_or_skip("ext4", path, mount_point)
    program = (
        "import host_disks, pathlib, signal, sys, time\n"
        # A shell has what it starts in the background ignore this signal.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "with host_disks.attached('ext4', *map(pathlib.Path, sys.argv[1:])):\n"
        "    print('attached', flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program, path, mount_point]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "cwd": POWER_LOSS}
    with subprocess.Popen(command, **options) as checking_process:
        assert checking_process.stdout.readline() == b"attached\n"
        assert not is_released(path, mount_point)
        checking_process.send_signal(signal.SIGINT)
        assert checking_process.wait(30) != 0
    assert is_released(path, mount_point)


# A server that counts its starts on its device, and a witness that says what the test wants.
SERVER = """#!/bin/sh
for argument; do
    case $argument in
        --port-file=*) port_file=${argument#*=} ;;
        --ssd=*) device=${argument#*=} ;;
    esac
done
echo start >>"$device"
trap 'exit STATUS' TERM
echo 1 >"$port_file"
while :; do sleep 0.01; done
"""
WITNESS = '#!/bin/sh\necho "SAYS"\n[ "SAYS" != FAILED ]\n'


class HostCheck:
    """A checker with such programs, its disk a plain file."""

    def __init__(self, folder, monkeypatch, says="7 items right after 9", status=0):
        for name, text in (("farcached", SERVER), ("farcache-power-witness", WITNESS)):
            text = text.replace("SAYS", says).replace("STATUS", str(status))
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        self.starts = []
        monkeypatch.setattr(host_disks, "attached", self.attached)
        self.checker = host_check.HostChecker(folder, folder, "raw", "sync")
        self.cut = checking.Cut(3, 8, bytearray(b"disk\n"), folder / "kept")

    @contextlib.contextmanager
    def attached(self, _kind, path, _mount_point):
        yield host_disks.Attached([path], path)
        lines = path.read_text().splitlines()
        assert lines[0] == "disk"
        self.starts.append(len(lines) - 1)

    def told(self):
        return list(self.checker.check([self.cut, self.cut]))


def test_each_disk_is_started_and_read_twice(tmp_path, monkeypatch):
    check = HostCheck(tmp_path, monkeypatch)
    told = check.told()
    assert check.starts == [2, 2]
    assert [checking.items_right(text) for text in told] == [14, 14]
    assert not check.cut.path.exists()


@pytest.mark.parametrize("failing", [{"says": "FAILED"}, {"status": 3}])
def test_a_violation_keeps_the_disk_as_it_was_before_the_check(tmp_path, monkeypatch, failing):
    check = HostCheck(tmp_path, monkeypatch, **failing)
    with pytest.raises(checking.Violation, match="life 3, after 8 writes"):
        check.told()
    assert check.cut.path.read_bytes() == b"disk\n"


def test_a_disk_without_a_mark_counts_as_nothing_to_compare():
    assert not checking.is_comparable("no mark: nothing to compare with")
    assert checking.is_comparable("0 items right after 9 acknowledged operations")


def test_a_life_is_cut_at_rising_moments_and_the_next_goes_on_with_one_of_them(tmp_path):
    arguments = types.SimpleNamespace(seed=1, durability="sync")
    lives = rounds.Rounds(None, tmp_path, "raw", arguments)
    entries = [write(2048 + number, b"w") for number in range(20)]
    cuts = list(lives._cuts(entries, 3))
    moments = [cut.moment for cut in cuts]
    assert moments == sorted(set(moments)) and moments[-1] == len(entries) and len(moments) == 3
    assert lives.base.read_bytes() in [bytes(cut.disk) for cut in cuts]
