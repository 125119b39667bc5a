"""pymemcache: the text protocol, over every kind of socket."""

import time

import pytest
import servers
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from pymemcache.exceptions import MemcacheClientError, MemcacheServerError
from pymemcache.serde import pickle_serde


def connect(server, kind=Client, **more):
    place = server.socket_path or (server.host, server.port)
    patience = servers.PATIENCE_SECONDS
    return kind(place, tls_context=server.tls, timeout=patience, connect_timeout=patience, **more)


@pytest.fixture
def client(server):
    client = connect(server, default_noreply=False)
    yield client
    client.close()


def test_set_and_get(client, key):
    assert client.set(key, b"value") is True
    assert client.get(key) == b"value"
    assert client.get("absent", default=b"other") == b"other"


@pytest.mark.parametrize("length", [0, 1, 4095, 4096, 4097, 65536, 1000000])
def test_values_of_every_size_come_back(client, key, length):
    value = bytes(number % 251 for number in range(length))
    assert client.set(key, value)
    assert client.get(key) == value


def test_a_value_may_hold_line_ends(client, key):
    value = b"\r\nEND\r\nVALUE x 0 1\r\n\0\r\n"
    client.set(key, value)
    assert client.get(key) == value


def test_too_large_a_value_is_refused_and_the_connection_lives(client, key):
    client.set(key, b"old")
    with pytest.raises(MemcacheServerError):
        client.set(key, b"x" * (2 << 20))
    assert client.get(key) is None
    assert client.version().startswith(b"1.")


def test_noreply_set_is_seen_by_the_next_get(client, key):
    client.set(key, b"quiet", noreply=True)
    assert client.get(key) == b"quiet"


def test_add_and_replace(client, key):
    assert client.replace(key, b"0") is False
    assert client.add(key, b"1") is True
    assert client.add(key, b"2") is False
    assert client.replace(key, b"3") is True
    assert client.get(key) == b"3"


def test_append_and_prepend(client, key):
    assert client.append(key, b"x") is False
    assert client.prepend(key, b"x") is False
    client.set(key, b"b")
    assert client.append(key, b"c") is True
    assert client.prepend(key, b"a") is True
    assert client.get(key) == b"abc"


def test_cas(client, key):
    assert client.cas(key, b"x", b"1") is None
    client.set(key, b"1")
    value, token = client.gets(key)
    assert value == b"1"
    assert client.cas(key, b"2", token) is True
    assert client.cas(key, b"3", token) is False
    assert client.get(key) == b"2"


def test_many_keys_at_once(client, key):
    pairs = {f"{key}-{number}": b"%d" % number for number in range(500)}
    assert client.set_many(pairs) == []
    assert client.get_many([*pairs, "absent"]) == pairs
    found = client.gets_many(list(pairs)[:50])
    assert {name: value for name, (value, _) in found.items()} == dict(list(pairs.items())[:50])
    assert client.delete_many(pairs) is True
    assert client.get_many(pairs) == {}


def test_delete(client, key):
    assert client.delete(key) is False
    client.set(key, b"x")
    assert client.delete(key) is True
    assert client.get(key) is None


def test_incr_and_decr(client, key):
    assert client.incr(key, 1) is None
    client.set(key, b"10")
    assert client.incr(key, 5) == 15
    assert client.decr(key, 20) == 0
    client.set(key, b"18446744073709551615")
    assert client.incr(key, 2) == 1
    client.set(key, b"ten")
    with pytest.raises(MemcacheClientError):
        client.incr(key, 1)


def test_touch_and_gat(client, key):
    assert client.touch(key, 100) is False
    client.set(key, b"x")
    assert client.touch(key, 100) is True
    reply = client.raw_command(f"gat 100 {key}", end_tokens="END\r\n")
    assert reply == f"VALUE {key} 0 1\r\nx\r\n".encode()
    assert client.touch(key, -1) is True
    assert client.get(key) is None


def test_an_item_expires_in_its_second(client, key):
    client.set(key, b"x", expire=1)
    deadline = time.monotonic() + servers.PATIENCE_SECONDS
    while client.get(key) is not None:
        assert time.monotonic() < deadline, "an item of one second lives on"
        time.sleep(0.02)
    client.set(key, b"x", expire=-1)
    assert client.get(key) is None
    client.set(key, b"x", expire=int(time.time()) + 100)
    assert client.get(key) == b"x"
    client.set(key, b"x", expire=int(time.time()) - 100)
    assert client.get(key) is None


@pytest.mark.parametrize("flags", [0, 1, 0xFFFF, 0xFFFFFFFF])
def test_flags_come_back(server, key, flags):
    class Flags:
        def serialize(self, key, value):
            return value, flags

        def deserialize(self, key, value, found):
            return value, found

    client = connect(server, serde=Flags(), default_noreply=False)
    client.set(key, b"x")
    assert client.get(key) == (b"x", flags)
    client.close()


def test_python_objects(server, key):
    client = connect(server, serde=pickle_serde, default_noreply=False)
    thing = {"list": [1, 2.5, None], "text": "\N{SNOWMAN}"}
    client.set(key, thing)
    assert client.get(key) == thing
    client.close()


def test_the_longest_key(client):
    longest = "k" * 250
    client.set(longest, b"x")
    assert client.get(longest) == b"x"


def test_stats_and_version(client):
    stats = client.stats()
    assert stats[b"pid"] > 0 and stats[b"threads"] > 0
    assert {b"cmd_get", b"curr_items", b"limit_maxbytes", b"evictions"} <= stats.keys()
    assert client.stats("settings")[b"maxbytes"]
    assert client.version()


def test_flush_all(client, key):
    client.set(key, b"x")
    assert client.flush_all() is True
    assert client.get(key) is None


def test_verbosity_and_cache_memlimit(client):
    assert client.raw_command(b"verbosity 1") == b"OK"
    assert client.raw_command(b"verbosity 0") == b"OK"
    assert client.cache_memlimit(64) is True


def test_quit_closes(client):
    client.version()
    client.quit()
    assert client.version()


def test_pooled_client(server, key):
    client = connect(server, PooledClient, max_pool_size=4, default_noreply=False)
    assert client.set(key, b"x")
    assert client.get(key) == b"x"
    assert client.get_many([key]) == {key: b"x"}
    client.close()


def test_hash_client_over_two_servers(start, key):
    places = [(each.host, each.port) for each in (start(), start())]
    client = HashClient(places, use_pooling=True, default_noreply=False)
    pairs = {f"{key}-{number}": b"%d" % number for number in range(100)}
    assert client.set_many(pairs) == []
    assert client.get_many(pairs) == pairs
    shares = [len(Client(place).get_many(pairs)) for place in places]
    assert sum(shares) == 100 and min(shares) > 0
    client.close()


def test_authentication_file(start, tmp_path, key):
    users = tmp_path / "users"
    users.write_text("alice:wonder\nbob:builder\n")
    server = start("tcp", ["-Y", str(users)])
    client = connect(server, default_noreply=False)
    with pytest.raises(MemcacheClientError, match="unauthenticated"):
        client.get(key)
    with pytest.raises(MemcacheClientError, match="authentication failure"):
        client.set("auth", b"alice builder")
    assert client.set("auth", b"bob builder") is True
    assert client.set(key, b"x") is True
    assert client.get(key) == b"x"
    client.close()
