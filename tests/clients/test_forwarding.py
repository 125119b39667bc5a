"""Clients that place keys by another rule than the cluster's map, or by an older map: servers pass their requests on to the owners.

pymemcache's `HashClient` places keys by rendezvous hashing, the map by ketama: about two thirds of its requests reach a server that does not own the key.
"""

import time

import pytest
import servers
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from pymemcache.exceptions import MemcacheServerError

KEYS = [f"key-{number}" for number in range(300)]
SECRET = "what the servers of this test share\n"


def map_text(epoch, members, owners):
    """The text of a map with these servers, of which some own keys."""
    lines = [
        f"server {number} incarnation=1 weight=1 zone=- state={'serving' if number in owners else 'draining'} addresses={address}"
        for number, address in sorted(members.items())
    ]
    return "\n".join(["farcache-cluster-map 1", "cluster tested", f"epoch {epoch}", "placement ketama", *lines, "end", ""])


class Fleet:
    """Servers 1 to 3 with a map's file each."""

    def __init__(self, start, folder):
        self.folder = folder
        secret = folder / "secret"
        secret.write_text(SECRET)
        # The servers choose their ports themselves: the first map has addresses at which nobody listens.
        numbers = (1, 2, 3)
        for number in numbers:
            self._write(number, map_text(1, {other: f"127.0.0.1:{other}" for other in numbers}, numbers))
        self.members = {
            number: start(options=[
                "--cluster-file", str(self._path(number)), "--cluster-self", str(number), "--cluster-secret-file", str(secret),
                "--forward-timeout-ms", "60000", "-I", "8m",
            ])
            for number in numbers
        }
        self.epoch = 1
        self.publish()

    def _path(self, number):
        return self.folder / f"map-{number}"

    def _write(self, number, text):
        new = self.folder / "new"
        new.write_text(text)
        new.rename(self._path(number))

    def publish(self, owners=(1, 2, 3), to=(1, 2, 3)):
        """Gives servers a new map, and waits until they have it."""
        self.epoch += 1
        text = map_text(self.epoch, {number: member.address for number, member in self.members.items()}, owners)
        for number in to:
            self._write(number, text)
        deadline = time.monotonic() + servers.PATIENCE_SECONDS
        while any(self.told_epoch(number) != self.epoch for number in to):
            assert time.monotonic() < deadline, "the map is not read"
            time.sleep(0.01)

    def told_epoch(self, number):
        client = self.client(number)
        *_, version, _nodes = client.raw_command(b"config get cluster", end_tokens=b"\n\r\nEND\r\n").splitlines()
        client.close()
        return int(version)

    def client(self, number):
        member = self.members[number]
        return Client((member.host, member.port), timeout=servers.PATIENCE_SECONDS)

    def stats(self, name):
        """A figure of each server."""
        return [self.client(number).stats()[name.encode()] for number in self.members]

    def addresses(self):
        return [(member.host, member.port) for member in self.members.values()]


@pytest.fixture
def fleet(start, tmp_path):
    if servers.is_memcached():
        pytest.skip("memcached knows no clusters")
    return Fleet(start, tmp_path)


def test_a_client_with_another_hash_is_correct(fleet):
    client = HashClient(fleet.addresses(), default_noreply=False, timeout=servers.PATIENCE_SECONDS)
    assert client.set_many({key: key.encode() for key in KEYS}) == []
    assert client.get_many(KEYS) == {key: key.encode() for key in KEYS}
    # Each server answers for every key, in one command too.
    for number in fleet.members:
        assert fleet.client(number).get_many(KEYS) == {key: key.encode() for key in KEYS}
    assert sum(fleet.stats("curr_items")) == len(KEYS), "only owners hold them"
    assert all(count > 0 for count in fleet.stats("curr_items"))
    large = bytes(range(256)) * (6 << 12)
    for number, key in enumerate(KEYS[:12]):
        assert client.set(key, large, noreply=number % 2 == 0)
        assert client.get(key) == large
        assert client.append(key, b"end") and client.prepend(key, b"begin")
        assert client.get(key) == b"begin" + large + b"end"
    for key in KEYS[12:24]:
        value, token = client.gets(key)
        assert client.cas(key, b"1", token) is True
        assert client.cas(key, b"2", token) is False
        assert (client.incr(key, 41), client.decr(key, 2)) == (42, 40)
        assert client.touch(key, 0) and client.get(key) == b"40"
        assert client.add(key, b"x") is False and client.replace(key, b"x")
        assert client.delete(key) and client.get(key) is None and client.incr(key, 1) is None
    assert sum(fleet.stats("forwarded")) > len(KEYS)
    assert fleet.stats("forward_errors") == [0, 0, 0]
    client.close()


def test_clients_with_old_and_new_maps_see_the_same(fleet):
    """A client that knows one server only, one that knows two of three, and one with all of them."""
    few = [fleet.addresses()[:1], fleet.addresses()[1:], fleet.addresses()]
    clients = [HashClient(addresses, default_noreply=False, timeout=servers.PATIENCE_SECONDS) for addresses in few]
    for number, key in enumerate(KEYS):
        writer = clients[number % 3]
        assert writer.set(key, str(number))
        for reader in clients:
            assert reader.get(key) == str(number).encode()
    for number, key in enumerate(KEYS[:60]):
        assert [client.incr(key, 1) for client in clients] == [number + 1, number + 2, number + 3]


def test_a_dead_owner_is_an_error_and_no_miss(fleet):
    clients = {number: fleet.client(number) for number in fleet.members}
    for key in KEYS:
        clients[1].set(key, b"1", noreply=False)
    held = [key for key in KEYS if clients[1].get(key) == b"1"]
    assert held == KEYS
    fleet.members[3].process.kill()
    fleet.members[3].process.wait()
    lost = set()
    for key in KEYS:
        try:
            assert clients[1].get(key) == b"1"
        except MemcacheServerError as error:
            assert b"owns this key" in error.args[0]
            lost.add(key)
    assert 0 < len(lost) < len(KEYS)
    # The others take over with the next map, and nobody asks the dead one any more.
    fleet.publish(owners=(1, 2), to=(1, 2))
    for key in KEYS:
        assert clients[2].set(key, b"2", noreply=False)
        assert clients[1].get(key) == b"2"
    # It has not ended well, as it should not have: the others are to be looked at only.
    fleet.members[3].stop = lambda: 0


def test_a_map_that_one_connection_has_seen_counts_for_all(fleet):
    fleet.members[3].process.kill()
    fleet.members[3].process.wait()
    fleet.members[3].stop = lambda: 0
    fleet.publish(owners=(3,), to=(1,))
    clients = [fleet.client(1) for _ in range(16)]
    for _ in range(20):
        for client in clients:
            with pytest.raises(MemcacheServerError, match="owns this key"):
                client.get("key")
        fleet.publish(owners=(1,), to=(1,))
        for client in clients:
            assert client.get("key") is None
        fleet.publish(owners=(3,), to=(1,))


def test_a_pool_of_connections_may_ask_any_server(fleet):
    member = fleet.members[2]
    pool = PooledClient((member.host, member.port), max_pool_size=8, timeout=servers.PATIENCE_SECONDS)
    for key in KEYS:
        pool.set(key, key, noreply=True)
    assert pool.get_many(KEYS) == {key: key.encode() for key in KEYS}
    pool.close()
