"""The virtual machine: starting it, cutting its power, reading what it says."""

import pathlib
import subprocess
import time

import checking

# An emulated machine on a busy host is slow.
BOOT_SECONDS_MAX = 900
CHECK_SECONDS_PER_DISK_MAX = 300
MEMORY_MEGABYTES = 768
STATUS_SKIPPED = 77


class GuestFailed(Exception):
    """The machine did not do what it should, apart from the server."""


def server_settings(kind, durability):
    """What guest.sh needs to know to start the server."""
    options = ",".join((*checking.SERVER_OPTIONS, f"--durability={durability}"))
    tier = checking.TIER_FILE_SIZE
    starts = checking.STARTS_PER_DISK
    return {"kind": kind, "durability": durability, "options": options, "tier": tier, "starts": starts}


class Machine:
    """Kernel and initramfs; each start is a process of its own."""

    def __init__(self, repository, folder, programs):
        self.folder = pathlib.Path(folder)
        command = [repository / "tests/power-loss/prepare", folder, *programs]
        prepared = subprocess.run(command, cwd=repository, stdout=subprocess.PIPE, text=True)
        if prepared.returncode == STATUS_SKIPPED:
            print(prepared.stdout, end="")
            raise SystemExit(STATUS_SKIPPED)
        prepared.check_returncode()
        self.kernel = prepared.stdout.strip().splitlines()[-1]

    def start(self, disks, log=None, **arguments):
        """Starts it; the first disk's writes go into the log where one is named."""
        return Run(self, disks, log, arguments)


class Run:
    """The machine while it runs. As a context it ends with its process."""

    def __init__(self, machine, disks, log, arguments):
        self.folder = machine.folder
        for name in ("console", "output", "progress"):
            (self.folder / name).write_text("")
        settings = " ".join(f"guest.{name}={value}" for name, value in arguments.items())
        command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2"]
        command += ["-m", str(MEMORY_MEGABYTES), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        command += ["-kernel", machine.kernel, "-initrd", str(self.folder / "initramfs")]
        command += ["-append", f"console=ttyS0 panic=-1 no_timer_check {settings}"]
        for name in ("console", "output", "progress"):
            command += ["-chardev", f"file,id={name},path={self.folder / name}", "-serial", f"chardev:{name}"]
        for number, disk in enumerate(disks):
            command += disk_options(number, disk, log if number == 0 else None)
        with open(self.folder / "qemu", "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=errors)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cut()

    def cut(self):
        """Cuts the power."""
        self.process.kill()
        self.process.wait()

    def output(self):
        return (self.folder / "output").read_text(errors="replace").replace("\r", "")

    def wait_for(self, condition, seconds):
        """Whether the condition came true before the machine ended."""
        deadline = time.monotonic() + seconds
        while not condition():
            if self.process.poll() is not None:
                return condition()
            if time.monotonic() > deadline:
                raise GuestFailed(f"the machine did not get on within {seconds} s:\n{self.last_lines()}")
            time.sleep(0.05)
        return True

    def last_lines(self):
        parts = []
        for name in ("qemu", "console", "output"):
            lines = (self.folder / name).read_text(errors="replace").replace("\r", "").splitlines()[-15:]
            parts += [f"--- {name}:", *lines]
        return "\n".join(parts)


def disk_options(number, path, log):
    """QEMU's options for a disk with a volatile cache."""
    options = ["-blockdev", f"driver=file,filename={path},node-name=file{number},cache.direct=off"]
    node = f"file{number}"
    if log:
        pathlib.Path(log).write_bytes(b"")
        options += ["-blockdev", f"driver=file,filename={log},node-name=log{number}"]
        options += ["-blockdev", f"driver=blklogwrites,file={node},log=log{number},node-name=logged{number}"]
        node = f"logged{number}"
    return options + ["-device", f"virtio-blk-pci,drive={node},write-cache=on"]
