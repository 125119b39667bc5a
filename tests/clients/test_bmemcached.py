"""python-binary-memcached: the binary protocol over every kind of socket, and SASL."""

import bmemcached
import pytest
import servers


def connect(server, **more):
    return bmemcached.Client((server.address,), tls_context=server.tls, socket_timeout=servers.PATIENCE_SECONDS, **more)


@pytest.fixture
def client(server):
    client = connect(server)
    yield client
    client.disconnect_all()


def test_set_and_get(client, key):
    assert client.get(key) is None
    assert client.set(key, "value") is True
    assert client.get(key) == "value"


@pytest.mark.parametrize("length", [0, 1, 4096, 65536, 1000000])
def test_values_of_every_size_come_back(client, key, length):
    value = bytes(number % 241 for number in range(length))
    assert client.set(key, value, compress_level=0)
    assert client.get(key) == value


def test_python_objects_and_compression(client, key):
    thing = {"numbers": list(range(5000))}
    assert client.set(key, thing, compress_level=6)
    assert client.get(key) == thing


def test_add_and_replace(client, key):
    assert client.replace(key, "0") is False
    assert client.add(key, "1") is True
    assert client.add(key, "2") is False
    assert client.replace(key, "3") is True
    assert client.get(key) == "3"


def test_cas(client, key):
    client.set(key, "1")
    value, token = client.gets(key)
    assert value == "1" and token
    assert client.cas(key, "2", token) is True
    assert client.cas(key, "3", token) is False
    assert client.get(key) == "2"


def test_a_delete_with_a_token(client, key):
    client.set(key, "1")
    _, old = client.gets(key)
    client.set(key, "2")
    assert client.delete(key, cas=old) is False
    _, token = client.gets(key)
    assert client.delete(key, cas=token) is True
    assert client.get(key) is None


def test_many_keys_at_once(client, key):
    pairs = {f"{key}-{number}": f"{number}" for number in range(300)}
    assert client.set_multi(pairs) == []
    assert client.get_multi([*pairs, "absent"]) == pairs
    assert client.delete_multi(pairs) is True
    assert client.get_multi(pairs) == {}


def test_incr_and_decr(client, key):
    assert client.incr(key, 5, default=10) == 10
    assert client.incr(key, 5) == 15
    assert client.decr(key, 3) == 12
    assert client.decr(key, 100) == 0


def test_delete(client, key):
    client.set(key, "x")
    assert client.delete(key) is True
    assert client.get(key) is None


def test_stats_and_flush(client, key):
    [stats] = client.stats().values()
    assert int(stats["pid"]) > 0
    client.set(key, "x")
    assert client.flush_all() is True
    assert client.get(key) is None


@pytest.fixture(scope="module", params=["tcp", "unix", "tls"])
def sasl_server(request, start, tmp_path_factory, needs_sasl):
    """A server that lets in nobody without a password."""
    users = tmp_path_factory.mktemp("sasl") / "users"
    users.write_text("alice:wonder\nbob:builder\n")
    return start(request.param, ["-S"], environment={"MEMCACHED_SASL_PWDB": str(users)})


def test_sasl_lets_in_who_knows_the_password(sasl_server, key):
    client = connect(sasl_server, username="bob", password="builder")
    assert client.set(key, "x") is True
    assert client.get(key) == "x"
    client.disconnect_all()


def test_sasl_keeps_out_who_does_not(sasl_server, key):
    client = connect(sasl_server, username="bob", password="wonder")
    with pytest.raises(bmemcached.exceptions.MemcachedException, match="Auth failure"):
        client.get(key)
    anonymous = connect(sasl_server)
    with pytest.raises(bmemcached.exceptions.MemcachedException):
        anonymous.set(key, "x")
