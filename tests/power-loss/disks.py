"""Disks of the virtual machine: making them, and what is on them after a cut."""

import pathlib
import struct
import subprocess

SECTOR_BYTES = 512
MEGABYTE = 1 << 20

# Megabytes of the partitions: the tier or its file system, a second device, the mark.
PARTITIONS = {
    "raw": (64, 1, 1),
    "raw2": (40, 40, 1),
    "ext4": (96, 1, 1),
    "xfs": (96, 1, 1),
}
MARK_PARTITION = 2
# Those that are read and written; the table always has three.
PARTITIONS_USED = {
    "raw": (0, MARK_PARTITION),
    "raw2": (0, 1, MARK_PARTITION),
    "ext4": (0, MARK_PARTITION),
    "xfs": (0, MARK_PARTITION),
}
MAKE_FILE_SYSTEM = {
    "ext4": ["mkfs.ext4", "-q", "-F"],
    # Its usual minimum is 300 MB.
    "xfs": ["mkfs.xfs", "-q", "-f", "--unsupported"],
}

# Flags in the log, as dm-log-writes has them (the kernel's Documentation/admin-guide/device-mapper/log-writes.rst).
FLUSH = 1
FUA = 2
DISCARD = 4
LOG_MAGIC = 0x6A736677736872
# Entries at the log's end whose data may not have reached it when QEMU was killed.
UNFINISHED_ENTRIES = 32


def partition_starts(kind):
    """First byte of each partition."""
    starts, position = [], MEGABYTE
    for megabytes in PARTITIONS[kind]:
        starts.append(position)
        position += megabytes * MEGABYTE
    return starts


def make(kind, path):
    """Makes a disk with its partitions and, where the kind has one, an empty file system."""
    sizes = PARTITIONS[kind]
    with open(path, "wb") as disk:
        disk.truncate((1 + sum(sizes)) * MEGABYTE)
    table = "label: dos\n" + "".join(f"size={size}MiB, type=83\n" for size in sizes)
    subprocess.run(["/sbin/sfdisk", "-q", path], input=table, text=True, check=True)
    if kind in MAKE_FILE_SYSTEM:
        content = pathlib.Path(f"{path}.fs")
        with open(content, "wb") as part:
            part.truncate(sizes[0] * MEGABYTE)
        program, *options = MAKE_FILE_SYSTEM[kind]
        subprocess.run([f"/sbin/{program}", *options, content], check=True)
        copy_into(path, content, partition_starts(kind)[0])
        content.unlink()


def copy_into(disk_path, part_path, start):
    with open(disk_path, "r+b") as disk, open(part_path, "rb") as part:
        disk.seek(start)
        disk.write(part.read())


class Entry:
    """A write, a discard or a flush, as the log has it."""

    __slots__ = ("start", "data", "flags", "length")

    def __init__(self, start, data, flags, length):
        self.start, self.data, self.flags, self.length = start, data, flags, length


def read_log(path):
    """The entries of QEMU's log, in the order in which the guest's requests began."""
    log = pathlib.Path(path).read_bytes()
    if len(log) < SECTOR_BYTES:
        # QEMU was killed before it wrote anything.
        return []
    magic, _version, _count, sector_bytes = struct.unpack_from("<QQQI", log, 0)
    # QEMU writes the first sector at the first flush.
    if magic != 0 and (magic != LOG_MAGIC or sector_bytes != SECTOR_BYTES):
        raise ValueError("this is no log of writes")
    entries, position = [], SECTOR_BYTES
    while position + SECTOR_BYTES <= len(log):
        sector, sectors, flags, _data_bytes = struct.unpack_from("<QQQQ", log, position)
        if flags == 0 and sectors == 0:
            break
        position += SECTOR_BYTES
        length = sectors * SECTOR_BYTES
        data = b""
        if not flags & DISCARD:
            data = log[position : position + length]
            position += length
            if len(data) < length:
                break
        entries.append(Entry(sector * SECTOR_BYTES, data, flags, length))
    return entries[: max(0, len(entries) - UNFINISHED_ENTRIES)]


class Replay:
    """The disk as it is after more and more of the log."""

    def __init__(self, base, entries, mark_start, random):
        self.entries, self.mark_start, self.random = entries, mark_start, random
        self.flushed = bytearray(pathlib.Path(base).read_bytes())
        # Entries up to here are in `flushed`.
        self.position = 0

    def cut_at(self, count):
        """The disk after the first `count` entries and a power loss; counts must rise."""
        last_flush = self._last_flush(count)
        while self.position < last_flush:
            apply(self.flushed, self.entries[self.position])
            self.position += 1
        disk = bytearray(self.flushed)
        for entry in self.entries[self.position : count]:
            is_safe = entry.flags & FUA or entry.start == self.mark_start
            if is_safe:
                apply(disk, entry)
            else:
                self._apply_some(disk, entry)
        return disk

    def _last_flush(self, count):
        """Behind which entry nothing is certain. The flush that ends the log had perhaps not ended."""
        end = count
        if end > self.position and self.entries[end - 1].flags & FLUSH and self.random.random() < 0.5:
            end -= 1
        for number in range(end, self.position, -1):
            if self.entries[number - 1].flags & FLUSH:
                return number
        return self.position

    def _apply_some(self, disk, entry):
        choice = self.random.randrange(4)
        if choice == 0 or entry.flags & DISCARD:
            return
        if choice == 1:
            apply(disk, entry)
            return
        sectors = entry.length // SECTOR_BYTES
        if choice == 2:
            # The first ones only.
            chosen = range(self.random.randint(0, sectors))
        else:
            chosen = [sector for sector in range(sectors) if self.random.random() < 0.5]
        for sector in chosen:
            data = entry.data[sector * SECTOR_BYTES : (sector + 1) * SECTOR_BYTES]
            start = entry.start + sector * SECTOR_BYTES
            disk[start : start + SECTOR_BYTES] = data


def apply(disk, entry):
    """A discard leaves what was there: that is one of the things that a disk may do."""
    if not entry.flags & DISCARD:
        disk[entry.start : entry.start + len(entry.data)] = entry.data


def write_sparse(disk, path):
    """Writes a disk without the parts that are zero."""
    zeros = bytes(64 * 1024)
    view = memoryview(disk)
    with open(path, "wb") as file:
        file.truncate(len(disk))
        for start in range(0, len(disk), len(zeros)):
            part = view[start : start + len(zeros)]
            if part != zeros[: len(part)]:
                file.seek(start)
                file.write(part)
