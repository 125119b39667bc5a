"""The systemd unit and what belongs to it: names, sandbox, folders. systemd's own tools judge them; no systemd need run."""

import pathlib
import re
import subprocess

import pytest

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"

# The most that `systemd-analyze security` may say, where 10.0 is no sandbox at all.
EXPOSURE_MAX = 2.5


@pytest.fixture
def unit(tmp_path):
    """The unit as it is installed, for a program that is there."""
    program = tmp_path / "bin/farcached"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = tmp_path / "farcached.service"
    path.write_text((PACKAGING / "farcached.service.in").read_text().replace("@PREFIX@", str(tmp_path)))
    return path


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", *map(str, arguments)], capture_output=True, text=True)


def exposure(unit):
    said = analyze("security", "--offline=yes", "--no-pager", unit).stdout
    return float(re.search(r"exposure level for farcached.service: ([\d.]+)", said)[1])


def with_drop_in(unit):
    folder = unit.with_name("farcached.service.d")
    folder.mkdir()
    (folder / "rdma.conf").write_text((PACKAGING / "farcached-rdma.conf").read_text())
    return unit


def test_systemd_understands_the_unit(unit):
    checked = analyze("verify", "--man=no", unit)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_sandbox_is_tight(unit):
    assert exposure(unit) <= EXPOSURE_MAX


def test_the_sandbox_stays_tight_with_rdma(unit):
    before = exposure(unit)
    with_drop_in(unit)
    checked = analyze("verify", "--man=no", unit)
    assert (checked.returncode, checked.stderr) == (0, "")
    settings = dict(line.split("=", 1) for line in (PACKAGING / "farcached-rdma.conf").read_text().splitlines() if "=" in line)
    assert settings["PrivateDevices"] == "no"
    assert before <= exposure(unit) <= EXPOSURE_MAX


def test_the_user_is_made(tmp_path):
    (tmp_path / "etc").mkdir()
    subprocess.run(["systemd-sysusers", f"--root={tmp_path}", PACKAGING / "farcached.sysusers"], check=True)
    (user,) = [line for line in (tmp_path / "etc/passwd").read_text().splitlines() if line.startswith("farcached:")]
    assert user.endswith("nologin") or user.endswith("/false")
    assert "farcached:" in (tmp_path / "etc/group").read_text()


def test_the_folder_for_shared_memory_belongs_to_the_group():
    (line,) = [line for line in (PACKAGING / "farcached.tmpfiles").read_text().splitlines() if not line.startswith("#")]
    kind, folder, mode, user, group, *_ = line.split()
    unit = (PACKAGING / "farcached.service.in").read_text()
    assert (kind, mode, user, group) == ("d", "2770", "farcached", "farcached")
    assert f"Environment=FARCACHE_SHARED_MEMORY={folder}\n" in unit
    assert "\nUser=farcached\nGroup=farcached\n" in unit
