"""YCSB, a killed server and values that expire, briefly: every client reaches every server, and what is measured is right."""

import json
import pathlib
import subprocess
import xml.etree.ElementTree

import pytest
import servers

# A debug build on a machine that is busy with other things.
RUN_SECONDS_MAX = 300


@pytest.fixture
def run(tmp_path):
    """Runs a program beside farcached; its report."""

    def run(program, *options, picture=""):
        farcached = pathlib.Path(servers.binary())
        figures = tmp_path / "figures.json"
        command = [farcached.with_name(program), "--unpinned", f"--farcached={farcached}", f"--json={figures}", *options]
        command += [f"--svg={tmp_path}/{picture}"] if picture else []
        ended = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS_MAX)
        assert ended.returncode == 0, ended.stderr
        return json.loads(figures.read_text())["report"]

    return run


def test_every_client_runs_every_workload_on_several_servers(run, tmp_path):
    report = run("farcache-ycsb", "--records=500", "--clients=3", "--depth=1,4", "--processes=2", "--turns=1", "--seconds=0.1", "--warm-up=0",
                 "--memory=64M", picture="ycsb.svg")
    ways = {"memcached", "memcached-library", "sockets", "sockets-library", "fabric"}
    seen = set()
    for row in report["rows"]:
        assert {measured["subject"] for measured in row["measured"]} == ways
        for measured in row["measured"]:
            done = measured["turns"][0]["sum"]
            faults = {fault: done[fault] for fault in ("misses", "failed", "wrong", "stale")}
            assert faults == {"misses": 0, "failed": 0, "wrong": 0, "stale": 0}, (row["condition"], measured["subject"])
            assert done["operations_per_s"] > 0 and done["reads"] > 0
            seen.add((row["condition"]["workload"], row["condition"]["depth"]))
    assert seen == {(workload, depth) for workload in "abcdf" for depth in (1, 4)}
    assert xml.etree.ElementTree.parse(tmp_path / "ycsb.svg").getroot().tag.endswith("svg")


def test_records_on_several_servers_are_read_right(run):
    report = run("farcache-ycsb", "--workloads=a", "--subjects=fabric,memcached", "--redundancy=ec:3,2", "--servers=5", "--records=50", "--record-bytes=40K",
                 "--clients=2", "--turns=1", "--seconds=0.1", "--memory=64M")
    (row,) = report["rows"]
    # memcached knows nothing of shards.
    assert [measured["subject"] for measured in row["measured"]] == ["fabric"]
    assert row["measured"][0]["turns"][0]["sum"]["reads"] > 0


def test_a_killed_server_costs_database_reads_without_copies_and_none_with_them(run, tmp_path):
    report = run("farcache-failures", "--servers=3", "--redundancy=none replicate:3", "--records=2000", "--clients=2", "--seconds=4", "--timeout=20",
                 "--memory=64M", picture="pictures")
    courses = {course["subject"]["redundancy"]: course for course in report["courses"] if course["subject"]["product"] == "farcached"}

    def database_reads(course):
        _, parts = course["sum"]
        return sum(part["misses"] + part["failed_reads"] for part in parts)

    assert database_reads(courses["none"]) > 100
    assert database_reads(courses["replicate:3"]) == 0
    assert len(report["courses"]) == 3
    assert xml.etree.ElementTree.parse(tmp_path / "pictures/failures-3.svg").getroot().tag.endswith("svg")


def test_values_expire_on_both_servers_and_none_is_read_after_its_time(run):
    report = run("farcache-expiry", "--clusters=37,52", "--memory=8M", "--seconds=5", "--speed=20", "--turns=1", "--turn-seconds=0.1", picture="held.svg")
    for row in report["rows"]:
        for measured in row["measured"]:
            counts = measured["counts"]
            assert counts["hits"] > 0 and counts["wrong"] == counts["late"] == 0, (row["cluster"], measured["product"])
    large = next(row for row in report["rows"] if row["cluster"] == "37")
    for measured in large["measured"]:
        # What lives for one second has gone by the end, at least to readers.
        assert measured["counts"]["gets_of_live"] < measured["counts"]["gets"]
