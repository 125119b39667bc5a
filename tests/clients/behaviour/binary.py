"""Odd inputs in the binary protocol."""

import struct

from .case import Case

KEY = b"{k}"
KEY_BYTES = 16
OPAQUE = 0xDEADBEEF
GET, SET, ADD, REPLACE, DELETE, INCREMENT, DECREMENT, QUIT, FLUSH = range(0x00, 0x09)
GETQ, NOOP, VERSION, GETK, GETKQ, APPEND, PREPEND, STAT = range(0x09, 0x11)
SETQ, ADDQ, REPLACEQ, DELETEQ, INCREMENTQ, DECREMENTQ, QUITQ, FLUSHQ, APPENDQ, PREPENDQ, VERBOSITY = range(0x11, 0x1C)
TOUCH, GAT, GATQ, GATK, GATKQ = 0x1C, 0x1D, 0x1E, 0x23, 0x24
SASL_LIST, SASL_AUTH, SASL_STEP = 0x20, 0x21, 0x22

STORE = {"set": SET, "add": ADD, "replace": REPLACE, "setq": SETQ, "addq": ADDQ, "replaceq": REPLACEQ}
JOIN = {"append": APPEND, "prepend": PREPEND, "appendq": APPENDQ, "prependq": PREPENDQ}
READ = {"get": GET, "getq": GETQ, "getk": GETK, "getkq": GETKQ}
TOUCHES = {"touch": TOUCH, "gat": GAT, "gatq": GATQ, "gatk": GATK, "gatkq": GATKQ}
COUNT = {"incr": INCREMENT, "decr": DECREMENT, "incrq": INCREMENTQ, "decrq": DECREMENTQ}
REMOVE = {"delete": DELETE, "deleteq": DELETEQ}
BARE = {"noop": NOOP, "version": VERSION, "quit": QUIT, "quitq": QUITQ, "flush": FLUSH, "flushq": FLUSHQ,
        "verbosity": VERBOSITY, "sasl list": SASL_LIST, "sasl auth": SASL_AUTH, "sasl step": SASL_STEP}


def packet(opcode, key=b"", extra=b"", value=b"", *, cas=0, magic=0x80, kind=0, bucket=0, lengths=(0, 0, 0)):
    """A request; `lengths` is added to the header's true lengths of key, extra and body."""
    key_bytes = key.count(KEY) * (KEY_BYTES - len(KEY)) + len(key)
    body_bytes = key_bytes + len(extra) + len(value)
    header = struct.pack(
        ">BBHBBHIIQ", magic, opcode, key_bytes + lengths[0], len(extra) + lengths[1], kind, bucket,
        body_bytes + lengths[2], OPAQUE, cas)
    return header + extra + key + value


def flags_and_expiry(flags=5, expiry=0):
    return struct.pack(">II", flags, expiry)


def counting(delta=1, initial=10, expiry=0):
    return struct.pack(">QQI", delta, initial, expiry)


PRESENT = packet(SETQ, KEY, flags_and_expiry(), b"abc")
NUMBER = packet(SETQ, KEY, flags_and_expiry(), b"10")
LOOK = packet(GETK, KEY) + packet(NOOP)


def binary_case(name, *packets, options=()):
    return Case(f"binary {name}", (b"".join(packets),), options, binary=True)


def both(name, *packets):
    """The packets with and without an item, and what has become of it."""
    yield binary_case(name, PRESENT, *packets, LOOK)
    yield binary_case(f"{name}, absent", *packets, LOOK)


def well_formed():
    for name, opcode in STORE.items():
        for cas in (0, 1, 2**64 - 1):
            yield from both(f"{name} with token {cas}", packet(opcode, KEY, flags_and_expiry(9), b"xyz", cas=cas))
        yield from both(f"{name} expired", packet(opcode, KEY, flags_and_expiry(9, 2**32 - 1), b"xyz"))
        yield from both(f"{name} of nothing", packet(opcode, KEY, flags_and_expiry(9), b""))
        yield from both(f"{name} with flags of 32 bits", packet(opcode, KEY, flags_and_expiry(2**32 - 1), b"xyz"))
        yield from both(f"{name} too large", packet(opcode, KEY, flags_and_expiry(), b"x" * 2000000))
        yield from both(f"{name} of the longest key", packet(opcode, b"L" * 250, flags_and_expiry(), b"x"))
        yield from both(f"{name} of too long a key", packet(opcode, b"L" * 251, flags_and_expiry(), b"x"))
    for name, opcode in JOIN.items():
        for cas in (0, 1):
            yield from both(f"{name} with token {cas}", packet(opcode, KEY, b"", b"xyz", cas=cas))
        yield from both(f"{name} of nothing", packet(opcode, KEY, b"", b""))
        yield from both(f"{name} too large", packet(opcode, KEY, b"", b"x" * 2000000))
    for name, opcode in {**READ, **REMOVE}.items():
        for cas in (0, 1):
            yield from both(f"{name} with token {cas}", packet(opcode, KEY, cas=cas))
        yield from both(f"{name} of too long a key", packet(opcode, b"L" * 251))
        yield from both(f"{name} twice", packet(opcode, KEY) * 2)
    for name, opcode in TOUCHES.items():
        for expiry in (0, 100, 2**31, 2**32 - 1):
            yield from both(f"{name} {expiry}", packet(opcode, KEY, struct.pack(">I", expiry)))
    for name, opcode in BARE.items():
        yield binary_case(name, packet(opcode), packet(NOOP))


