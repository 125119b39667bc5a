"""What installs packages knows every purpose that is asked of it."""

import pathlib
import re
import subprocess

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "scripts/install-deps.sh"


def asked_purposes():
    """What the Makefile asks for, target by target."""
    makefile = (REPOSITORY / "Makefile").read_text()
    lines = re.findall(r"install-deps\.sh((?: [a-z]+)+)(?: \|\| .*)?$", makefile, re.MULTILINE)
    return [line.split() for line in lines]


def known_purposes():
    needs = re.search(r"^needs='\n(.*?)^'", SCRIPT.read_text(), re.MULTILINE | re.DOTALL).group(1)
    return {line.split()[0] for line in needs.splitlines()}


def test_an_unknown_purpose_is_told_with_the_known_ones():
    done = subprocess.run([SCRIPT, "build", "nothing"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"install-deps: unknown purpose 'nothing' (known: {' '.join(sorted(known_purposes()))})\n"


def test_every_purpose_of_the_makefile_is_taken(tmp_path):
    asked = asked_purposes()
    assert ["run"] in asked and ["hadoop"] in asked and ["moosefs"] in asked
    # Nothing is installed: what would do it fails.
    for name in ("apt-get", "sudo"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    for purposes in asked:
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
        # Rust is not asked for here.
        command = [SCRIPT, *(purpose for purpose in purposes if purpose != "build")]
        done = len(command) > 1 and subprocess.run(command, capture_output=True, text=True, env=environment)
        assert not done or "unknown purpose" not in done.stderr, done.stderr


def test_a_server_runs_where_ucx_cannot_be_had(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/install-deps.sh").write_text("#!/bin/sh\necho \"asked for $*\"\nexit 1\n")
    (tmp_path / "scripts/install-deps.sh").chmod(0o755)
    command = ["make", "--no-print-directory", "-f", REPOSITORY / "Makefile", "deps-run"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "asked for run\n")
    assert "goes without the fabric" in done.stderr
