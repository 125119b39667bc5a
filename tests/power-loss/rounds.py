"""Lives of the machine, the cuts of each, and their checks."""

import argparse
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import time

import disks
import machine

# A disk is an adapter on the machine's bus, which has room for 32.
DISKS_PER_CHECK = 16


class Violation(Exception):
    """The server has lost something, or shows what must not be there."""


class Rounds:
    """All lives on one kind of disk."""

    def __init__(self, guest, folder, kind, arguments):
        self.guest, self.folder, self.kind, self.arguments = guest, folder, kind, arguments
        self.random = random.Random(f"{arguments.seed} {kind} {arguments.durability}")
        self.life = 0
        self.items = 0
        self.operations = 0
        self.base = folder / f"{kind}.base"
        disks.make(kind, self.base)

    def live_and_check(self, cuts):
        """One life, and so many cuts of it (or as many as its log has moments)."""
        self.life += 1
        entries = self._live()
        mark_start = disks.partition_starts(self.kind)[2]
        replay = disks.Replay(self.base, entries, mark_start, self.random)
        moments = sorted(self.random.sample(range(len(entries) + 1), min(cuts - 1, len(entries))))
        moments.append(len(entries))
        images = []
        for number, moment in enumerate(moments):
            image = self.folder / f"{self.kind}.cut{number}"
            disks.write_sparse(replay.cut_at(moment), image)
            images.append(image)
        following = self.random.choice(images)
        shutil.copyfile(following, self.base)
        for first in range(0, len(images), DISKS_PER_CHECK):
            self._check(images[first : first + DISKS_PER_CHECK], moments[first : first + DISKS_PER_CHECK])
        for image in images:
            image.unlink()
        return len(images)

    def _live(self):
        """Runs the load until a moment by chance, which may come before it has begun."""
        disk, log = self.folder / f"{self.kind}.life", self.folder / f"{self.kind}.log"
        shutil.copyfile(self.base, disk)
        seed = self.random.getrandbits(62)
        running = self.guest.start(
            [disk], log, action="load", kind=self.kind, durability=self.arguments.durability, life=self.life, seed=seed
        )
        with running:
            # Most lives are cut under load, some while the server recovers or stores the first items.
            wanted = self.random.choices(("marked", "loading", ""), weights=(8, 1, 1))[0]
            has_come = running.wait_for(lambda: self._has_told(running, wanted), machine.BOOT_SECONDS_MAX)
            if not has_come or "FAILED" in running.output():
                raise Violation(f"life {self.life}: {running.output()}")
            # The moment of the cut: there is nothing to wait for.
            time.sleep(self.random.uniform(0.2, self.arguments.load_seconds))
            running.cut()
            if "FAILED" in running.output():
                raise Violation(f"life {self.life}: {running.output()}")
        entries = disks.read_log(log)
        disk.unlink()
        log.unlink()
        return entries

    @staticmethod
    def _has_told(running, wanted):
        """Whether the machine has come so far, or cannot come any further."""
        has_started = "ready" in (running.folder / "progress").read_text()
        return has_started and (wanted in running.output() or "FAILED" in running.output())

    def _check(self, images, moments):
        copies = [pathlib.Path(f"{image}.checked") for image in images]
        for image, copy in zip(images, copies):
            shutil.copyfile(image, copy)
        seconds = machine.BOOT_SECONDS_MAX + machine.CHECK_SECONDS_PER_DISK_MAX * len(images)
        arguments = self.arguments
        with self.guest.start(copies, action="check", kind=self.kind, durability=arguments.durability) as running:
            progress = self.folder / "progress"
            running.wait_for(lambda: "exit" in progress.read_text(), seconds)
            output = running.output()
        statuses = re.findall(r"^status (\d+)$", output, re.M)
        if len(statuses) != len(images):
            raise machine.GuestFailed(f"{len(statuses)} of {len(images)} disks were checked:\n{running.last_lines()}")
        for image, moment, status, told in zip(images, moments, statuses, re.split(r"^status \d+$", output, flags=re.M)):
            if status != "0":
                raise Violation(f"life {self.life}, after {moment} writes, disk kept as {image}:{told}")
        for found, operations in re.findall(r"(\d+) items right after (\d+) acknowledged", output):
            self.items += int(found)
            self.operations = max(self.operations, int(operations))
        for copy in copies:
            copy.unlink()


def run_kind(guest, folder, kind, arguments, cuts):
    """Makes so many cuts on one kind of disk."""
    rounds, done, start = Rounds(guest, folder, kind, arguments), 0, time.monotonic()
    while done < cuts:
        done += rounds.live_and_check(min(arguments.cuts_per_life, cuts - done))
        seconds = time.monotonic() - start
        print(
            f"power-loss: {kind}, {arguments.durability}: {done} cuts in {rounds.life} lives,"
            f" {rounds.items} items right, {seconds:.0f} s",
            flush=True,
        )


def build(repository):
    """Builds the programs for the machine and says where they are."""
    command = ["cargo", "build", "--quiet", "-p", "farcache-server", "-p", "farcache-power-witness"]
    command += ["--bin", "farcached", "--bin", "farcache-power-witness"]
    subprocess.run(command, cwd=repository, check=True)
    return repository / "target/debug"


def parse(text):
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=100, help="for each kind")
    parser.add_argument("--kinds", default="raw,raw2,ext4,xfs")
    parser.add_argument("--durability", choices=["sync", "writeback"], default="sync")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cuts-per-life", type=int, default=16)
    parser.add_argument("--load-seconds", type=float, default=6, help="longest time under load in one life")
    parser.add_argument("--directory", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true", help="leave the folder there in any case")
    parser.add_argument("--programs", type=pathlib.Path, help="folder of farcached and farcache-power-witness, built already")
    arguments = parser.parse_args()
    arguments.kinds = arguments.kinds.split(",")
    unknown = set(arguments.kinds) - set(disks.PARTITIONS)
    if unknown:
        parser.error(f"unknown kinds {', '.join(sorted(unknown))}; there are {', '.join(disks.PARTITIONS)}")
    return arguments


def main(repository, text):
    arguments = parse(text)
    built = arguments.programs or build(repository)
    folder = arguments.directory or pathlib.Path(tempfile.mkdtemp(prefix="power-loss-"))
    folder.mkdir(exist_ok=True)
    programs = [built / "farcached", f"{built / 'farcache-power-witness'}:witness"]
    guest = machine.Machine(repository, folder, programs)
    try:
        for kind in arguments.kinds:
            run_kind(guest, folder, kind, arguments, arguments.cuts)
    except Violation as violation:
        print(f"power-loss: VIOLATION (seed {arguments.seed}): {violation}")
        return 1
    except machine.GuestFailed as failure:
        print(f"power-loss: the machine failed: {failure}")
        return 1
    if not arguments.keep:
        shutil.rmtree(folder)
    return 0
