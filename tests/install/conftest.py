"""What the tests of installing share: the Debian packages, and a clean Debian to install them into."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def packages(folder):
    """Makes the packages, of what is built for the tests anyway."""
    settings = {"CARGO_OPTIONS": "", "FARCACHE_PACKAGES_COMPRESSION": "gzip", "DEB_BUILD_OPTIONS": "noautodbgsym"}
    command = [REPOSITORY / "scripts/packages", folder]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(folder.glob("*.deb"))


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The packages."""
    return packages(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="session")
def bare_debian(tmp_path_factory):
    """A Debian of the release that this machine has in a folder, to be copied: nothing is installed there."""
    if os.geteuid() != 0:
        pytest.skip("a clean system in a folder needs root")
    release = pathlib.Path("/etc/os-release").read_text()
    codename = re.search(r"^VERSION_CODENAME=(\w+)", release, re.M)[1]
    root = tmp_path_factory.mktemp("debian") / "root"
    command = ["mmdebstrap", "--quiet", "--variant=apt", "--mode=root", codename, root]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        pytest.skip(f"a clean system cannot be made here: {done.stderr.strip().splitlines()[-1:]}")
    yield root
    shutil.rmtree(root, ignore_errors=True)
