"""What code written for pymemcache relies on: each test runs with pymemcache itself, and with ours by both ways."""

import importlib
import inspect
import time

import pytest


def names(library, module):
    """A module of the library under test, by pymemcache's name for it."""
    return importlib.import_module(f"{library.module.__name__}.{module}")


def raises(library, name):
    return pytest.raises(getattr(library.module, name))


def test_our_operations_go_the_way_that_was_asked_for(client, library, key):
    client.get(key)
    if library.is_ours:
        assert (client.lanes() is not None) == (library.transport == "fabric")


def test_set_and_get(client, key):
    assert client.get(key) is None
    assert client.get(key, default=b"other") == b"other"
    assert client.set(key, b"value") is True
    assert client.get(key) == b"value"
    assert client.get(key.encode()) == b"value"
    assert client[key] == b"value"


def test_used_as_a_dictionary(client, key):
    client[key] = b"value"
    assert client[key] == b"value"
    del client[key]
    with pytest.raises(KeyError):
        client[key]


@pytest.mark.parametrize("length", [0, 1, 8191, 8192, 8193, 65536, 1_000_000])
def test_values_of_every_size_come_back(client, key, length):
    value = bytes(number % 251 for number in range(length))
    assert client.set(key, value) is True
    assert client.get(key) == value


@pytest.mark.parametrize("value, stored", [("text", b"text"), (17, b"17"), (2.5, b"2.5"), (None, b"None")])
def test_what_is_no_bytes_is_stored_as_its_text(client, key, value, stored):
    assert client.set(key, value) is True
    assert client.get(key) == stored


def test_a_text_that_cannot_be_written_is_refused(client, library, key):
    with raises(library, "MemcacheIllegalInputError"):
        client.set(key, "\N{SNOWMAN}")


def test_a_text_in_another_encoding(library, server, key):
    client = library.client(server, encoding="utf8", default_noreply=False)
    client.set(key, "\N{SNOWMAN}")
    assert client.get(key) == "\N{SNOWMAN}".encode()
    client.close()


def test_gets_and_cas(client, key):
    assert client.gets(key) == (None, None)
    assert client.gets(key, default=1, cas_default=2) == (1, 2)
    assert client.cas(key, b"x", b"1") is None
    client.set(key, b"1")
    value, token = client.gets(key)
    assert value == b"1" and isinstance(token, bytes) and token.isdigit()
    assert client.cas(key, b"2", token) is True
    assert client.cas(key, b"3", token) is False
    assert client.cas(key, b"3", 0) is False
    assert client.cas(key, b"3", str(int(client.gets(key)[1]))) is True
    assert client.cas(key, b"4", int(client.gets(key)[1])) is True
    assert client.get(key) == b"4"


@pytest.mark.parametrize("token", [None, "x", b"1x", "\N{SNOWMAN}", -1])
def test_a_token_that_is_none_is_refused(client, library, key, token):
    with raises(library, "MemcacheIllegalInputError"):
        client.cas(key, b"x", token)


def test_add_replace_append_prepend(client, key):
    assert client.replace(key, b"0") is False
    assert client.append(key, b"0") is False
    assert client.prepend(key, b"0") is False
    assert client.add(key, b"1") is True
    assert client.add(key, b"2") is False
    assert client.replace(key, b"3") is True
    assert client.append(key, b"4") is True
    assert client.prepend(key, b"2") is True
    assert client.get(key) == b"234"


def test_delete(client, key):
    assert client.delete(key) is False
    client.set(key, b"x")
    assert client.delete(key) is True
    assert client.get(key) is None


def test_incr_and_decr(client, library, key):
    assert client.incr(key, 1) is None
    client.set(key, b"10")
    assert client.incr(key, 5) == 15
    assert client.decr(key, 20) == 0
    client.set(key, b"18446744073709551615")
    assert client.incr(key, 2) == 1
    client.set(key, b"ten")
    with raises(library, "MemcacheClientError"):
        client.incr(key, 1)
    with raises(library, "MemcacheClientError"):
        client.incr(key, -1)
    with raises(library, "MemcacheIllegalInputError"):
        client.incr(key, "1")
    client.set(key, b"1")
    assert client.incr(key, 1, noreply=True) is None
    assert client.get(key) == b"2"


def test_touch_and_expiry(client, library, key):
    assert client.touch(key, 100) is False
    client.set(key, b"x")
    assert client.touch(key, 100) is True
    assert client.touch(key, expire=-1) is True
    assert client.get(key) is None
    client.set(key, b"x", expire=-1)
    assert client.get(key) is None
    client.set(key, b"x", expire=int(time.time()) + 100)
    assert client.get(key) == b"x"
    client.set(key, b"x", expire=int(time.time()) - 100)
    assert client.get(key) is None
    with raises(library, "MemcacheIllegalInputError"):
        client.set(key, b"x", expire="soon")


