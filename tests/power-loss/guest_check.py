"""Checks disks in a virtual machine: slow, but it needs no rights on the host."""

import itertools
import re

import checking
import machine

# A disk is an adapter on the machine's bus, which has room for 32.
DISKS_PER_START = 16


class GuestChecker:
    """Starts a machine for every few disks."""

    name = "guest"
    cuts_per_life = DISKS_PER_START

    def __init__(self, guest, kind, durability):
        self.guest, self.kind, self.durability = guest, kind, durability

    def check(self, cuts):
        """Yields what the witness tells about each disk; raises at the first violation."""
        cuts = iter(cuts)
        while batch := list(itertools.islice(cuts, DISKS_PER_START)):
            yield from self._check_batch(batch)

    def _check_batch(self, cuts):
        for cut in cuts:
            cut.write()
        output = self._run([cut.path for cut in cuts])
        statuses = re.findall(r"^status (\d+)$", output, re.M)
        if len(statuses) != len(cuts):
            text = f"{len(statuses)} of {len(cuts)} disks were checked:\n{output}"
            raise machine.GuestFailed(text)
        parts = re.split(r"^status \d+$", output, flags=re.M)
        for cut, status, told in zip(cuts, statuses, parts):
            if status != "0":
                raise cut.violation(told)
            cut.path.unlink()
            yield told

    def _run(self, paths):
        seconds = machine.BOOT_SECONDS_MAX + machine.CHECK_SECONDS_PER_DISK_MAX * len(paths)
        settings = machine.server_settings(self.kind, self.durability)
        with self.guest.start(paths, action="check", **settings) as running:
            progress = running.folder / "progress"
            running.wait_for(lambda: "exit" in progress.read_text(), seconds)
            return running.output()
