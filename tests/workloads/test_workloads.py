"""The workloads with a MariaDB behind the cache, on few rows: what they read is right, and what is not right is noticed."""

import pathlib
import subprocess
import xml.etree.ElementTree

import servers

WORKLOADS = ["query-cache", "tatp", "twitter"]
SERVERS = ["database", "memcached", "fabric", "fabric-ssd"]
# What makes cached rows stale.
CHANGES = {"update", "update_location", "insert_tweet"}
OPTIONS = [f"--workloads={','.join(WORKLOADS)}", "--updates=20", "--clients=4"]


def turns(ran):
    """Workload, server and turn of everything that ran."""
    for row in ran.rows:
        for measured in row["measured"]:
            for turn in measured["turns"]:
                yield row["condition"]["workload"], measured["subject"], turn


def test_no_row_that_is_read_is_stale_wrong_or_failed(run_workloads):
    ran = run_workloads(*OPTIONS, f"--servers={','.join(SERVERS)}")
    assert ran.status == 0, ran.said
    seen = {(workload, server) for workload, server, _ in turns(ran)}
    assert seen == {(workload, server) for workload in WORKLOADS for server in SERVERS}
    for workload, server, turn in turns(ran):
        faults = {fault: turn[fault] for fault in ("stale", "wrong", "failed")}
        assert faults == {"stale": 0, "wrong": 0, "failed": 0}, (workload, server)
        # Otherwise nothing could have become stale.
        assert (turn["hits"] > 0) == (server != "database") and turn["queries"] > 0, (workload, server)
        assert any(operation["count"] > 0 for operation in turn["operations"] if operation["name"] in CHANGES)
    for workload in WORKLOADS:
        picture = xml.etree.ElementTree.parse(ran.folder / f"{workload}.svg").getroot()
        assert picture.tag.endswith("svg")


def test_stale_rows_are_noticed_in_every_workload(run_workloads):
    ran = run_workloads(*OPTIONS, "--servers=memcached,fabric", "--plant-stale")
    assert ran.status == 1 and "were stale" in ran.said
    for workload, server, turn in turns(ran):
        assert turn["stale"] > 0 and turn["wrong"] == turn["failed"] == 0, (workload, server)


def test_wrong_rows_are_noticed_in_every_workload(run_workloads):
    ran = run_workloads(*OPTIONS, "--servers=memcached", "--plant-wrong")
    assert ran.status == 1, ran.said
    for workload, _, turn in turns(ran):
        assert turn["wrong"] > 0, workload


def test_a_database_that_is_not_there_is_named():
    program = pathlib.Path(servers.binary()).with_name("farcache-workloads")
    ran = subprocess.run([program, "--quick", "--mariadbd=/no/such/mariadbd"], capture_output=True, text=True)
    assert ran.returncode == 1 and "/no/such/mariadbd: No such file" in ran.stderr
