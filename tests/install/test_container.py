"""The container of the Containerfile: built by buildah from the packages of this build, and run."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(REPOSITORY / "tests/clients"), str(REPOSITORY / "tests/install")]

import servers  # noqa: E402 (found beside the other clients' tests)
from asking import ask  # noqa: E402 (found beside this file)

# What container tools do to a process needs more than some containers may do; in a chroot they ask for little.
ISOLATION = "--isolation=chroot"
BUILD_SECONDS_MAX = 600
BASE = "localhost/debian"
IMAGE = "localhost/farcached"


class Buildah:
    """buildah with images and containers of its own."""

    def __init__(self, folder):
        self.command = ["buildah", f"--root={folder}/storage", f"--runroot={folder}/run"]

    def run(self, *arguments):
        """What a command of its says; None where it fails."""
        done = self.call(*arguments)
        return done.stdout.strip() if done.returncode == 0 else None

    def call(self, *arguments):
        command = [*self.command, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=BUILD_SECONDS_MAX)

    def start(self, container, arguments):
        """A process in the container, as its image says, until it is ended."""
        told = json.loads(self.run("inspect", container))["OCIv1"]["config"]
        inside = [*told["Entrypoint"], *told["Cmd"], *arguments]
        command = [*self.command, "run", ISOLATION, container, "--", *inside]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)


@pytest.fixture(scope="module")
def buildah(bare_debian, tmp_path_factory):
    """With the clean Debian as an image."""
    if not shutil.which("buildah"):
        pytest.skip("there is no buildah here")
    folder = tmp_path_factory.mktemp("buildah")
    tool = Buildah(folder)
    container = tool.run("from", "scratch")
    added = container and tool.run("add", container, bare_debian, "/")
    if added is None or tool.run("run", ISOLATION, container, "--", "true") is None:
        pytest.skip("buildah cannot run anything here")
    committed = tool.call("commit", "--quiet", container, BASE)
    assert committed.returncode == 0, committed.stderr
    yield tool
    tool.run("rm", "--all")
    tool.run("rmi", "--all", "--force")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def image(buildah, made, tmp_path_factory):
    """The image, of packages that are there."""
    context = tmp_path_factory.mktemp("context")
    packages = context / "target/packages"
    packages.mkdir(parents=True)
    for package in made:
        shutil.copy(package, packages)
    for name in ("Containerfile", ".dockerignore"):
        shutil.copy(REPOSITORY / name, context)
    settings = [f"--build-arg=BASE={BASE}", "--build-arg=PACKAGES=made", "--pull-never", f"--tag={IMAGE}"]
    built = buildah.call("build", ISOLATION, *settings, context)
    assert built.returncode == 0, built.stdout + built.stderr
    return IMAGE


def test_the_container_serves_as_an_ordinary_user_with_ssd_and_stops_in_order(buildah, image):
    container = buildah.run("from", "--pull-never", image)
    port = servers.free_port()
    options = ["--port", str(port), "--listen=127.0.0.1", "--memory-limit=64", "--ssd=/var/lib/farcached:64m"]
    running = buildah.start(container, options)
    try:
        assert ask(port, b"set k 0 0 5\r\nvalue\r\n", b"\r\n") == b"STORED\r\n"
        assert ask(port, b"get k\r\n", b"END\r\n") == b"VALUE k 0 5\r\nvalue\r\nEND\r\n"
        # The container shares this system's process numbers.
        process = int(re.search(rb"STAT pid (\d+)", ask(port, b"stats\r\n", b"END\r\n"))[1])
        assert os.stat(f"/proc/{process}").st_uid != 0
        os.kill(process, signal.SIGTERM)
        assert running.wait(timeout=servers.PATIENCE_SECONDS) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    said = running.stderr.read()
    assert 'fabric="UCX' in said and "/var/lib/farcached: 64 MiB" in said and "stopped" in said, said