def arithmetic():
    numbers = (0, 1, 5, 100, 2**63, 2**64 - 1)
    for name, opcode in COUNT.items():
        for delta in numbers:
            for expiry in (0, 2**32 - 1):
                count = packet(opcode, KEY, counting(delta, 7, expiry))
                yield binary_case(f"{name} of 10 by {delta}, expiry {expiry}", NUMBER, count, LOOK)
                yield binary_case(f"{name} of nothing by {delta}, expiry {expiry}", count, count, LOOK)
        yield binary_case(f"{name} of a word", PRESENT, packet(opcode, KEY, counting()), LOOK)
        yield binary_case(f"{name} with a token", NUMBER, packet(opcode, KEY, counting(), cas=1), LOOK)
        yield binary_case(f"{name} of 99", packet(SETQ, KEY, flags_and_expiry(), b"99"), packet(opcode, KEY, counting()) * 2, LOOK)


def malformed():
    """Wrong lengths and forbidden parts, for every command."""
    extras = {**dict.fromkeys(STORE, flags_and_expiry()), **dict.fromkeys(TOUCHES, struct.pack(">I", 0)),
              **dict.fromkeys(COUNT, counting())}
    # memcached knows no verbosity and goes astray when an unknown opcode has a body.
    everything = {**STORE, **JOIN, **READ, **TOUCHES, **COUNT, **REMOVE, **BARE}
    for name, opcode in everything.items():
        if opcode == VERBOSITY:
            continue
        extra = extras.get(name, b"")
        value = b"xyz" if name in {**STORE, **JOIN} else b""
        yield from both(f"{name} without a key", packet(opcode, b"", extra, value))
        yield from both(f"{name} with a key", packet(opcode, KEY, extra, value))
        yield from both(f"{name} with a byte of extra more", packet(opcode, KEY, extra + b"\0", value))
        yield from both(f"{name} with 4 bytes of extra", packet(opcode, KEY, b"\0\0\0\0", value))
        yield from both(f"{name} without extra", packet(opcode, KEY, b"", value))
        yield from both(f"{name} with a value", packet(opcode, KEY, extra, b"value"))
        for part, lengths in (("key", (200, 0, 0)), ("extra", (0, 200, 0))):
            yield binary_case(f"{name} with more {part} than body", packet(opcode, KEY, extra, value, lengths=lengths), b"\0" * 400)
        yield from both(f"{name} of data type 1", packet(opcode, KEY, extra, value, kind=1))
        yield from both(f"{name} in bucket 7", packet(opcode, KEY, extra, value, bucket=7))
        if opcode not in (SASL_AUTH, SASL_STEP):
            yield binary_case(f"{name} with half its body", packet(opcode, KEY, extra, value, lengths=(0, 0, 50)))
        yield binary_case(f"{name} with half its header", packet(opcode, KEY, extra, value)[:20])
        yield binary_case(f"{name} after a wrong magic", packet(NOOP), packet(opcode, KEY, extra, value, magic=0x81), packet(NOOP))


def unknown():
    known = {*STORE.values(), *JOIN.values(), *READ.values(), *TOUCHES.values(), *COUNT.values(), *REMOVE.values(),
             *BARE.values(), STAT}
    for opcode in sorted(set(range(256)) - known):
        yield binary_case(f"opcode {opcode:02x}", packet(opcode), packet(NOOP))
        yield binary_case(f"opcode {opcode:02x} with all parts", packet(opcode, KEY, b"\0" * 8, b"value"), packet(NOOP))
    yield binary_case("text after binary", packet(NOOP), b"get x\r\n")
    for name in (b"foo", b"cachedump", b"detail", b"detail foo", b"detail on", b"detail off", b"reset", b"reset x"):
        yield binary_case(f"stat {name!r}", packet(STAT, name), packet(NOOP))
    yield binary_case("stat with extra", packet(STAT, b"", b"\0\0\0\0"), packet(NOOP))
    yield binary_case("stat with a value", packet(STAT, b"", b"", b"x"), packet(NOOP))
    yield binary_case("a quiet get before a get", PRESENT, packet(GETQ, b"absent") * 3, packet(GETKQ, KEY), packet(GET, KEY), LOOK)
    for expiry in (0, 2**32 - 1):
        for name in ("flush", "flushq"):
            yield binary_case(f"{name} {expiry}", PRESENT, packet(BARE[name], b"", struct.pack(">I", expiry)), LOOK)
    for mechanism in (b"PLAIN", b"CRAM-MD5", b""):
        yield binary_case(f"sasl auth {mechanism!r}", packet(SASL_AUTH, mechanism, b"", b"\0bob\0builder"), packet(NOOP))
    yield binary_case("pipelined", (PRESENT + LOOK + packet(DELETE, KEY) + LOOK) * 30)


def with_options():
    """The same commands where the operator has switched something off."""
    for name, request in {"get": packet(GET, KEY), "set with a token": packet(SET, KEY, flags_and_expiry(), b"x", cas=1),
                          "incr": packet(INCREMENT, b"new", counting())}.items():
        yield binary_case(f"with -C: {name}", PRESENT, request, LOOK, options=("-C",))
    for name, opcode in {"flush": FLUSH, "flushq": FLUSHQ}.items():
        yield binary_case(f"with -F: {name}", PRESENT, packet(opcode), LOOK, options=("-F",))


def cases():
    for group in (well_formed, arithmetic, malformed, unknown, with_options):
        yield from group()
