"""What pymemcache does not have: the fabric, memory without copies, threads that share a client, forks."""

import array
import json
import os
import pathlib
import signal
import ssl
import subprocess
import sys
import threading
import time

import farcache
import numpy
import pymemcache
import pytest
import servers
from conftest import PATIENCE, REPOSITORY
from farcache.client.rendezvous import RendezvousHash


@pytest.fixture
def client(server, transport):
    made = farcache.Client((server.host, server.port), transport=transport, default_noreply=False, **PATIENCE)
    yield made
    made.close()


def test_the_lanes_tell_what_carries_the_operations(client, transport):
    assert client.lanes() is None
    client.get("key")
    assert (client.lanes() or "tcp") != "tcp" if transport == "fabric" else client.lanes() is None


def test_the_fabric_is_demanded_in_vain(start):
    server = start("tcp", ["--fabric", "off"])
    client = farcache.Client((server.host, server.port), transport="fabric", **PATIENCE)
    with pytest.raises(farcache.FabricUnavailableError):
        client.get("key")
    anyhow = farcache.Client((server.host, server.port), **PATIENCE)
    assert anyhow.get("key") is None and anyhow.lanes() is None


@pytest.mark.parametrize("length", [0, 1, 8192, 8193, 1_000_000])
def test_a_view_is_the_value_itself(client, key, length):
    value = bytes(number % 251 for number in range(length))
    client.set(key, value)
    view = client.get_view(key)
    assert isinstance(view, memoryview) and view.readonly and view == value
    client.close()
    assert view == value
    assert client.get_view("absent") is None


@pytest.mark.parametrize("kind", [bytearray, memoryview, lambda value: array.array("B", value)])
@pytest.mark.parametrize("length", [0, 10, 100_000])
def test_buffers_are_stored_as_they_are(client, key, kind, length):
    value = bytes(number % 251 for number in range(length))
    client.set(key, kind(value))
    assert client.get(key) == value
    client.set_many({key: kind(value[::-1])})
    assert client.get(key) == value[::-1]


@pytest.mark.parametrize("shape", [(0,), (16,), (300, 400)])
def test_arrays_are_stored_and_received_in_place(client, key, shape):
    stored = numpy.arange(numpy.prod(shape), dtype=numpy.float64).reshape(shape)
    client.set(key, stored)
    received = numpy.full(shape, -1.0)
    place = received.__array_interface__["data"]
    assert client.get_into(key, received) == stored.nbytes
    assert numpy.array_equal(received, stored) and received.__array_interface__["data"] == place
    assert numpy.array_equal(numpy.frombuffer(client.get_view(key) or b"").reshape(shape), stored)


def test_a_number_of_numpy_is_stored_as_its_text(client, key):
    client.set(key, numpy.int64(17))
    assert client.get(key) == b"17" and client.incr(key, 1) == 18


def test_a_larger_buffer_keeps_what_is_behind_the_value(client, key):
    client.set(key, b"value")
    room = bytearray(b"........")
    assert client.get_into(key, room) == 5 and room == b"value..."
    assert client.get_into("absent", room) is None and room == b"value..."
    room.append(0)


@pytest.mark.parametrize("length", [10, 100_000])
def test_a_buffer_that_is_too_small_is_left_alone(client, key, length):
    client.set(key, b"x" * length)
    room = bytearray(length - 1)
    with pytest.raises(farcache.BufferTooSmallError, match=str(length)):
        client.get_into(key, room)
    assert room == bytes(length - 1)


def test_what_is_no_room_is_refused(client, key):
    client.set(key, b"x")
    for room in (b"bytes", memoryview(bytearray(8))[::2], "text"):
        with pytest.raises((TypeError, BufferError)):
            client.get_into(key, room)
    with pytest.raises((TypeError, BufferError)):
        client.set(key, numpy.zeros((4, 4))[:, 1])


def test_gat_gives_a_new_expiry(client, key):
    client.set(key, b"x", expire=100)
    assert client.gat(key, 0) == b"x"
    value, token = client.gats(key, -1)
    assert value == b"x" and token.isdigit()
    assert client.get(key) is None and client.gat(key, 1, default=2) == 2


def test_more_keys_than_one_multi_get_takes(client, key):
    pairs = {f"{key}-{number}": b"x" for number in range(0, 70_000, 7)}
    assert client.set_many(pairs) == []
    assert client.get_many([f"{key}-{number}" for number in range(70_000)]) == pairs
    assert client.delete_many(pairs)


def test_threads_share_a_client(client, key):
    failures = []

    def work(thread):
        for number in range(300):
            name = f"{key}-{thread}-{number % 5}"
            client.set(name, b"%d" % number)
            if client.get(name) != b"%d" % number:
                failures.append(name)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_thread_that_waits_lets_the_others_run(start):
    server = start()
    client = farcache.Client((server.host, server.port), transport="tcp", timeout=2, connect_timeout=2)
    client.get("key")
    counted = 0
    server.pause()
    try:
        waiting = threading.Thread(target=lambda: client.ignore_exc or _fails(client))
        waiting.start()
        while waiting.is_alive():
            counted += 1
    finally:
        os.kill(server.process.pid, signal.SIGCONT)
        waiting.join()
    assert counted > 1000


def _fails(client):
    with pytest.raises(TimeoutError):
        client.get("key")


def test_a_forked_process_gets_connections_of_its_own(client, key):
    client.set(key, b"parent")
    before = client.stats()[b"total_connections"]
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if client.get(key) == b"parent" and client.set(key, b"child") else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.get(key) == b"child"
    assert client.stats()[b"total_connections"] > before


