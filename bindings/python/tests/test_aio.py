"""The client for asyncio."""

import asyncio
import gc
import os
import threading

import farcache
import numpy
import pytest
from conftest import PATIENCE
from farcache import aio


@pytest.fixture
def run(server, transport):
    """Runs a coroutine function with a client."""

    def run_one(function, **settings):
        async def main():
            place = server.host, server.port
            async with aio.Client(place, transport=transport, **PATIENCE, **settings) as client:
                return await asyncio.wait_for(function(client), 60)

        return asyncio.run(main())

    return run_one


def test_every_operation(run, key, transport):
    async def operations(client):
        assert await client.get(key) is None and await client.get(key, 1) == 1
        assert await client.replace(key, b"0") is False and await client.append(key, b"0") is False
        assert await client.add(key, b"b") is True and await client.add(key, b"x") is False
        assert await client.append(key, b"c") is True and await client.prepend(key, b"a") is True
        assert await client.get(key) == b"abc"
        value, token = await client.gets(key)
        assert value == b"abc" and await client.gets("absent") == (None, None)
        assert await client.cas(key, b"1", token) is True and await client.cas(key, b"2", token) is False
        assert await client.cas("absent", b"2", token) is None
        assert await client.incr(key, 5) == 6 and await client.decr(key, 7) == 0 and await client.incr("absent", 1) is None
        assert await client.touch(key, 100) is True and await client.touch("absent") is False
        assert await client.get_many([key, "absent"]) == {key: b"0"}
        assert (await client.gets_many([key]))[key][1].isdigit()
        assert await client.gat(key, -1) == b"0" and await client.get(key) is None
        assert await client.set(key, b"x") is True
        assert await client.delete(key) is True and await client.delete(key) is False
        assert (await client.version()).startswith(b"1.") and int((await client.stats())[b"pid"]) > 0
        assert (client.lanes() is not None) == (transport == "fabric")

    run(operations)


def test_everything_is_dropped(start, transport):
    server = start()

    async def main():
        async with aio.Client((server.host, server.port), transport=transport, **PATIENCE) as client:
            await client.set("key", b"x")
            assert await client.flush_all() is True
            assert await client.get("key") is None

    asyncio.run(main())


def test_a_thousand_at_a_time_without_a_thread_for_each(run, key):
    async def operations(client):
        await client.get(key)
        threads = len(os.listdir("/proc/self/task"))
        names = [f"{key}-{number}" for number in range(1000)]
        sets = asyncio.gather(*(client.set(name, name.encode()) for name in names))
        await asyncio.sleep(0)
        assert len(os.listdir("/proc/self/task")) == threads
        assert set(await sets) == {True}
        assert await asyncio.gather(*map(client.get, names)) == [name.encode() for name in names]

    run(operations)


@pytest.mark.parametrize("length", [10, 1_000_000])
def test_memory_without_copies(run, key, length):
    stored = numpy.arange(length, dtype=numpy.uint8)

    async def operations(client):
        await client.set(key, stored)
        received = numpy.zeros(length, dtype=numpy.uint8)
        assert await client.get_into(key, received) == length and numpy.array_equal(received, stored)
        assert await client.get_view(key) == stored.tobytes()
        assert await client.get_view("absent") is None and await client.get_into("absent", received) is None
        with pytest.raises(farcache.BufferTooSmallError):
            await client.get_into(key, bytearray(length - 1))

    run(operations)


def test_a_value_may_be_forgotten_while_it_is_sent(run, key):
    async def operations(client):
        sets = [asyncio.ensure_future(client.set(f"{key}-{n}", bytearray([n]) * 300_000)) for n in range(20)]
        await asyncio.sleep(0)
        gc.collect()
        assert all(await asyncio.gather(*sets))
        for number in range(20):
            assert await client.get(f"{key}-{number}") == bytes([number]) * 300_000

    run(operations)


def test_serialisers(run, key):
    async def operations(client):
        await client.set(key, {"a": [1, None]})
        assert await client.get(key) == {"a": [1, None]}
        assert await client.get_many([key]) == {key: {"a": [1, None]}}
        assert (await client.gets(key))[0] == {"a": [1, None]}

    run(operations, serde=farcache.serde.pickle_serde, key_prefix="in:")


def test_failures_reach_the_caller(run, key):
    async def operations(client):
        with pytest.raises(farcache.MemcacheIllegalInputError):
            await client.get("two words")
        await client.set(key, b"ten")
        with pytest.raises(farcache.MemcacheClientError):
            await client.incr(key, 1)
        with pytest.raises(farcache.MemcacheServerError):
            await client.set(key, b"x" * (2 << 20))

    run(operations)


def test_a_cancelled_call_leaves_the_client_in_order(run, key):
    async def operations(client):
        await client.set(key, b"x" * 500_000)
        calls = [asyncio.ensure_future(client.get(key)) for _ in range(20)]
        await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()
        ended = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(each) for each in ended[::2]] == [asyncio.CancelledError] * 10
        assert set(ended[1::2]) == {b"x" * 500_000}

    run(operations)


def test_closing_cancels_what_is_under_way(server, transport, key):
    async def main():
        client = aio.Client((server.host, server.port), transport=transport, **PATIENCE)
        await client.get(key)
        calls = [asyncio.ensure_future(client.get(key)) for _ in range(20)]
        await asyncio.sleep(0)
        await client.close()
        ended = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(each) for each in ended} <= {asyncio.CancelledError, type(None)}
        assert await client.get(key, 1) == 1
        await client.close()

    asyncio.run(main())


def test_a_server_that_dies_ends_every_call(start, transport):
    server = start()

    async def main():
        client = aio.Client((server.host, server.port), transport=transport, **PATIENCE)
        await client.get("key")
        server.pause()
        calls = [asyncio.ensure_future(client.get("key")) for _ in range(20)]
        await asyncio.sleep(0)
        server.kill()
        ended = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 60)
        assert all(isinstance(each, farcache.MemcacheError | OSError) for each in ended), ended

    asyncio.run(main())
    server.stop = lambda: 0


def test_two_loops_in_two_threads(server, transport, key):
    failures = []

    def work(thread):
        async def main():
            async with aio.Client((server.host, server.port), transport=transport, **PATIENCE) as client:
                names = [f"{key}-{thread}-{number}" for number in range(200)]
                await asyncio.gather(*(client.set(name, name) for name in names))
                got = await asyncio.gather(*map(client.get, names))
                failures.extend(set(got) ^ {name.encode() for name in names})

        asyncio.run(main())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
