"""Clients of six languages go on reading while a server joins a cluster on etcd and another one leaves it: a short run of
`scripts/bench-cluster languages`."""

import json
import pathlib
import subprocess

import pytest
import servers

LANGUAGES = ["c", "go", "java", "javascript", "python", "rust"]


def test_clients_of_six_languages_see_a_server_join_and_leave_and_miss_nothing(tmp_path):
    if servers.is_memcached():
        pytest.skip("memcached knows no clusters")
    server, told = pathlib.Path(servers.binary()), tmp_path / "told.json"
    # The clients must go on for longer than both take to be known. The client in Java waits 50 s, once it has applied a list of servers,
    # for a signal that it has: where that came before it waits (MemcachedConnection.waitForConfigChangeApplied), it asks for no list
    # meanwhile. One run in four has it, once or twice.
    ended = subprocess.run(
        [server.parent / "examples/cluster", "--farcached", server, "languages", "--fleets", "farcached", "--clients",
         servers.REPOSITORY / ".cache/languages", "--keys", "500", "--rate", "100",
         "--join-s", "0.5", "--leave-s", "1", "--seconds", "130", "--poll-ms", "100", "--json", told],
        capture_output=True, text=True, timeout=3 * servers.PATIENCE_SECONDS, check=False)
    # Its status says that no value was wrong or stale, and that nothing failed.
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (course,) = json.loads(told.read_text())["courses"]
    assert [client["language"] for client in course["clients"]] == LANGUAGES
    for client in course["clients"]:
        assert [seen["servers"] for seen in client["seen"]] == [3, 4, 3], client["language"]
        reads, hits = (sum(part[name] for part in client["parts"]) for name in ("reads", "hits"))
        assert reads == hits > 2000, client["language"]
