#!/usr/bin/env python3
"""Compares a GET from Python with one from C: latency.py FARCACHED LIBRARY_FOLDER [--rounds N] [--calls N]

Starts the server on processor 0 and measures on processor 1, all clients in turn in each round; prints the medians of the
rounds' medians in microseconds, and beside them the least and the greatest. LIBRARY_FOLDER has libfarcache.so.1, as
scripts/c-library lays it out.
"""

import argparse
import asyncio
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time

import farcache
import farcache.aio
import pymemcache

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
SERVER_CPU, CLIENT_CPU = 0, 1


def median_us(call, calls):
    """The median of so many calls in a row, after a tenth as many that do not count."""
    for _ in range(calls // 10):
        call()
    took_ns = []
    clock = time.perf_counter_ns
    for _ in range(calls):
        start_ns = clock()
        call()
        took_ns.append(clock() - start_ns)
    return statistics.median(took_ns) / 1000


def of_c(program, port, transport, key, calls):
    """The same in C."""
    environment = dict(os.environ, FARCACHE_TRANSPORT=transport, UCX_LOG_LEVEL="error")
    command = ["taskset", "-c", str(CLIENT_CPU), program, f"127.0.0.1:{port}", key, str(calls)]
    told = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return statistics.median(map(int, told.split())) / 1000


def of_asyncio(port, transport, key, calls):
    """One awaited GET after the other."""

    async def measure():
        async with farcache.aio.Client(("127.0.0.1", port), transport=transport) as client:
            took_ns = []
            for _ in range(calls):
                start_ns = time.perf_counter_ns()
                await client.get(key)
                took_ns.append(time.perf_counter_ns() - start_ns)
            return statistics.median(took_ns[calls // 10 :]) / 1000

    return asyncio.run(measure())


def of_asyncio_together(port, transport, key, calls):
    """For each of 64 that are awaited together."""

    async def measure():
        async with farcache.aio.Client(("127.0.0.1", port), transport=transport) as client:
            took_ns = []
            for _ in range(max(20, calls // 64)):
                start_ns = time.perf_counter_ns()
                await asyncio.gather(*(client.get(key) for _ in range(64)))
                took_ns.append((time.perf_counter_ns() - start_ns) / 64)
            return statistics.median(took_ns) / 1000

    return asyncio.run(measure())


def rows(port, program, calls):
    """Name and measurement of each way."""
    place = "127.0.0.1", port
    clients = {name: farcache.Client(place, transport=name) for name in ("fabric", "tcp")}
    theirs = pymemcache.Client(place, no_delay=True)
    large = bytearray(1_000_000)
    fabric = clients["fabric"]
    measured = {
        "C, 64 B, fabric": lambda: of_c(program, port, "fabric", "small", calls),
        "Python get, 64 B, fabric": lambda: median_us(lambda: fabric.get("small"), calls),
        "Python get with a serde, 64 B, fabric": None,
        "Python get_many of 48, for each key, fabric": None,
        "Python set, 64 B, fabric": lambda: median_us(lambda: fabric.set("other", b"v" * 64), calls),
        "asyncio get, 64 B, fabric": lambda: of_asyncio(port, "fabric", "small", calls // 4),
        "asyncio, 64 together, for each, fabric": lambda: of_asyncio_together(port, "fabric", "small", calls // 4),
        "C, 64 B, sockets": lambda: of_c(program, port, "tcp", "small", calls // 4),
        "Python get, 64 B, sockets": lambda: median_us(lambda: clients["tcp"].get("small"), calls // 4),
        "pymemcache get, 64 B, sockets": lambda: median_us(lambda: theirs.get("small"), calls // 4),
        "Python get, 1 MB, fabric": lambda: median_us(lambda: fabric.get("large"), calls // 100),
        "Python get_view, 1 MB, fabric": lambda: median_us(lambda: fabric.get_view("large"), calls // 100),
        "Python get_into, 1 MB, fabric": lambda: median_us(lambda: fabric.get_into("large", large), calls // 100),
        "pymemcache get, 1 MB, sockets": lambda: median_us(lambda: theirs.get("large"), calls // 100),
    }
    serialising = farcache.Client(place, transport="fabric", serde=farcache.serde.pickle_serde)
    measured["Python get with a serde, 64 B, fabric"] = lambda: median_us(lambda: serialising.get("small"), calls)
    keys = [f"many-{number}" for number in range(48)]
    fabric.set_many(dict.fromkeys(keys, b"v" * 64))
    many = lambda: median_us(lambda: fabric.get_many(keys), calls // 40) / 48  # noqa: E731
    measured["Python get_many of 48, for each key, fabric"] = many
    return measured


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("farcached")
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=20_000)
    chosen = parser.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["taskset", "-c", str(SERVER_CPU), chosen.farcached, "-l", "127.0.0.1", "-p", str(port), "-t", "1"]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "get"
        link = [f"-L{chosen.library}", "-lfarcache", f"-Wl,-rpath,{chosen.library.resolve()}"]
        include = f"-I{REPOSITORY}/bindings/c/include"
        subprocess.run(["cc", "-O2", include, HERE / "get.c", "-o", program, *link], check=True)
        server = subprocess.Popen([*command, *(["-u", "root"] if os.geteuid() == 0 else [])])
        try:
            measure(port, program, chosen)
        finally:
            server.terminate()
            server.wait()


def measure(port, program, chosen):
    os.sched_setaffinity(0, {CLIENT_CPU})
    deadline = time.monotonic() + 30
    while True:
        try:
            farcache.Client(("127.0.0.1", port)).set("small", b"v" * 64, noreply=False)
            break
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    farcache.Client(("127.0.0.1", port)).set("large", bytes(1_000_000), noreply=False)
    measured = rows(port, program, chosen.calls)
    figures = {name: [] for name in measured}
    for _ in range(chosen.rounds):
        for name, call in measured.items():
            figures[name].append(call())
    for name, values in figures.items():
        print(f"{name:46} {statistics.median(values):8.2f} ({min(values):.2f} to {max(values):.2f})")


if __name__ == "__main__":
    main()
