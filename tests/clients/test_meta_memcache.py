"""meta-memcache: the meta protocol over TCP and unix sockets (the client reads the bare socket, so no TLS)."""

import pytest
from meta_memcache import (
    CacheClient,
    Key,
    RecachePolicy,
    ServerAddress,
    SetMode,
    StalePolicy,
    connection_pool_factory_builder,
)
from meta_memcache.configuration import LeasePolicy
from meta_memcache.connection.pool import ConnectionPool


@pytest.fixture(scope="module", params=["tcp", "unix"])
def plain_server(request, start):
    """A server without TLS."""
    return start(request.param)


@pytest.fixture
def client(plain_server):
    def pool(address):
        return ConnectionPool(
            server=str(address), socket_factory_fn=plain_server.connect, initial_pool_size=1,
            max_pool_size=2, mark_down_period_s=1.0)

    return CacheClient.cache_client_from_servers(
        servers=[ServerAddress(host="test", port=1)], connection_pool_factory_fn=pool)


def test_the_client_s_own_connections(start, key):
    server = start()
    client = CacheClient.cache_client_from_servers(
        servers=[ServerAddress(server.host, server.port)],
        connection_pool_factory_fn=connection_pool_factory_builder())
    assert client.set(key, "value", ttl=100) is True
    assert client.get(key) == "value"


def test_set_and_get(client, key):
    assert client.get(key) is None
    assert client.set(key, "value", ttl=100) is True
    assert client.get(key) == "value"
    assert client.set(key, b"bytes", ttl=0) is True
    assert client.get(key) == b"bytes"
    assert client.set(key, {"a": [1, 2]}, ttl=100) is True
    assert client.get(key) == {"a": [1, 2]}


@pytest.mark.parametrize("length", [0, 1, 4095, 65536, 1000000])
def test_values_of_every_size_come_back(client, key, length):
    value = bytes(number % 239 for number in range(length))
    assert client.set(key, value, ttl=100)
    assert client.get(key) == value


def test_no_reply(client, key):
    client.set(key, "quiet", ttl=100, no_reply=True)
    assert client.get(key) == "quiet"
    client.delete(key, no_reply=True)
    assert client.get(key) is None
    client.touch(key, ttl=5, no_reply=True)
    assert client.get(key) is None


def test_keys_that_need_base64(client):
    for name in ("schl\N{LATIN SMALL LETTER U WITH DIAERESIS}ssel", "with space", "k" * 300):
        assert client.set(Key(name), "x", ttl=100) is True
        assert client.get(Key(name)) == "x"


def test_modes(client, key):
    assert client.set(key, "0", ttl=100, set_mode=SetMode.REPLACE) is False
    assert client.set(key, b"b", ttl=100, set_mode=SetMode.ADD) is True
    assert client.set(key, b"x", ttl=100, set_mode=SetMode.ADD) is False
    assert client.refill(key, b"x", ttl=100) is False
    assert client.set(key, b"c", ttl=100, set_mode=SetMode.APPEND) is True
    assert client.set(key, b"a", ttl=100, set_mode=SetMode.PREPEND) is True
    assert client.get(key) == b"abc"
    assert client.set(key, b"2", ttl=100, set_mode=SetMode.REPLACE) is True
    assert client.get(key) == b"2"


def test_cas(client, key):
    client.set(key, "1", ttl=100)
    value, token = client.get_cas(key)
    assert value == "1"
    assert client.set(key, "2", ttl=100, cas_token=token) is True
    assert client.set(key, "3", ttl=100, cas_token=token) is False
    assert client.delete(key, cas_token=token) is False
    newest = client.set_cas(key, "4", ttl=100)
    assert client.get_cas(key) == ("4", newest)
    assert client.delete(key, cas_token=newest) is True


def test_delete_and_invalidate(client, key):
    assert client.delete(key) is False
    assert client.invalidate(key) is True
    client.set(key, "x", ttl=100)
    assert client.delete(key) is True
    assert client.get(key) is None


def test_touch(client, key):
    assert client.touch(key, ttl=100) is False
    client.set(key, "x", ttl=5)
    assert client.touch(key, ttl=100) is True
    assert client.get(key, touch_ttl=200) == "x"


def test_many_keys_at_once(client, key):
    pairs = {Key(f"{key}-{number}"): number for number in range(300)}
    for name, number in pairs.items():
        client.set(name, number, ttl=100, no_reply=True)
    found = client.multi_get([*pairs, Key("absent")])
    assert found == {**pairs, Key("absent"): None}


def test_arithmetic(client, key):
    assert client.delta(key, 1) is False
    assert client.delta_and_get(key, 1) is None
    assert client.delta_initialize_and_get(key, 5, initial_value=10, initial_ttl=100) == 10
    assert client.delta_initialize_and_get(key, 5, initial_value=10, initial_ttl=100) == 15
    assert client.delta_and_get(key, -3) == 12
    assert client.delta_and_get(key, -100) == 0
    assert client.delta(key, 7, refresh_ttl=100) is True
    assert client.delta_and_get(key, 1) == 8


def test_a_stale_item_is_recached_by_one_winner(client, key):
    policy = StalePolicy(mark_stale_on_deletion_ttl=60, mark_stale_on_cas_mismatch=True)
    client.set(key, "old", ttl=100)
    _, token = client.get_cas(key)
    assert client.delete(key, stale_policy=policy) is True
    assert client.get(key) is None, "the first reader wins the recache and sees a miss"
    assert client.get(key) == "old", "later readers see the stale value"
    assert client.set(key, "late", ttl=100, cas_token=token, stale_policy=policy) is True
    assert client.get(key) in (None, "late")
    client.set(key, "new", ttl=100)
    assert client.get(key) == "new"


def test_recache_before_expiry(client, key):
    client.set(key, "x", ttl=5)
    policy = RecachePolicy(ttl=30)
    assert client.get(key, recache_policy=policy) is None
    assert client.get(key, recache_policy=policy) == "x"


def test_a_lease_goes_to_one_reader(client, key):
    policy = LeasePolicy(ttl=30, miss_retries=2, miss_retry_wait=0.01)
    assert client.get_or_lease(key, policy) is None
    waits = []
    assert client.get_or_lease(key, policy, lease_wait_fn=waits.append) is None
    assert waits, "the second reader waited for the first"
    client.set(key, "filled", ttl=100)
    assert client.get_or_lease(key, policy) == "filled"
