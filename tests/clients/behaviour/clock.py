"""Expiry, seen by moving the servers' time. Absolute times end in 2038, which all moves together must not reach."""

from .case import text_case

EXPIRIES = {
    "none": "0", "negative": "-1", "far in the past": "-2147483648", "relative": "100", "a second": "1",
    "the longest relative": "2592000", "the shortest absolute": "2592001", "before the server's start": "1000000000",
    "absolute and past": "{now-10}", "absolute and now": "{now+0}", "absolute": "{now+100}",
}
LOOK = "mg {k} v\r\nget {k}\r\n"
PRESENT = "set {k} 5 0 3\r\nabc\r\n"


def looks(name=""):
    """What there is now, somewhat later, after the 100 seconds, and after the longest relative time."""
    return (LOOK, 60, LOOK, 60, LOOK, *((2600000, LOOK) if "relative" in name else ()))


def expiries():
    for name, expiry in EXPIRIES.items():
        for verb in ("set", "add", "replace"):
            first = PRESENT if verb == "replace" else ""
            yield text_case(f"time: {verb}, {name}", f"{first}{verb} {{k}} 0 {expiry} 1\r\nx\r\n", *looks(name))
        yield text_case(f"time: cas, {name}", PRESENT + "gets {k}\r\n", f"cas {{k}} 0 {expiry} 1 {{cas}}\r\nx\r\n", *looks(name))
        yield text_case(f"time: append keeps it, {name}", f"set {{k}} 0 {expiry} 1\r\nx\r\nappend {{k}} 0 0 1\r\ny\r\n", *looks(name))
        yield text_case(f"time: incr keeps it, {name}", f"set {{k}} 0 {expiry} 1\r\n5\r\nincr {{k}} 1\r\n", *looks(name))
        yield text_case(f"time: touch, {name}", PRESENT + f"touch {{k}} {expiry}\r\n", *looks(name))
        yield text_case(f"time: gat, {name}", PRESENT + f"gat {expiry} {{k}}\r\n", *looks(name))
        yield text_case(f"time: gats, {name}", PRESENT + f"gats {expiry} {{k}}\r\n", *looks(name))
        yield text_case(f"time: ms, {name}", f"ms {{k}} 1 T{expiry}\r\nx\r\n", *looks(name))
        yield text_case(f"time: ms that vivifies, {name}", f"ms {{k}} 1 MA N{expiry}\r\nx\r\n", *looks(name))
        yield text_case(f"time: mg, {name}", PRESENT + f"mg {{k}} T{expiry}\r\n", *looks(name))
        yield text_case(f"time: mg that vivifies, {name}", f"mg {{k}} N{expiry}\r\n", *looks(name))
        yield text_case(f"time: ma, {name}", f"set {{k}} 0 0 1\r\n5\r\nma {{k}} T{expiry}\r\n", *looks(name))
        yield text_case(f"time: ma that creates, {name}", f"ma {{k}} N{expiry}\r\n", *looks(name))
        yield text_case(f"time: md that invalidates, {name}", PRESENT + f"md {{k}} I T{expiry}\r\n", *looks(name))
        yield text_case(f"time: an add after it, {name}", f"set {{k}} 0 {expiry} 1\r\nx\r\n", 120,
                        "add {k} 0 0 1\r\ny\r\n", LOOK)


def flushes():
    for name, delay in (("none", "0"), ("negative", "-1"), ("relative", "100"), ("absolute", "{now+100}")):
        yield text_case(f"time: flush_all, {name}", PRESENT, 2, f"flush_all {delay}\r\n", *looks(name))
        yield text_case(f"time: a set after flush_all, {name}", 2, f"flush_all {delay}\r\n", 2, PRESENT, *looks(name))


def times_told():
    """The times that meta commands tell."""
    yield text_case("time: what is left", "ms {k} 1 T100\r\nx\r\nmg {k} t\r\n", 50, "mg {k} t\r\nmg {k} T100 t\r\n")
    yield text_case("time: since the last use", PRESENT + "mg {k} l u\r\n", 70, "mg {k} l h\r\nmg {k} h\r\n")
    yield text_case("time: recache", "ms {k} 1 T100\r\nx\r\nmg {k} R30 v\r\n", 80, "mg {k} R30 v\r\nmg {k} R30 v\r\n")
    yield text_case("time: stale until it expires", PRESENT + "md {k} I T30\r\nmg {k} v t\r\n", 40, "mg {k} v t\r\n")


def cases():
    for group in (expiries, flushes, times_told):
        yield from group()