@pytest.fixture
def certificates(tmp_path):
    """Files: an authority's certificate, and a server's with its key."""
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    server = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1"]
    server += ["-addext", "basicConstraints=critical,CA:FALSE"]
    for name, more in (("ca", []), ("server", server)):
        command = [*make, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem", *more]
        subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    return tmp_path / "ca.pem", tmp_path / "server.pem", tmp_path / "server.key"


def test_encryption(start, certificates, key):
    authority, public, private = certificates
    server = start("tcp", ["-Z", "-o", f"ssl_chain_cert={public},ssl_key={private}"])
    context = ssl.create_default_context(cafile=str(authority))
    for settings in ({"tls_context": context}, {"tls_ca_file": str(authority)}):
        client = farcache.Client((server.host, server.port), default_noreply=False, **settings, **PATIENCE)
        assert client.set(key, b"secret") and client.get(key) == b"secret"
        assert client.raw_command("verbosity 0") == b"OK"
        client.close()
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
    with pytest.raises(ValueError, match="always checked"):
        farcache.Client((server.host, server.port), tls_context=unchecked)


def test_authentication(start, tmp_path, key, transport):
    users = tmp_path / "users"
    users.write_text("alice:wonder\n")
    os.chmod(tmp_path, 0o755)
    server = start("tcp", ["-S"], environment={"MEMCACHED_SASL_PWDB": str(users)})
    place = server.host, server.port
    client = farcache.Client(place, user="alice", password="wonder", transport=transport, **PATIENCE)
    assert client.set(key, b"x") and client.get(key) == b"x"
    with pytest.raises(farcache.MemcacheClientError, match="authentication"):
        farcache.Client(place, user="alice", password="builder", transport=transport, **PATIENCE).get(key)
    with pytest.raises(ValueError, match="belong together"):
        farcache.Client(place, user="alice")


@pytest.mark.parametrize("settings", [{"transport": "rdma"}, {"nonsense": 1}, {"timeout": -1.0}])
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError):
        farcache.Client("127.0.0.1", **settings)


def test_servers_are_written_as_pymemcache_writes_them():
    from pymemcache.client.base import normalize_server_spec as theirs
    from farcache._values import normalize_server_spec as ours

    for spec in (("h", 1), "h", "h:1", "[::1]", "[::1]:2", "unix:/run/s", "/run/s"):
        assert ours(spec) == theirs(spec), spec


def test_both_find_a_key_on_the_same_server():
    theirs_of = pymemcache.client.rendezvous.RendezvousHash
    for count in range(1, 8):
        names = [f"cache-{number}.example:{11211 + number}" for number in range(count)]
        ours, theirs = RendezvousHash(names), theirs_of(list(names))
        for number in range(200):
            for key in (f"key-{number}" + "x" * (number % 7), b"key-%d" % number, f"\N{SNOWMAN}{number}"):
                assert ours.get_node(key) == theirs.get_node(key), (names, key)


def test_the_keys_of_a_dead_server_go_to_the_others(start, key):
    alive, dying = start(), servers.Server(start().log_path.parent, path=servers.binary())
    places = [(each.host, each.port) for each in (alive, dying)]
    client = farcache.HashClient(
        places, ignore_exc=True, retry_attempts=1, retry_timeout=0.01, default_noreply=False, **PATIENCE
    )
    keys = [f"{key}-{number}" for number in range(50)]
    assert client.set_many(dict.fromkeys(keys, b"x")) == []
    dying.kill()
    deadline = time.monotonic() + servers.PATIENCE_SECONDS
    while client.set_many(dict.fromkeys(keys, b"y")) != []:
        assert time.monotonic() < deadline, "keys stay with a server that is dead"
    assert client.get_many(keys) == dict.fromkeys(keys, b"y")
    client.remove_server(*places[0])
    assert client.get(keys[0], "nowhere") == "nowhere"
    client.close()


def test_a_dead_server_comes_back(server, second_server, key):
    places = [(each.host, each.port) for each in (server, second_server)]
    client = farcache.HashClient(places, dead_timeout=0.2, default_noreply=False, **PATIENCE)
    client.remove_server(*places[0])
    keys = [f"{key}-{number}" for number in range(50)]
    client.set_many(dict.fromkeys(keys, b"x"))
    alone = farcache.Client(places[1])
    assert len(alone.get_many(keys)) == 50
    deadline = time.monotonic() + servers.PATIENCE_SECONDS
    while len(client.get_many(keys)) == 50:
        assert time.monotonic() < deadline, "the server stays dead"
        time.sleep(0.01)


def test_the_interpreter_ends_while_clients_are_open(server, transport):
    program = f"""
import asyncio, farcache, farcache.aio
client = farcache.Client(({server.host!r}, {server.port}), transport={transport!r})
client.get("key")
pending = client._core.get_many(["key"], False)
async def main():
    global other
    other = farcache.aio.Client(({server.host!r}, {server.port}), transport={transport!r})
    await other.get("key")
asyncio.run(main())
print("done")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr


def test_the_source_distribution_is_whole(tmp_path):
    """It holds every crate of ours that it needs, and the versions of the others."""
    maturin = pathlib.Path(sys.executable).parent / "maturin"
    manifest = REPOSITORY / "bindings/python/Cargo.toml"
    subprocess.run([maturin, "sdist", "--manifest-path", manifest, "--out", tmp_path], check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path], check=True)
    (source,) = tmp_path.glob("farcache-*/")
    command = ["cargo", "metadata", "--quiet", "--offline", "--format-version=1"]
    told = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert (source / "Cargo.lock").exists()
    packages = {package["name"] for package in json.loads(told.stdout)["packages"]}
    assert {"farcache-python", "farcache-client", "farcache-fabric", "farcache-ucx-sys"} <= packages
    assert "Farcache for Python" in (source / "PKG-INFO").read_text()
