"""Reads and writes values by pylibmc, round after round, while servers die: rounds.py HOST:PORT...

It says "round N" after each round, and ends when standard input does. Every read must bring the
last value that was written: what does not is said, and the last line is how many reads there were,
and how many of them were wrong or failed.
"""

import functools
import itertools
import select
import sys

import pylibmc

KEYS = 12
PATIENCE_MS = 60000
LENGTHS = [1, 900, 32000, 33000, 120000, 300001]
# A server that dies in the middle of a write may leave it unknown whether that took effect: it is
# written again.
TRIES_MAX = 10


def value_of(number, generation):
    start = b"%d of generation %d;" % (number, generation)
    length = LENGTHS[number % len(LENGTHS)]
    return (start * (length // len(start) + 1))[:length] + b"%d" % generation


class Program:
    """The client, and what it has seen."""

    def __init__(self, addresses):
        behaviors = {"_poll_timeout": PATIENCE_MS, "connect_timeout": PATIENCE_MS}
        self.client = pylibmc.Client(addresses, behaviors=behaviors)
        self.reads = self.wrong = 0

    def set(self, number, generation):
        for _ in range(TRIES_MAX):
            try:
                if self.client.set(f"key-{number}", value_of(number, generation)):
                    return
            except pylibmc.Error as error:
                print(f"note: set of {number}: {error}", file=sys.stderr)
        print(f"set of {number} has failed")

    def check(self, what, number, generation, read):
        self.reads += 1
        try:
            found = read()
        except pylibmc.Error as error:
            found = str(error)
        if found != value_of(number, generation):
            self.wrong += 1
            print(f"{what} of {number} is wrong: {found and found[-40:]}")

    def round(self, generation):
        for number in range(KEYS):
            get = functools.partial(self.client.get, f"key-{number}")
            self.check("get", number, generation - 1, get)
            self.set(number, generation)
            self.check("get after set", number, generation, get)
        found = self.client.get_multi([f"key-{number}" for number in range(KEYS)])
        for number in range(KEYS):
            self.check("get_multi", number, generation, lambda: found.get(f"key-{number}"))


def main():
    program = Program(sys.argv[1:])
    for number in range(KEYS):
        program.set(number, 0)
    for generation in itertools.count(1):
        program.round(generation)
        print("round", generation, flush=True)
        if select.select([sys.stdin], [], [], 0)[0]:
            break
    print(f"{program.reads} reads, {program.wrong} wrong")


main()
