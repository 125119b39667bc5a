"""Replies that memcached cannot show, because it gets them wrong.

Each entry is a case and the whole reply, written by hand from memcached's protocol.txt.
"""

from .case import text_case

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


def keys():
    """me takes a key in base64, as the protocol says."""
    yield ("me of a base64 key", "ms {k} 1\r\nx\r\nme {k} b\r\nme !!!! b\r\n", "HD\r\nEN\r\nCLIENT_ERROR bad command line format\r\n")


def cases():
    """Cases with their replies."""
    for group in (beyond_32_bits, numbers, keys):
        for name, text, reply in group():
            yield text_case(f"ours: {name}", text), reply.encode()
