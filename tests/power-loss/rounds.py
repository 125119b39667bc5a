"""Lives of the machine, the cuts of each, and their checks."""

import argparse
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

import checking
import disks
import guest_check
import host_check
import machine
import programs

# A folder in memory is used where it has room for a disk, its log and what is made of them.
MEMORY_FOLDER = pathlib.Path("/dev/shm")
MEMORY_BYTES_MIN = 4 << 30


class Rounds:
    """All lives on one kind of disk."""

    def __init__(self, guest, folder, kind, arguments):
        self.guest, self.folder, self.kind, self.arguments = guest, folder, kind, arguments
        self.random = random.Random(f"{arguments.seed} {kind} {arguments.durability}")
        self.life = 0
        # Cuts, those of them with something to compare, and values that were right.
        self.cuts = self.compared = self.items = 0
        self.check_seconds = 0
        self.base = folder / f"{kind}.base"
        disks.make(kind, self.base)

    def live_and_check(self, checker, cuts):
        """One life, and so many cuts of it (or as many as its log has moments)."""
        self.life += 1
        entries = self._live()
        start = time.monotonic()
        for told in checker.check(self._cuts(entries, cuts)):
            self.cuts += 1
            self.compared += checking.is_comparable(told)
            self.items += checking.items_right(told)
        self.check_seconds += time.monotonic() - start

    def _cuts(self, entries, cuts):
        """Disks at moments by chance and at the end; the next life goes on with one of them."""
        mark_start = disks.partition_starts(self.kind)[disks.MARK_PARTITION]
        replay = disks.Replay(self.base, entries, mark_start, self.random)
        chosen = self.random.sample(range(len(entries) + 1), min(cuts - 1, len(entries)))
        moments = [*sorted(chosen), len(entries)]
        following = self.random.randrange(len(moments))
        for number, moment in enumerate(moments):
            disk = replay.cut_at(moment)
            if number == following:
                disks.write_sparse(disk, self.base)
            path = self.folder / f"{self.kind}.life{self.life}.cut{number}"
            yield checking.Cut(self.life, moment, disk, path)

    def _live(self):
        """Runs the load until a moment by chance, which may come before it has begun."""
        disk, log = self.folder / f"{self.kind}.life", self.folder / f"{self.kind}.log"
        shutil.copyfile(self.base, disk)
        settings = machine.server_settings(self.kind, self.arguments.durability)
        settings.update(life=self.life, seed=self.random.getrandbits(62))
        with self.guest.start([disk], log, action="load", **settings) as running:
            # Most lives are cut under load, some while the server recovers or stores the first
            # items.
            wanted = self.random.choices(("marked", "loading", ""), weights=(8, 1, 1))[0]
            has_come = running.wait_for(
                lambda: self._has_told(running, wanted), machine.BOOT_SECONDS_MAX
            )
            if not has_come or "FAILED" in running.output():
                raise checking.Violation(f"life {self.life}: {running.output()}")
            # The moment of the cut: there is nothing to wait for.
            time.sleep(self.random.uniform(0.2, self.arguments.load_seconds))
            running.cut()
            if "FAILED" in running.output():
                raise checking.Violation(f"life {self.life}: {running.output()}")
        entries = disks.read_log(log)
        disk.unlink()
        log.unlink()
        return entries

    @staticmethod
    def _has_told(running, wanted):
        """Whether the machine has come so far, or cannot come any further."""
        has_started = "ready" in (running.folder / "progress").read_text()
        return has_started and (wanted in running.output() or "FAILED" in running.output())