def test_many_keys_at_once(client, key):
    pairs = {f"{key}-{number}": b"%d" % number for number in range(300)}
    assert client.set_many(pairs) == []
    assert client.get_many([*pairs, "absent"]) == pairs
    assert client.get_multi(list(pairs)[:2]) == dict(list(pairs.items())[:2])
    found = client.gets_many(list(pairs)[:50])
    assert {name: value for name, (value, _) in found.items()} == dict(list(pairs.items())[:50])
    assert all(token.isdigit() for _, token in found.values())
    assert client.delete_many(pairs) is True
    assert client.get_many(pairs) == {}
    assert client.get_many([]) == {} and client.delete_many([]) is True


def test_keys_of_both_kinds_come_back_as_they_were_given(client, key):
    client.set(key, b"x")
    assert client.get_many([key.encode()]) == {key.encode(): b"x"}


def test_what_is_too_large_is_refused_and_the_client_lives(client, library, key):
    client.set(key, b"old")
    with raises(library, "MemcacheServerError"):
        client.set(key, b"x" * (2 << 20))
    assert client.version().startswith(b"1.")


def test_noreply_is_seen_by_what_follows(library, server, key):
    client = library.client(server)
    assert client.set(key, b"quiet") is True
    assert client.get(key) == b"quiet"
    assert client.add(key, b"again") is True
    assert client.delete("absent") is True
    assert client.touch("absent") is True
    assert client.set_many({key: b"many"}) == []
    assert client.get(key) == b"many"
    assert client.delete(key) is True
    assert client.get(key) is None
    client.close()


@pytest.mark.parametrize("wrong", ["two words", "line\n", b"a\0b", "k" * 251, "\N{SNOWMAN}"])
def test_keys_that_cannot_be_are_refused(client, library, wrong):
    for call in (client.get, client.delete, lambda key: client.get_many([key]), lambda key: client.set(key, b"x")):
        with raises(library, "MemcacheIllegalInputError"):
            call(wrong)


def test_a_key_is_text_or_bytes(client):
    with pytest.raises((TypeError, AttributeError)):
        client.get(17)


def test_the_longest_key_counts_the_prefix(library, server):
    client = library.client(server, key_prefix=b"p" * 50, default_noreply=False)
    assert client.set("k" * 200, b"x") is True
    assert client.get("k" * 200) == b"x"
    with raises(library, "MemcacheIllegalInputError"):
        client.get("k" * 201)
    client.close()


def test_a_prefix_is_added_and_taken_away(library, server, client, key):
    prefixed = library.client(server, key_prefix="in:", default_noreply=False)
    prefixed.set(key, b"x")
    assert prefixed.get_many([key]) == {key: b"x"}
    assert client.get(f"in:{key}") == b"x" and client.get(key) is None
    prefixed.close()
    with pytest.raises(TypeError):
        library.client(server, key_prefix=17)


def test_unicode_keys(library, server, key):
    client = library.client(server, allow_unicode_keys=True, default_noreply=False)
    assert client.set(f"\N{SNOWMAN}{key}", b"x") is True
    assert client.get(f"\N{SNOWMAN}{key}") == b"x"
    assert client.get_many([f"\N{SNOWMAN}{key}"]) == {f"\N{SNOWMAN}{key}": b"x"}
    client.close()


@pytest.mark.parametrize("flags", [0, 1, 0xFFFF, 0xFFFFFFFF])
def test_flags_come_back_to_the_deserializer(library, server, key, flags):
    class Flags:
        def serialize(self, key, value):
            return value, flags

        def deserialize(self, key, value, found):
            return key, value, found

    client = library.client(server, serde=Flags(), default_noreply=False)
    client.set(key, b"x")
    assert client.get(key) == (key, b"x", flags)
    assert client.get_many([key]) == {key: (key, b"x", flags)}
    assert client.gets(key)[0] == (key, b"x", flags)
    client.set(key, b"x", flags=7)
    assert client.get(key) == (key, b"x", 7)
    client.close()


def test_two_functions_as_serializer(library, server, key):
    client = library.client(
        server,
        serializer=lambda key, value: (value[::-1], 3),
        deserializer=lambda key, value, flags: (value[::-1], flags),
        default_noreply=False,
    )
    client.set(key, b"abc")
    assert client.get(key) == (b"abc", 3)
    client.close()


@pytest.mark.parametrize("value", [b"bytes", "t\N{LATIN SMALL LETTER E WITH ACUTE}xt", -17, 2.5, None, {"a": [1, None]}, "long " * 1000])
@pytest.mark.parametrize("name", ["pickle_serde", "compressed_serde"])
def test_serialisers_read_what_either_library_wrote(library, server, key, name, value):
    serde = getattr(names(library, "serde"), name)
    client = library.client(server, serde=serde, default_noreply=False)
    client.set(key, value)
    assert client.get(key) == value
    pymemcache_serde = importlib.import_module("pymemcache.serde")
    ours = importlib.import_module("farcache.serde")
    for reading in (getattr(pymemcache_serde, name), getattr(ours, name)):
        item = library.client(server, serde=reading)
        assert item.get(key) == value
        item.close()
    client.close()


