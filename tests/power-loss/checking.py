"""What both ways of checking a disk share: on the host, and in a virtual machine."""

import dataclasses
import pathlib
import re

import disks

# The server under load and the server of the check.
SERVER_OPTIONS = (
    "--listen=127.0.0.1",
    "--memory-limit=24",
    "--threads=2",
    "--disable-evictions",
    "--fabric=off",
    "--user=root",
)
# Bytes of the tier's file where it lies in a file system, as the server's options have them.
TIER_FILE_SIZE = "64m"
# Each disk is checked twice: what recovery itself writes must be right, too.
STARTS_PER_DISK = 2


class Violation(Exception):
    """The server has lost something, or shows what must not be there."""


@dataclasses.dataclass
class Cut:
    """A disk as a power loss has left it."""

    life: int
    # How many entries of the log came before the cut.
    moment: int
    disk: bytearray
    # Where it is written to.
    path: pathlib.Path

    def write(self):
        disks.write_sparse(self.disk, self.path)

    def violation(self, told):
        """Keeps the disk as it was before the check."""
        self.write()
        text = f"life {self.life}, after {self.moment} writes, disk kept as {self.path}:\n{told}"
        return Violation(text)


def items_right(told):
    """How many values were right, from what the witness has told about disks."""
    return sum(map(int, re.findall(r"(\d+) items right after", told)))


def is_comparable(told):
    """Whether every key had been stored at the moment of the cut."""
    return "items right after" in told
