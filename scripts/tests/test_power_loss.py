"""Disks after a cut: what was flushed is there, of the rest any part, and never anything else."""

import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/power-loss"))

import disks  # noqa: E402

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


def test_disks_are_written_with_all_that_is_not_zero(tmp_path):
    disk = bytearray(3 * 64 * 1024 + SECTOR)
    disk[70_000] = 1
    disk[-1] = 2
    disks.write_sparse(disk, tmp_path / "disk")
    assert (tmp_path / "disk").read_bytes() == bytes(disk)
