"""The Debian packages: complete, without errors for lintian, and installed, upgraded and purged in a clean system."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(REPOSITORY / "tests/clients"), str(REPOSITORY / "tests/install")]

import servers  # noqa: E402 (found beside the other clients' tests)
from asking import ask  # noqa: E402 (found beside this file)

NAMES = ["farcache-libmemcached", "farcache-tools", "farcached", "libfarcache-dev", "libfarcache1"]
# What purging may leave behind: what the package manager and the C library note, not we.
NOT_OURS = re.compile(r"^/(var/(lib/(dpkg|apt|systemd)|cache|log)|tmp|run|proc|sys|dev|etc/(ld\.so\.cache|(passwd|group|shadow|gshadow|subuid|subgid)-?$)|root)")


def made_newer(path, folder):
    """The same package with the next version."""
    tree = folder / path.stem
    subprocess.run(["dpkg-deb", "--raw-extract", path, tree], check=True)
    control = tree / "DEBIAN/control"
    version = re.search(r"^Version: (.*)$", control.read_text(), re.M)[1]
    control.write_text(control.read_text().replace(version, f"{version}+1"))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", tree, folder], check=True, capture_output=True)
    return folder / path.name.replace(version, f"{version}+1")


def test_there_is_a_package_for_each_use(made):
    assert [path.name.split("_")[0] for path in made] == NAMES


def test_lintian_finds_no_error(made):
    command = ["lintian", "--fail-on", "error", "--tag-display-limit", "0", "--allow-root", *made]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_the_packaging_tools_it_says_what_to_install(tmp_path):
    bare = tmp_path / "bin"
    bare.mkdir()
    for tool in ("sh", "dirname"):
        (bare / tool).symlink_to(shutil.which(tool))
    done = subprocess.run(
        [REPOSITORY / "scripts/packages", tmp_path / "out"], env={"PATH": str(bare)}, capture_output=True, text=True
    )
    assert done.returncode == 1 and "install the package debhelper" in done.stderr


class System:
    """A Debian of its own in a folder."""

    def __init__(self, root, bare_debian):
        self.root = root
        subprocess.run(["cp", "--archive", bare_debian, root], check=True)
        # Nothing is to be started by packages: there is no init.
        policy = root / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)

    def run(self, *command):
        """Runs a command in it; what it says."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            ["chroot", self.root, *command], env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def install(self, made):
        """Installs packages as a user would who has downloaded them."""
        folder = self.root / "tmp/packages"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path in made:
            shutil.copy(path, folder)
        inside = [f"/tmp/packages/{path.name}" for path in made]
        self.run("apt-get", "install", "--yes", "--no-install-recommends", *inside)

    def files(self):
        """Everything in it, but for what package managers note."""
        found = (str(path)[len(str(self.root)) :] for path in self.root.rglob("*") if not path.is_dir())
        return {path for path in found if not NOT_OURS.match(path)}


@pytest.fixture(scope="module")
def system(bare_debian, tmp_path_factory):
    root = tmp_path_factory.mktemp("system") / "root"
    yield System(root, bare_debian)
    shutil.rmtree(root, ignore_errors=True)


def test_a_clean_system_serves_is_upgraded_and_is_as_before_after_a_purge(system, made, tmp_path):
    before = system.files()
    # What our packages depend on stays: it is not ours to remove.
    system.run("apt-get", "update")
    system.run("apt-get", "install", "--yes", "--no-install-recommends", "systemd-standalone-sysusers", "libsasl2-2", "libmemcached11")
    with_needs = system.files()
    assert with_needs > before
    system.install(made)
    assert system.run("farcached", "--version").startswith("farcached ")
    account = system.run("getent", "passwd", "farcached")
    assert "/var/lib/farcached" in account

    port = servers.free_port()
    command = ["chroot", system.root, "farcached", "-u", "farcached", "-l", "127.0.0.1", "-p", str(port), "-m", "64"]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        assert ask(port, b"set k 0 0 5\r\nvalue\r\n", b"\r\n") == b"STORED\r\n"
        system.run("farcache-run", "memget", f"--servers=127.0.0.1:{port}", "--iterations=100", "--keys=10")
        assert b"STAT get_hits 1" in ask(port, b"stats\r\n", b"END\r\n")
        # An upgrade leaves what runs alone, and what the operator has set.
        settings = system.root / "etc/default/farcached"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text("FARCACHED_OPTIONS=--memory-limit=128\n")
        system.install([made_newer(path, tmp_path) for path in made])
        assert system.run("dpkg-query", "--show", "--showformat=${Version}", "farcached").endswith("+1")
        assert ask(port, b"get k\r\n", b"END\r\n") == b"VALUE k 0 5\r\nvalue\r\nEND\r\n"
        assert "128" in settings.read_text()
    finally:
        server.terminate()
        assert server.wait(timeout=servers.PATIENCE_SECONDS) == 0
    settings.unlink()

    system.run("apt-get", "purge", "--yes", *NAMES)
    assert system.files() - with_needs == set()
    assert with_needs - system.files() == set()