class Session:
    """What all kinds of one call share."""

    def __init__(self, repository, folder, arguments):
        self.arguments, self.folder = arguments, folder
        self.built = arguments.programs or programs.build(repository)
        witness = f"{self.built / 'farcache-power-witness'}:witness"
        self.guest = machine.Machine(repository, self.folder, [self.built / "farcached", witness])

    def run_kind(self, kind):
        """Makes the cuts on one kind of disk."""
        arguments = self.arguments
        rounds = Rounds(self.guest, self.folder, kind, arguments)
        checker, reason = self._checker(kind, rounds.base)
        tell(f"{kind}: disks are checked on the {checker.name}{reason}")
        per_life = arguments.cuts_per_life or checker.cuts_per_life
        start = time.monotonic()
        while rounds.cuts < arguments.cuts:
            rounds.live_and_check(checker, min(per_life, arguments.cuts - rounds.cuts))
            seconds = time.monotonic() - start
            tell(
                f"{kind}, {arguments.durability}: {rounds.cuts} cuts in lives: {rounds.life},"
                f" {rounds.compared} with items to compare, {rounds.items} items right,"
                f" {seconds:.0f} s, {rounds.check_seconds:.0f} of them for the checks"
            )

    def _checker(self, kind, base):
        """How disks are checked, and why not on the host."""
        durability = self.arguments.durability
        on_host = host_check.HostChecker(self.folder, self.built, kind, durability)
        in_guest = guest_check.GuestChecker(self.guest, kind, durability)
        if self.arguments.check == "guest":
            return in_guest, ""
        reason = on_host.reason_against(base)
        if not reason:
            return on_host, ""
        if self.arguments.check == "host":
            print(f"SKIPPED: power-loss: disks cannot be checked on this host: {reason}")
            raise SystemExit(machine.STATUS_SKIPPED)
        return in_guest, f", since here {reason}"


def tell(text):
    print(f"power-loss: {text}", flush=True)


def new_folder():
    """A new folder, in memory where it has room."""
    parent = None
    if MEMORY_FOLDER.is_dir() and shutil.disk_usage(MEMORY_FOLDER).free >= MEMORY_BYTES_MIN:
        parent = MEMORY_FOLDER
    return pathlib.Path(tempfile.mkdtemp(prefix="power-loss-", dir=parent))


def parse(text):
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=text, formatter_class=raw)
    add = parser.add_argument
    add("--cuts", type=int, default=100, help="for each kind")
    add("--kinds", default="raw,raw2,ext4,xfs")
    add("--durability", choices=["sync", "writeback"], default="sync")
    add("--seed", type=int, default=1)
    add("--check", choices=["host", "guest"], help="where disks are checked; by default on the"
        " host where it can attach and mount them")
    add("--cuts-per-life", type=int, help="48 where they are checked on the host, else 16")
    add("--load-seconds", type=float, default=6, help="longest time under load in one life")
    add("--directory", type=pathlib.Path, help="for disks; else a new folder, in memory where"
        " there is room")
    add("--keep", action="store_true", help="leave the folder there in any case")
    add("--programs", type=pathlib.Path,
        help="folder of farcached and farcache-power-witness, built already")
    arguments = parser.parse_args()
    arguments.kinds = arguments.kinds.split(",")
    unknown = set(arguments.kinds) - set(disks.PARTITIONS)
    if unknown:
        known = ", ".join(disks.PARTITIONS)
        parser.error(f"unknown kinds {', '.join(sorted(unknown))}; there are {known}")
    return arguments


def main(repository, text):
    arguments = parse(text)
    # The same way out as with ^C: nothing stays mounted, no machine goes on.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    folder = arguments.directory or new_folder()
    # What somebody else has made is not removed.
    is_kept = arguments.keep or arguments.directory is not None and folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        session = Session(repository, folder, arguments)
        for kind in arguments.kinds:
            session.run_kind(kind)
    except checking.Violation as violation:
        tell(f"VIOLATION (seed {arguments.seed}): {violation}")
        is_kept = True
        return 1
    except machine.GuestFailed as failure:
        tell(f"the machine failed: {failure}")
        is_kept = True
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        if not is_kept:
            shutil.rmtree(folder)
    return 0
