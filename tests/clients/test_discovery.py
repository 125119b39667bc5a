"""Clients find the servers of a cluster by ElastiCache's auto discovery, and see one join and one leave.

pymemcache's class for this (`AWSElastiCacheHashClient`) is younger than its last release. What it does is done here with that release: it sends
`config get cluster` with `raw_command`, takes the last line for the servers, and gives them to a `HashClient`.
"""

import re
import time

import pytest
import servers
from pymemcache.client.base import Client
from pymemcache.client.hash import HashClient

KEYS = [f"key-{number}" for number in range(200)]


def map_text(epoch, members):
    """The text of a map with these servers."""
    lines = [f"server {number} incarnation=1 weight=1 zone=- state=serving addresses={member.address}"
             for number, member in enumerate(members, 1)]
    return "\n".join(["farcache-cluster-map 1", "cluster tested", f"epoch {epoch}", "placement ketama", *lines, "end", ""])


def discover(server):
    """The servers, as host and port, that a client is told of."""
    client = Client((server.host, server.port), timeout=servers.PATIENCE_SECONDS)
    *_, nodes = client.raw_command(b"config get cluster", end_tokens=b"\n\r\nEND\r\n").splitlines()
    client.close()
    return [(address, int(port)) for _, address, port in (node.split("|") for node in nodes.decode().split(" "))]


def discover_until(server, wanted):
    """Asks again, as a client does from time to time, until these are the servers."""
    deadline = time.monotonic() + servers.PATIENCE_SECONDS
    while discover(server) != [(member.host, member.port) for member in wanted]:
        assert time.monotonic() < deadline, "the change is not seen"
        time.sleep(0.01)


@pytest.fixture
def cluster(start, tmp_path):
    """Three servers with one map's file between them, which lists the first two."""
    if servers.is_memcached():
        pytest.skip("memcached knows no clusters")
    path = tmp_path / "map"
    # Nobody listens at the address that the servers are started with.
    path.write_text(map_text(1, [start()]))
    members = [start(options=["--cluster-file", str(path)]) for _ in range(3)]
    publish(path, 2, members[:2])
    return members, path


def publish(path, epoch, members):
    new = path.with_suffix(".new")
    new.write_text(map_text(epoch, members))
    new.rename(path)


def use(members):
    """Stores by what the first server tells; returns how many items each server has got."""
    client = HashClient(discover(members[0]), default_noreply=False)
    client.flush_all()
    assert client.set_many({key: key.encode() for key in KEYS}) == []
    assert client.get_many(KEYS) == {key: key.encode() for key in KEYS}
    client.close()
    return [len(Client((member.host, member.port)).get_many(KEYS)) for member in members]


def test_pymemcache_sees_a_server_join_and_leave(cluster):
    members, path = cluster
    for member in members:
        discover_until(member, members[:2])
    first, second, third = use(members)
    assert first + second == len(KEYS) and min(first, second) > 0 and third == 0
    publish(path, 3, members)
    for member in members:
        discover_until(member, members)
    assert min(use(members)) > 0
    publish(path, 4, [members[0], members[2]])
    for member in members:
        discover_until(member, [members[0], members[2]])
    Client((members[1].host, members[1].port), default_noreply=False).flush_all()
    first, second, third = use(members)
    assert first + third == len(KEYS) and min(first, third) > 0 and second == 0
    version = Client((members[1].host, members[1].port)).version()
    assert re.fullmatch(rb"1\.6\.[0-9]+", version), version
