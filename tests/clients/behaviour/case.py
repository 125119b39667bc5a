"""What a case is: inputs sent one after the other on one connection, and the replies made comparable."""

import dataclasses
import hashlib
import re
import struct
import time

VERSION_OPCODE = 0x0B
# More seconds are an absolute time.
SECONDS_RELATIVE_MAX = 60 * 60 * 24 * 30
SENTINEL = b"mn\r\n"
SENTINEL_REPLY = b"MN\r\n"


@dataclasses.dataclass(frozen=True)
class Case:
    """Inputs for one connection. In text inputs `{k}` is a key of the case's own, `{cas}` the
    newest CAS token that a reply has shown, and `{now+N}` the Unix time in N seconds (`{now-N}`: before
    so many) by the server's clock. A number among them lets so many seconds pass on a server whose time
    tests can move. The last input is text, and followed by a half-close."""

    name: str
    inputs: tuple
    # Command line options that both servers are started with.
    options: tuple = ()
    # Whether the replies are packets of the binary protocol.
    binary: bool = False

    def texts(self):
        """What is sent."""
        return [text for text in self.inputs if isinstance(text, bytes)]

    def moves_time(self):
        """Whether it needs a server whose time can be moved, for itself and its like."""
        return len(self.texts()) < len(self.inputs)

    def key(self):
        """A key that no other case uses, of 16 bytes."""
        return b"k" + hashlib.sha1(self.name.encode()).hexdigest()[:15].encode()


def text_case(name, *inputs, options=()):
    """A case in the text or meta protocol."""
    data = tuple(each.encode("latin-1") if isinstance(each, str) else each for each in inputs)
    return Case(re.sub(r"(.)\1{20,}", shortened, name), data, options)


def shortened(run):
    """A long run of one letter, as names show it."""
    return f"{run[1]}*{len(run[0])}"


class StillTime:
    """The time of a server for tests (`debugtime`), which stands still unless it is moved."""

    def __init__(self, connection):
        self.now = int(time.time())
        connection.sendall(b"debugtime p\r\n" + SENTINEL)
        if not read_to_the_sentinel(connection).startswith(b"OK"):
            raise NotImplementedError("the server's time cannot be moved")

    def move(self, connection, seconds):
        """Lets so many seconds pass. memcached adds the sum of all moves at each of them: with the second
        line, whose sum is 0, that is this one. Farcache refuses it, because its time only goes forward."""
        self.now += seconds
        connection.sendall(b"debugtime %d\r\ndebugtime -%d\r\n" % (seconds, seconds) + SENTINEL)
        read_to_the_sentinel(connection)


def play(case, connection, time_of_server=None):
    """Sends the inputs and returns everything that came back."""
    key, token, replies = case.key(), b"0", b""
    for number, text in enumerate(case.inputs):
        if isinstance(text, int):
            time_of_server.move(connection, text)
            continue
        now = time_of_server.now if time_of_server else int(time.time())
        text = re.sub(rb"\{now([+-]\d+)\}", lambda match: b"%d" % (now + int(match[1])), text)
        connection.sendall(text.replace(b"{k}", key).replace(b"{cas}", token))
        if number + 1 == len(case.inputs):
            return replies + read_to_the_end(connection)
        connection.sendall(SENTINEL)
        replies += read_to_the_sentinel(connection)
        found = re.findall(rb"^VALUE \S+ \d+ \d+ (\d+)\r\n|\bc(\d+)\b", replies, re.MULTILINE)
        token = (found[-1][0] or found[-1][1]) if found else token
    return replies


def read_to_the_sentinel(connection):
    received = b""
    while not received.endswith(SENTINEL_REPLY):
        piece = connection.recv(1 << 16)
        if not piece:
            return received
        received += piece
    return received[: -len(SENTINEL_REPLY)]


def read_to_the_end(connection):
    """Says that no more will come, and reads until the server closes too."""
    received = b""
    try:
        connection.shutdown(1)
        while piece := connection.recv(1 << 16):
            received += piece
    except ConnectionError:
        # Both servers may close while unread input is left; what was received counts.
        pass
    return received


def comparable(case, reply):
    """The reply with what differs from run to run replaced: tokens by their order, times by tens."""
    tokens = {}

    def token(match):
        value = match.group("cas")
        if any(re.search(rb"\b[CE]%s\b|^cas [^\r]* %s\r$" % (value, value), text, re.MULTILINE) for text in case.texts()) or value == b"0":
            return match.group()
        place = tokens.setdefault(value, b"<cas %d>" % (len(tokens) + 1))
        return match.group().replace(value, place)

    if case.binary:
        return comparable_packets(case, reply)
    reply = reply.replace(case.key(), b"{k}")
    reply = re.sub(rb"^VALUE \S+ \d+ \d+ (?P<cas>\d+)\r$", token, reply, flags=re.MULTILINE)
    reply = re.sub(rb"(?<=[ =])(c|cas=)(?P<cas>\d+)(?=[ \r])", token, reply)
    reply = re.sub(rb" t(\d+)(?=[ \r])", time_left, reply)
    reply = re.sub(rb" l[0-2](?=[ \r])", b" l0", reply)
    reply = re.sub(rb"^VERSION .*\r$", b"VERSION\r", reply, flags=re.MULTILINE)
    reply = re.sub(rb" exp=\d+ la=\d+ ", b" exp=<time> la=<time> ", reply)
    reply = re.sub(rb" cls=\d+ size=\d+", b" cls=<number> size=<number>", reply)
    return reply


def time_left(match):
    """Seconds left, rounded up to tens; those until an absolute time depend on the day."""
    seconds = int(match[1])
    return b" t<years>" if seconds > SECONDS_RELATIVE_MAX else b" t%d" % (-(-seconds // 10) * 10)


HEADER = struct.Struct(">BBHBBHIIQ")


def comparable_packets(case, reply):
    """One line a packet: everything of its header but the token's value, and its body."""
    lines, tokens = [], {}
    while len(reply) >= HEADER.size:
        magic, opcode, key_bytes, extra_bytes, kind, status, body_bytes, opaque, cas = HEADER.unpack_from(reply)
        body, reply = reply[HEADER.size:HEADER.size + body_bytes], reply[HEADER.size + body_bytes:]
        token = tokens.setdefault(cas, len(tokens)) if cas else "none"
        if opcode == VERSION_OPCODE and status == 0:
            body, body_bytes = b"<version>", 0
        body = body.replace(case.key(), b"{k}")
        lines.append(b"%02x op %02x key %d extra %d type %d status %04x body %d opaque %08x token %s %r" % (
            magic, opcode, key_bytes, extra_bytes, kind, status, body_bytes, opaque, str(token).encode(), body))
    if reply:
        lines.append(b"and %r" % reply)
    return b"\n".join(lines)
