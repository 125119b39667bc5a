"""Checks disks on the host: the server runs on loop devices or in file systems that the host mounts."""

import shutil
import signal
import subprocess
import time

import checking
import disks
import host_disks

SERVER_SECONDS_MAX = 120
WITNESS_SECONDS_MAX = 300
WAIT_SECONDS = 0.005
LOG_LINES_SHOWN = 30


class CheckFailed(Exception):
    """What is wrong with a disk."""


class HostChecker:
    """Checks one disk after the other."""

    name = "host"
    cuts_per_life = 48

    def __init__(self, folder, programs, kind, durability):
        self.folder, self.programs, self.kind, self.durability = folder, programs, kind, durability
        self.disk = folder / f"{kind}.checked"
        self.mount_point = folder / f"{kind}.mounted"

    def reason_against(self, base):
        """Why this kind of disk cannot be checked here; none if it can."""
        shutil.copyfile(base, self.disk)
        try:
            with host_disks.attached(self.kind, self.disk, self.mount_point):
                return None
        except host_disks.Refused as reason:
            return str(reason)
        finally:
            self.disk.unlink()

    def check(self, cuts):
        """Yields what the witness tells about each disk; raises at the first violation."""
        for cut in cuts:
            try:
                yield self._check(cut)
            except CheckFailed as failure:
                raise cut.violation(failure) from failure

    def _check(self, cut):
        disks.write_sparse(cut.disk, self.disk)
        try:
            with host_disks.attached(self.kind, self.disk, self.mount_point) as attached:
                starts = range(checking.STARTS_PER_DISK)
                return "".join(self._start_and_read(attached) for _ in starts)
        except host_disks.Refused as refused:
            raise CheckFailed(f"FAILED: {refused}") from refused
        finally:
            self.disk.unlink()

    def _start_and_read(self, attached):
        with Server(self.folder, self.programs, attached.tiers, self.durability) as server:
            told = self._read(server, attached.marks)
            server.stop()
        return told

    def _read(self, server, marks):
        command = [self.programs / "farcache-power-witness", "--address", server.address()]
        command += ["--marks", marks, "check"]
        if self.durability == "sync":
            command.append("--strict")
        options = {"stdout": subprocess.PIPE, "text": True, "timeout": WITNESS_SECONDS_MAX}
        witness = subprocess.run(command, **options)
        if witness.returncode != 0:
            raise CheckFailed(witness.stdout + server.last_lines())
        return witness.stdout


class Server:
    """A server on these devices. As a context it ends with its process."""

    def __init__(self, folder, programs, tiers, durability):
        self.log, self.port_file = folder / "server.log", folder / "port"
        command = [programs / "farcached", *checking.SERVER_OPTIONS, "--port=-1"]
        command += [f"--durability={durability}", f"--port-file={self.port_file}"]
        self.command = command + [f"--ssd={tier}" for tier in tiers]

    def __enter__(self):
        self.port_file.unlink(missing_ok=True)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stderr=log)
        try:
            self._wait_until_ready()
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(self, *_):
        self._kill()

    def _kill(self):
        self.process.kill()
        self.process.wait()

    def _wait_until_ready(self):
        deadline = time.monotonic() + SERVER_SECONDS_MAX
        while not (self.port_file.exists() and self.port_file.read_text()):
            if self.process.poll() is not None:
                raise CheckFailed(f"FAILED: the server did not start\n{self.last_lines()}")
            if time.monotonic() > deadline:
                raise CheckFailed(f"FAILED: the server does not get ready\n{self.last_lines()}")
            time.sleep(WAIT_SECONDS)

    def address(self):
        return f"127.0.0.1:{self.port_file.read_text().strip()}"

    def stop(self):
        """Stops it in an orderly way."""
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(SERVER_SECONDS_MAX)
        except subprocess.TimeoutExpired as expired:
            text = f"FAILED: the server does not end\n{self.last_lines()}"
            raise CheckFailed(text) from expired
        if status != 0:
            text = f"FAILED: the server ended with status {status}\n{self.last_lines()}"
            raise CheckFailed(text)

    def last_lines(self):
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-LOG_LINES_SHOWN:])
