#!/usr/bin/env python3
"""Runs the blocks of one page: run_page.py PAGE FOLDER, inside of namespaces of its own (unshare --net --mount).

The network has nothing but its loopback device, so that the ports which pages name are free. What is put below /usr/local, into
/etc and into /dev/shm is gone at the end. FOLDER/results.json has how each block ended.
"""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parent))

import blocks  # noqa: E402 (found beside this file)
import lookup  # noqa: E402 (found beside this file)

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
PYTHON = REPOSITORY / ".cache/clients/bin/python"
BLOCK_SECONDS_MAX = 1500
SERVER_SECONDS_MAX = 60
ADDRESS = "127.0.0.1:11211"


def prepare(folder):
    """Makes the namespaces usable; returns the environment of the blocks."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for name in ("home", "upper", "work", "bin", "scratch"):
        (folder / name).mkdir()
    layers = f"lowerdir=/usr/local,upperdir={folder}/upper,workdir={folder}/work"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, "/usr/local"], check=True)
    subprocess.run(["cp", "-a", "/etc", folder / "etc"], check=True)
    subprocess.run(["mount", "--bind", folder / "etc", "/etc"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], check=True)
    home = os.environ["HOME"]
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).resolve()
    for name in ("make", "cargo"):
        shim(folder / "bin" / name, f'cd {REPOSITORY} && exec {shutil.which(name)} "$@"')
    (folder / "scratch/scripts").mkdir()
    for script in (REPOSITORY / "scripts").iterdir():
        if script.is_file():
            shim(folder / "scratch/scripts" / script.name, f'cd {REPOSITORY} && exec scripts/{script.name} "$@"')
    shim(folder / "bin/sudo", 'exec "$@"')
    # Root must name a user; what is installed goes before what is built.
    installed = f"[ ! -x /usr/local/bin/farcached ] || exec /usr/local/bin/farcached --user=root \"$@\"\n"
    shim(folder / "bin/farcached", f'{installed}exec {target}/debug/farcached --user=root "$@"')
    return {
        **os.environ,
        "HOME": str(folder / "home"),
        "CARGO_HOME": os.environ.get("CARGO_HOME", f"{home}/.cargo"),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", f"{home}/.rustup"),
        "CARGO_TARGET_DIR": str(target),
        # Where Maven keeps what the tests of the Java client have fetched.
        "MAVEN_REPOSITORY": f"{home}/.m2/repository",
        "REPOSITORY": str(REPOSITORY),
        "CARGO_NET_OFFLINE": "true",
        # What is built for the tests anyway.
        "CARGO_OPTIONS": "",
        "PATH": f"{folder}/bin:{PYTHON.parent}:{os.environ['PATH']}:/sbin:/usr/sbin:{target}/debug:{target}/install-debug/bin:{REPOSITORY}/scripts",
    }


def shim(path, command):
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)


class Page:
    """What the blocks of a page share."""

    def __init__(self, folder, environment):
        self.scratch, self.environment, self.server = folder / "scratch", environment, None
        self.variables = folder / "variables"

    def run(self, block):
        """Runs a block; None, or what is wrong."""
        if block.mark == "skipped":
            return None
        if block.mark == "file":
            (self.scratch / block.about).write_text(block.text)
            return None
        if block.mark == "example":
            text = (REPOSITORY / block.about).read_text()
            return None if block.text in text else f"this is no part of {block.about}"
        if block.mark == "server":
            return self.start(block.text)
        if block.mark == "starts":
            return self.start(block.text, block.about or ADDRESS)
        if block.mark == "dry":
            return lookup.fault(block.text, REPOSITORY, self.environment)
        if block.kind in blocks.FILES:
            return f"{block.kind} needs <!-- docs: file NAME --> or <!-- docs: example PATH -->"
        return getattr(self, f"run_{block.kind}")(block)

    def start(self, command, address=ADDRESS):
        self.stop()
        host, port = address.rsplit(":", 1)
        self.server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=self.scratch, env=self.environment, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + SERVER_SECONDS_MAX
        while time.monotonic() < deadline and self.server.poll() is None:
            try:
                socket.create_connection((host, int(port))).close()
                return None
            except OSError:
                time.sleep(0.01)
        return f"the server does not answer: {command}"

    def stop(self):
        if self.server:
            self.server.terminate()
            self.server.wait()

    def call(self, command):
        """A finished process, with both its streams as one text."""
        return subprocess.run(
            command, cwd=self.scratch, env=self.environment, stdin=subprocess.DEVNULL, text=True, errors="replace",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BLOCK_SECONDS_MAX)

    def shell(self, text):
        """As `call`, in a shell that knows the variables that the blocks before have exported."""
        kept = f"[ ! -e {self.variables} ] || . {self.variables}; trap 'export -p >{self.variables}' EXIT\n"
        return self.call(["bash", "-eu", "-o", "pipefail", "-c", kept + text])

    def run_sh(self, block):
        ended = self.shell(block.text)
        return None if ended.returncode == 0 else f"ended with {ended.returncode}:\n{ended.stdout}"

    def run_python(self, block):
        ended = self.call([PYTHON, "-c", block.text])
        return None if ended.returncode == 0 else f"ended with {ended.returncode}:\n{ended.stdout}"

    def run_console(self, block):
        for command, wanted in blocks.console(block.text):
            said = self.shell(command).stdout.replace("\r", "").splitlines()
            if said != wanted:
                return f"{command}\nsays {said},\nnot  {wanted}"
        return None

    def run_toml(self, block):
        """The dependencies can be had, from this repository in place of the published one."""
        crate = self.scratch / "crate"
        (crate / "src").mkdir(parents=True)
        (crate / "src/main.rs").write_text("fn main() {}\n")
        dependencies = re.sub(r'git = "[^"]*"', f'path = "{REPOSITORY}/crates/client"', block.text)
        header = '[package]\nname = "crate"\nversion = "0.0.0"\nedition = "2024"\n\n'
        (crate / "Cargo.toml").write_text(f"{header}{dependencies}\n[workspace]\n")
        shutil.copy(REPOSITORY / "Cargo.lock", crate)
        ended = self.call(["cargo", "metadata", "--quiet", "--format-version=1", f"--manifest-path={crate}/Cargo.toml"])
        return None if ended.returncode == 0 else ended.stdout

    def run_text(self, block):
        return None


def main():
    page_path, folder = map(pathlib.Path, sys.argv[1:])
    page = Page(folder, prepare(folder))
    results = {}
    try:
        for block in blocks.read(page_path.read_text()):
            try:
                results[block.line] = page.run(block)
            except (OSError, subprocess.SubprocessError) as error:
                results[block.line] = f"{type(error).__name__}: {error}"
    finally:
        page.stop()
        (folder / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main()