def test_failures_count_as_misses_where_that_is_asked_for(library, server, key):
    class Broken:
        def serialize(self, key, value):
            return value, 0

        def deserialize(self, key, value, flags):
            raise RuntimeError("broken")

    client = library.client(server, serde=Broken(), default_noreply=False)
    client.set(key, b"x")
    with pytest.raises(RuntimeError):
        client.get(key)
    client.close()
    client = library.client(server, serde=Broken(), ignore_exc=True)
    assert client.get(key, default=1) == 1
    assert client.get_many([key]) == {}
    client.close()


def test_nobody_there(library):
    import servers

    absent = type("Absent", (), {"socket_path": None, "host": "127.0.0.1", "port": servers.free_port()})
    client = library.client(absent)
    with pytest.raises(ConnectionRefusedError):
        client.get("key")
    with pytest.raises(OSError):
        client.set("key", b"x")
    patient = library.client(absent, ignore_exc=True)
    assert patient.get("key", 1) == 1 and patient.get_many(["key"]) == {}


def test_stats_and_version(client):
    stats = client.stats()
    assert stats[b"pid"] > 0 and stats[b"threads"] > 0
    assert isinstance(stats[b"rusage_user"], float)
    assert {b"cmd_get", b"curr_items", b"limit_maxbytes", b"evictions"} <= stats.keys()
    assert client.stats("settings")[b"maxbytes"]
    assert client.version()


def test_commands_of_the_text_protocol(client, library, key):
    assert client.raw_command(b"verbosity 1") == b"OK"
    assert client.raw_command("verbosity 0") == b"OK"
    client.set(key, b"x")
    reply = client.raw_command(f"gat 100 {key}", end_tokens="END\r\n")
    assert reply == f"VALUE {key} 0 1\r\nx\r\n".encode()
    with raises(library, "MemcacheUnknownCommandError"):
        client.raw_command("nonsense")
    assert client.cache_memlimit(64) is True


def test_flush_all(library, start, key):
    client = library.client(start(), default_noreply=False)
    client.set(key, b"x")
    assert client.flush_all() is True
    assert client.get(key) is None
    client.close()


def test_a_closed_client_connects_again(client, key):
    client.set(key, b"x")
    client.close()
    assert client.get(key) == b"x"
    client.quit()
    assert client.get(key) == b"x"


def test_pooled_client(library, server, key):
    client = library.module.PooledClient((server.host, server.port), max_pool_size=4, default_noreply=False)
    assert client.set(key, b"x") is True
    assert client.get(key) == b"x"
    assert client.get_many([key]) == {key: b"x"}
    client.close()


def test_a_unix_socket(library, start, key):
    client = library.client(start("unix"), default_noreply=False)
    assert client.set(key, b"x") is True and client.get(key) == b"x"
    client.close()


def test_hash_client(library, server, second_server, key):
    places = [(each.host, each.port) for each in (server, second_server)]
    client = library.hash_client(places, default_noreply=False)
    pairs = {f"{key}-{number}": b"%d" % number for number in range(100)}
    assert client.set_many(pairs) == []
    assert client.get_many(pairs) == pairs
    assert {name: value for name, (value, _) in client.gets_many(pairs).items()} == pairs
    one = f"{key}-0"
    assert client.get(one) == b"0" and client.get("absent", 1) == 1
    value, token = client.gets(one)
    assert client.cas(one, b"1", token) is True
    assert client.incr(one, 1) == 2 and client.decr(one, 1) == 1
    assert client.add(one, b"x") is False and client.replace(one, b"x") is True
    assert client.append(one, b"y") is True and client.prepend(one, b"w") is True
    assert client.get(one) == b"wxy" and client.touch(one, 100) is True
    assert client.delete(one) is True and client.delete_many(pairs) is True
    assert client.get_many(pairs) == {}
    client.close()


def test_every_argument_of_pymemcache_is_known():
    """Names and order of arguments, for every public method of each class."""
    import farcache
    import pymemcache

    for name in ("Client", "PooledClient", "HashClient"):
        theirs, ours = getattr(pymemcache, name), getattr(farcache, name)
        for method, function in inspect.getmembers(theirs, inspect.isfunction):
            if method.startswith("_"):
                continue
            mine = inspect.signature(getattr(ours, method))
            if any(each.kind is each.VAR_POSITIONAL for each in mine.parameters.values()):
                continue
            wanted = [each for each in inspect.signature(function).parameters if each not in ("args", "kwargs")]
            assert list(mine.parameters)[: len(wanted)] == wanted, f"{name}.{method}"
    theirs = inspect.signature(pymemcache.Client.__init__).parameters
    assert list(inspect.signature(farcache.Client.__init__).parameters)[: len(theirs)] == list(theirs)
