"""Builds the clients and the drop-in libraries once; runs the workloads as anyone would, on few rows."""

import json
import pathlib
import subprocess
import sys
import types

import pytest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
# A debug build on a machine that is busy with other things.
RUN_SECONDS_MAX = 300
sys.path.append(str(HERE.parent / "clients"))

import servers  # noqa: E402 (found beside the clients' tests)


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """The folder with the clients, and the one with our libraries."""
    clients, drop_in = tmp_path_factory.mktemp("clients"), tmp_path_factory.mktemp("drop-in")
    subprocess.run([REPOSITORY / "scripts/workload-client", clients], check=True)
    if not (clients / "workload-client").exists():
        pytest.skip("MariaDB or libmemcached is not here and cannot be installed")
    subprocess.run([REPOSITORY / "scripts/drop-in", drop_in], check=True)
    return clients / "workload-client", drop_in


@pytest.fixture
def run_workloads(programs, tmp_path):
    """Runs farcache-workloads; its status, what it says, its figures and the folder with its pictures."""

    def run(*options):
        client, drop_in = programs
        farcached = pathlib.Path(servers.binary())
        command = [
            farcached.with_name("farcache-workloads"), "--quick", "--unpinned", f"--farcached={farcached}",
            f"--client={client}", f"--drop-in={drop_in}", f"--json={tmp_path}/figures.json", f"--svg={tmp_path}",
            *options,
        ]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS_MAX)
        figures = tmp_path / "figures.json"
        assert figures.exists(), f"it ended with {ended.returncode}: {ended.stderr}"
        rows = json.loads(figures.read_text())["report"]["rows"]
        return types.SimpleNamespace(status=ended.returncode, said=ended.stderr, rows=rows, folder=tmp_path)

    return run
