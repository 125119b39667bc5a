"""Replies that memcached 1.6.18 cannot show: what came in later versions, and what it gets wrong.

Each entry is a case and the whole reply, written by hand from memcached's protocol.txt.
"""

from .case import text_case

PRESENT = "ms {k} 3 F5\r\nabc\r\n"


def later_flags():
    """E (explicit token), x (clear the value), s of ms, N of an appending ms, modes in lower case."""
    yield "E sets the token", "ms {k} 1 E100 c\r\nx\r\nmg {k} c\r\n", "HD c100\r\nHD c100\r\n"
    yield ("E and C together", "ms {k} 1 E100\r\nx\r\nms {k} 1 C100 E101\r\ny\r\nmg {k} c v\r\nms {k} 1 C100\r\nz\r\nmd {k} C101\r\n",
           "HD\r\nHD\r\nVA 1 c101\r\ny\r\nEX\r\nHD\r\n")
    yield ("E is what gets and cas see", "ms {k} 1 E100\r\nx\r\ngets {k}\r\ncas {k} 0 0 1 100\r\ny\r\nget {k}\r\n",
           "HD\r\nVALUE {k} 0 1 100\r\nx\r\nEND\r\nSTORED\r\nVALUE {k} 0 1\r\ny\r\nEND\r\n")
    yield "E of an invalidation", "ms {k} 1 E100\r\nx\r\nmd {k} I E200\r\nmg {k} c v\r\n", "HD\r\nHD\r\nVA 1 c200 X W\r\nx\r\n"
    yield ("a late set between two explicit tokens", "ms {k} 1 E100\r\nx\r\nmd {k} I E200\r\nms {k} 1 I C150\r\ny\r\nmg {k} v\r\n",
           "HD\r\nHD\r\nHD\r\nVA 1 X W\r\ny\r\n")
    yield "E of ma", "ms {k} 1\r\n5\r\nma {k} E77 v c\r\n", "HD\r\nVA 1 c77\r\n6\r\n"
    yield "E of a number created by ma", "ma {k} N0 J13 E77 v c\r\n", "VA 2 c77\r\n13\r\n"
    yield "E of an item vivified by mg", "mg {k} N30 E5 c\r\n", "HD c5 W\r\n"
    yield "E of a present item changes nothing", "ms {k} 1 E9\r\nx\r\nmg {k} E5 c\r\n", "HD\r\nHD c9\r\n"
    for number in ("", "abc", "-1", "1.5", "18446744073709551616"):
        yield (f"E{number} is no token", f"ms {{k}} 1 E{number}\r\nx\r\nmg {{k}} v\r\n",
               "CLIENT_ERROR bad token in command line format\r\nEN\r\n")
    yield "x clears value and flags", PRESENT + "md {k} x\r\nmg {k} v f s t\r\n", "HD\r\nHD\r\nVA 0 f0 s0 t-1\r\n\r\n"
    yield ("x with an invalidation", PRESENT + "md {k} x I T30\r\nmg {k} v f\r\nmg {k} v\r\n",
           "HD\r\nHD\r\nVA 0 f0 X W\r\n\r\nVA 0 Z X\r\n\r\n")
    yield "x of an absent key", "md {k} x\r\n", "NF\r\n"
    yield "s of ms", "ms {k} 3 s\r\nabc\r\n", "HD s3\r\n"
    for mode in "AaPp":
        yield (f"N creates with mode {mode}", f"ms {{k}} 1 M{mode} N60 F9\r\nx\r\nmg {{k}} v f\r\n", "HD\r\nVA 1 f9\r\nx\r\n")
    yield "N0 creates for ever", "ms {k} 1 MA N0\r\nx\r\nmg {k} v t\r\n", "HD\r\nVA 1 t-1\r\nx\r\n"
    for mode, absent, present, value in (("e", "HD", "NS", "abc"), ("a", "NS", "HD", "abcx"), ("p", "NS", "HD", "xabc"),
                                         ("r", "NS", "HD", "x"), ("s", "HD", "HD", "x")):
        yield f"ms M{mode} of an absent key", f"ms {{k}} 1 M{mode}\r\nx\r\n", f"{absent}\r\n"
        yield (f"ms M{mode} of a present key", PRESENT + f"ms {{k}} 1 M{mode}\r\nx\r\nmg {{k}} v\r\n",
               f"HD\r\n{present}\r\nVA {len(value)}\r\n{value}\r\n")
    yield "ma Mi and Md", "ms {k} 2\r\n50\r\nma {k} Mi v\r\nma {k} Md D2 v\r\n", "HD\r\nVA 2\r\n51\r\nVA 2\r\n49\r\n"


def beyond_32_bits():
    """Expiries after 2038 are what they say; lengths beyond 32 bits are refused, not cut."""
    value = "VALUE {k} 0 1\r\nx\r\nEND\r\n"
    for expiry in (2**31, 2**32 - 1, 2**32, 2**40):
        yield f"set until {expiry}", f"set {{k}} 0 {expiry} 1\r\nx\r\nget {{k}}\r\n", "STORED\r\n" + value
        yield (f"touch until {expiry}", f"set {{k}} 0 0 1\r\nx\r\ntouch {{k}} {expiry}\r\ngat {expiry} {{k}}\r\nget {{k}}\r\n",
               "STORED\r\nTOUCHED\r\n" + value * 2)
        yield f"ms until {expiry}", f"ms {{k}} 1 T{expiry}\r\nx\r\nmg {{k}} v\r\n", "HD\r\nVA 1\r\nx\r\n"
    for verb in ("set", "add", "replace", "append", "prepend"):
        yield f"{verb} of 4 GiB", f"{verb} {{k}} 0 0 4294967296\r\nversion\r\n", "CLIENT_ERROR bad command line format\r\nVERSION\r\n"
    yield "cas of 4 GiB", "cas {k} 0 0 4294967296 1\r\nversion\r\n", "CLIENT_ERROR bad command line format\r\nVERSION\r\n"
    yield "ms of 4 GiB", "ms {k} 4294967296\r\nversion\r\n", "CLIENT_ERROR bad command line format\r\nVERSION\r\n"


def numbers():
    """A blank is no number; memcached reads on behind the value's end."""
    for verb in ("incr", "decr"):
        yield (f"{verb} of a blank", f"set {{k}} 0 0 1\r\n \r\n{verb} {{k}} 1\r\nget {{k}}\r\n",
               "STORED\r\nCLIENT_ERROR cannot increment or decrement non-numeric value\r\nVALUE {k} 0 1\r\n \r\nEND\r\n")


def cases():
    """Cases with their replies."""
    for group in (later_flags, beyond_32_bits, numbers):
        for name, text, reply in group():
            yield text_case(f"ours: {name}", text), reply.encode()
