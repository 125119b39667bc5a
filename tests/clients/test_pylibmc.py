"""pylibmc: libmemcached from Python, in the text and the binary protocol, over TCP and unix sockets."""

import pylibmc
import pytest


@pytest.fixture(scope="module", params=["tcp", "unix"])
def plain_server(request, start):
    """libmemcached has no TLS."""
    return start(request.param)


@pytest.fixture(params=["text", "binary"])
def client(request, plain_server):
    behaviours = {"cas": True, "tcp_nodelay": True}
    if request.param == "text":
        behaviours["verify_keys"] = True
    return pylibmc.Client([plain_server.address], binary=request.param == "binary", behaviors=behaviours)


def test_set_and_get(client, key):
    assert client.get(key) is None
    assert client.set(key, b"value") is True
    assert client.get(key) == b"value"


@pytest.mark.parametrize("length", [0, 1, 4096, 100000, 1000000])
def test_values_of_every_size_come_back(client, key, length):
    value = bytes(number % 253 for number in range(length))
    assert client.set(key, value)
    assert client.get(key) == value


def test_python_objects_and_their_flags(client, key):
    for thing in (7, True, 2.5, "text", ["list", {"of": "things"}], None):
        client.set(key, thing)
        assert client.get(key, "absent") == thing


def test_compressed_values(client, key):
    value = b"again and again " * 10000
    assert client.set(key, value, min_compress_len=100)
    assert client.get(key) == value


def replaced(client, key):
    """Whether a replace was carried out; in the binary protocol a refusal is an exception."""
    try:
        return client.replace(key, b"0")
    except pylibmc.NotFound:
        return False


def test_add_replace_append_prepend(client, key):
    assert not replaced(client, key)
    assert client.add(key, b"b") is True
    assert client.add(key, b"2") is False
    assert client.append(key, b"c") is True
    assert client.prepend(key, b"a") is True
    assert client.get(key) == b"abc"
    assert client.replace(key, b"3") is True
    assert client.get(key) == b"3"


def test_many_keys_at_once(client, key):
    pairs = {f"{key}-{number}": b"%d" % number for number in range(1000)}
    assert client.set_multi(pairs) == []
    assert client.get_multi([*pairs, "absent"]) == pairs
    assert client.add_multi(pairs) == list(pairs)
    assert client.delete_multi(list(pairs)) is True
    assert client.get_multi(list(pairs)) == {}


def test_delete(client, key):
    assert client.delete(key) is False
    client.set(key, b"x")
    assert client.delete(key) is True
    assert client.get(key) is None


def test_incr_and_decr(client, key):
    with pytest.raises(pylibmc.NotFound):
        client.incr(key)
    client.set(key, 10)
    assert client.incr(key, 5) == 15
    assert client.decr(key, 3) == 12
    assert client.decr(key, 100) == 0
    assert client.get(key) == 0


def test_gets_and_cas(client, key):
    client.set(key, b"1")
    value, token = client.gets(key)
    assert value == b"1"
    assert client.cas(key, b"2", token) is True
    assert client.cas(key, b"3", token) is False
    assert client.get(key) == b"2"


def test_touch(client, key):
    assert client.touch(key, 100) is False
    client.set(key, b"x")
    assert client.touch(key, 100) is True
    assert client.get(key) == b"x"


def test_keys_as_long_as_can_be(client):
    longest = "k" * 250
    client.set(longest, b"x")
    assert client.get(longest) == b"x"


def test_stats(client):
    [(_, stats)] = client.get_stats()
    assert int(stats["pid"]) > 0 and "curr_items" in stats


def test_flush_all(client, key):
    client.set(key, b"x")
    assert client.flush_all() is True
    assert client.get(key) is None


def test_requests_without_blocking(plain_server, key):
    behaviours = {"no_block": True, "buffer_requests": False, "tcp_nodelay": True}
    client = pylibmc.Client([plain_server.address], binary=True, behaviors=behaviours)
    for number in range(200):
        client.set(f"{key}-{number}", b"%d" % number)
    found = client.get_multi([f"{key}-{number}" for number in range(200)])
    assert len(found) == 200


def test_two_servers_by_ketama(start, key):
    both = [start(), start()]
    behaviours = {"ketama": True}
    client = pylibmc.Client([each.address for each in both], binary=True, behaviors=behaviours)
    pairs = {f"{key}-{number}": b"%d" % number for number in range(200)}
    assert client.set_multi(pairs) == []
    assert client.get_multi(list(pairs)) == pairs
    shares = [len(pylibmc.Client([each.address], binary=True).get_multi(list(pairs))) for each in both]
    assert sum(shares) == 200 and min(shares) > 0
