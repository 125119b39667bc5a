"""Where Farcache answers otherwise than memcached on purpose, and why. The version is in memcached-version.

A rule names cases by a pattern, and turns memcached's comparable reply into the one that is wanted
instead. A rule that changes nothing in any case fails, so the list stays true. What memcached cannot
show is in ours.py.
"""

import dataclasses
import re
import typing

BINARY_LINE = rb"(.* body )(\d+)( .*b'\\x00\\x00\\x00\\x05\{k\})(\d+) +'$"
NOOP_REPLY = b"81 op 0a key 0 extra 0 type 0 status 0000 body 0 opaque deadbeef token none b''"
OPCODES = {b"stat": b"10", b"verbosity": b"1b", b"touch": b"1c", b"gat": b"1d", b"gatq": b"1e", b"gatk": b"23", b"gatkq": b"24"}


@dataclasses.dataclass(frozen=True)
class Difference:
    reason: str
    # Cases that it is about: a regular expression for the whole name.
    cases: str
    # From memcached's reply to the one wanted; the second argument is the case.
    rewrite: typing.Callable

    def covers(self, case):
        return re.fullmatch(self.cases, case.name, re.DOTALL) is not None


def unpadded(reply, case):
    """Numbers without the spaces that memcached leaves behind them."""
    def text_value(match):
        head, digits = match[1], match[4]
        size = b"%d" % len(digits)
        middle = re.sub(rb" s\d+", b" s" + size, match[3])
        return head + size + middle + b"\r\n" + digits + b"\r\n"

    def packet(match):
        spaces = len(match[0]) - len(match[0].rstrip(b"' ")) - 1
        return match[1] + b"%d" % (int(match[2]) - spaces) + match[3] + match[4] + b"'"

    reply = re.sub(rb"^(VALUE \{k\} \d+ |VA )(\d+)([^\r]*)\r\n(\d+) +\r\n", text_value, reply, flags=re.MULTILINE)
    return re.sub(BINARY_LINE, packet, reply, flags=re.MULTILINE)


def invalid_arguments(reply, case):
    """The refusal of a packet, after which the connection ends."""
    opcode = OPCODES[case.name.split()[1].encode()]
    return b"81 op %s key 0 extra 0 type 0 status 0004 body 17 opaque deadbeef token none b'Invalid arguments'" % opcode


def no_version(reply, case):
    """The refusal of a request about versions or several servers that lacks its parts."""
    opcode = re.search(r"opcode (..)", case.name)[1].encode()
    return b"81 op %s key 0 extra 0 type 0 status 0004 body 17 opaque deadbeef token none b'Invalid arguments'" % opcode


def me_of_base64(reply, case):
    """What `me` must answer about the key that the flag `b` is given with."""
    shown = b"ME %s exp=-1 la=0 cas=<cas 1> fetch=no cls=<number> size=<number>\r\n"
    if case.name == "me of a binary key":
        return reply.replace(b"EN\r\n", shown % b"cXdlcnR5LXBsYWlu", 1)
    both = (shown % b"{k}") * 2
    return reply.replace(both, shown % b"{k}" + b"EN\r\n")


def constant(reply):
    return lambda *_: reply


DIFFERENCES = [
    Difference(
        "A number that became shorter is stored without trailing spaces. The protocol leaves it open: decrementing "
        "'isn't guaranteed to decrement its returned length'.",
        r".*\b(incr|decr|incrq|decrq|ma)\b.*", unpadded),
    Difference(
        "The crawler may be switched on although it is always on.",
        r"command 'lru_crawler enable'", constant(b"OK\r\nVERSION\r\n")),
    Difference(
        "Too long a key of a get ends in one line; memcached sends an empty one behind it, which no client expects.",
        r"(line|line of an absent key): .*|a get line of .*",
        lambda reply, _: reply.replace(b"CLIENT_ERROR bad command line format\r\n\r\n", b"CLIENT_ERROR bad command line format\r\n")),
    Difference(
        "me takes a key in base64, as the protocol says; memcached 1.6.45 looks for the flag behind the token where it is.",
        r"me of a binary key|me", me_of_base64),
    Difference(
        "An unknown opcode's body is passed over exactly; memcached passes over the packet behind it, too.",
        r"binary opcode .. with all parts", lambda reply, _: reply + b"\n" + NOOP_REPLY),
    Difference(
        "Requests about versions and about several servers are Farcache's own, and are refused where they make no sense.",
        r"binary opcode f[1235679]( with all parts)?", no_version),
    Difference(
        "Touch and get-and-touch have no value, so one with a value is refused; memcached takes the value for the next "
        "packet's header.",
        r"binary (touch|gatk?q?) with (a value.*|half its body)", invalid_arguments),
    Difference(
        "Verbosity is carried out as the description of the binary protocol says, with a level; memcached does not know it.",
        r"binary verbosity", invalid_arguments),
    Difference(
        "A section of the statistics is named exactly; memcached compares the first letters.",
        r"binary stat b'reset x'",
        constant(b"81 op 10 key 0 extra 0 type 0 status 0001 body 9 opaque deadbeef token none b'Not found'\n" + NOOP_REPLY)),
    Difference(
        "A stat request has no value either.", r"binary stat with a value", invalid_arguments),
]


def wanted(case, reply):
    """The reply that Farcache must give where memcached gives this one."""
    for difference in DIFFERENCES:
        if difference.covers(case):
            reply = difference.rewrite(reply, case)
    return reply
