"""What hadoop-jobs and hadoop-compare share does what they rely on. Instead of Java there is a shell script."""

import os
import pathlib
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPOSITORY / "scripts/hadoop"))

import benchmarks  # noqa: E402 (found beside the scripts)


@pytest.fixture
def java(tmp_path, monkeypatch):
    """Makes a program of this name that does what it is told here."""

    def make(script):
        program = tmp_path / "bin/java"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    return make


def test_what_benchmarks_tell_is_found_among_all_that_they_print(java, tmp_path):
    java("echo noise; echo told sort 64 2.50; echo 'is told nothing'; echo told dfsio-read-rate 64 812.3; echo told sort 64 3")
    told = benchmarks.run_jobs(benchmarks.java("classes", "Jobs", []), tmp_path, 60)
    assert told == [("sort", 2.5), ("dfsio-read-rate", 812.3), ("sort", 3.0)]


def test_benchmarks_that_fail_are_an_error_with_what_they_logged(java, tmp_path):
    java("echo told sort 64 2.50; echo out of order >&2; exit 1")
    with pytest.raises(benchmarks.Failed, match="out of order"):
        benchmarks.run_jobs(benchmarks.java("classes", "Jobs", []), tmp_path, 60)


def test_servers_run_until_they_are_stopped(java, tmp_path):
    java("echo starting; echo address here:1; cat; echo ended >&2")
    servers = benchmarks.JavaServers("they", [], "address", tmp_path / "log", tmp_path)
    assert servers.told == "here:1"
    assert servers.process.poll() is None
    servers.stop()
    assert servers.process.returncode == 0
    assert "ended" in (tmp_path / "log").read_text()


def test_servers_that_end_instead_are_an_error_with_what_they_logged(java, tmp_path):
    java("echo no port >&2; echo addresses none")
    with pytest.raises(benchmarks.Failed, match="(?s)they does not start.*no port"):
        benchmarks.JavaServers("they", [], "address", tmp_path / "log", tmp_path)


def test_a_server_that_does_not_start_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarks, "server_program", lambda profile: "/bin/false")
    with pytest.raises(benchmarks.Failed, match="does not start"):
        benchmarks.Server("debug", 64, tmp_path)


def test_medians_are_told_with_what_they_lie_between():
    assert benchmarks.spread([3.0, 1.0, 2.5], 7) == "   2.50 (1.00 to 3.00)"


def test_least_and_most_are_told_of_several_runs_only():
    assert benchmarks.spread([2.5], 8) == "    2.50"
    assert benchmarks.spread([3, 1, 2], 4) == "2.00 (1.00 to 3.00)"
