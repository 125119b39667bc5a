"""Odd inputs in the meta protocol."""

import string

from .case import text_case

PRESENT = "ms {k} 3 F5\r\nabc\r\n"
NUMBER = "ms {k} 2 F5\r\n10\r\n"
LOOK = "mg {k} v f s\r\n"
NUMBERS = ("-1", "0", "1", "60", "abc", "1.5", "", "2147483647", "18446744073709551615", "18446744073709551616")
LONGEST, TOO_LONG = "L" * 250, "L" * 251

def both(name, line):
    """The line with and without an item, and what has become of it."""
    yield text_case(f"{name}: {line!r}", PRESENT, line + LOOK)
    yield text_case(f"{name} of an absent key: {line!r}", line + LOOK)


def every_flag():
    for letter in string.ascii_letters + "[_`":
        for value in ("", "1", "abc"):
            for command in ("mg {k}", "md {k}", "ma {k}"):
                yield from both("flag", f"{command} {letter}{value}\r\n")
            yield from both("flag", f"ms {{k}} 1 {letter}{value}\r\nx\r\n")
            yield text_case(f"ma flag {letter}{value} on a number", NUMBER + f"ma {{k}} v {letter}{value}\r\n" + LOOK)
    for sign in "!@#$%^&*()-_=+1234567890{~\x7f\xe4":
        yield from both("flag", f"mg {{k}} {sign}\r\n")
        yield from both("flag", f"md {{k}} v {sign}\r\n")
        yield from both("flag", f"me {{k}} v {sign}\r\n")
        yield from both("flag", f"ms {{k}} 1 k {sign}\r\nx\r\n")


def gets():
    for line in ("mg\r\n", "mg \r\n", "mg {k}\r\n", "mg {k} \r\n", "mg  {k}  v\r\n", "mg {k} v\n", "MG {k} v\r\n",
                 "mg {k} v v\r\n", "mg {k} k k\r\n", "mg {k} vk\r\n", "mg {k} f f\r\n", "mg {k} s v f k c t\r\n", "mg {k} t c k f v s\r\n",
                 "mg {k} O\r\n", "mg {k} Oabc\r\n", "mg {k} Oabc k v\r\n", "mg {k} O" + "o" * 31 + "\r\n",
                 "mg {k} O" + "o" * 32 + "\r\n", "mg {k} O" + "o" * 33 + "\r\n", "mg {k} q\r\n", "mg {k} q v\r\n", "mg {k} q k v\r\nmn\r\n",
                 "mg {k} k q Oxyz\r\n", "mg {k} h l t\r\nmg {k} h l t\r\n", "mg {k} v\r\nmg {k} h\r\n",
                 "get {k}\r\nmg {k} h\r\n", "mg {k} h v\r\nmg {k} h v\r\n", "mg {k} T30 t v\r\n", "mg {k} T-1 v\r\n",
                 "mg {k} T0 t\r\n", "mg {k} N30 v\r\n", "mg {k} N30 v t c k\r\nmg {k} v\r\nmg {k} N30 v\r\n", "mg {k} N0\r\nmg {k} t v\r\n",
                 "mg {k} N30 R20 T40 t v\r\n", "mg {k} R30 v\r\nmg {k} R30 v\r\n", "mg {k} R0\r\n",
                 "mg {k} v O1 q k\r\nmg absent O2 q k\r\nmn\r\n", f"mg {LONGEST} v\r\n", f"mg {TOO_LONG} v\r\n",
                 f"mg {TOO_LONG}\r\n", f"mg {TOO_LONG} q\r\n", "mg a\x01b v\r\n", "mg {k} v" + " v" * 30 + "\r\n", "mg {k}" + " k" * 5 + "\r\n",
                 "mg {k} t\r\n", "mg {k} c\r\n", "mg {k} k\r\n", "mg {k} f\r\n", "mg {k} s\r\n", "mg {k} S1\r\n",
                 "mg {k} 1\r\n", "mg {k} v C0\r\n", "mg {k} v C5 t\r\n", "mg {k} v Tx Fx\r\n", "mg {k} T- t\r\n", "mg {k} T+1\r\n",
                 "mg {k} c f h k l q s t u v E1 C1 F1 J1 D1 I O1 P\r\nmn\r\n", "mg {k} c f h k l q s t u v E1 C1 F1 J1 D1 I O1 P L\r\n",
                 "mg {k} c f h k l q s t u v E1 C1 F1 J1 D1 I O1 P !\r\n", "mg {k}" + " v" * 20 + " !\r\n", "mg {k}" + " v" * 21 + " !\r\n", "mg {k} v 1\r\n", "mg {k} v\tk\r\n"):
        yield from both("get", line)


def base64():
    for key in ("Zm9v", "Zm9", "Zm8=", "Zg==", "Zg", "!!!!", "", "====", "Zm9vYmFy", "Z" * 332, "Z" * 336, "Zm9v\x01"):
        yield text_case(f"base64 key {key!r}", f"ms {key} 3 b k\r\nabc\r\nmg {key} b k v\r\nmd {key} b k\r\nmg {key} b k\r\nma {key} b k N0\r\nmd {key} b q\r\n")
    yield text_case("a binary key, read plain", "ms cXdlcnR5LXBsYWlu 1 b\r\nx\r\nmg qwerty-plain v k\r\nget qwerty-plain\r\nmd qwerty-plain q\r\n")
    yield text_case("a plain key, read binary", "ms qwerty-other 1\r\nx\r\nmg cXdlcnR5LW90aGVy b v k\r\nmd qwerty-other q\r\n")
    yield text_case("me of a binary key", "ms cXdlcnR5LXBsYWlu 1 b\r\nx\r\nme cXdlcnR5LXBsYWlu b\r\nmd cXdlcnR5LXBsYWlu b q\r\n")


def sets():
    for line in ("ms\r\n", "ms {k}\r\n", "ms {k} \r\n", "ms {k} abc\r\n", "ms {k} -1\r\n", "ms {k} 1.5\r\n", "ms {k} 1x\r\nx\r\n",
                 "ms {k} 0\r\n\r\n", "ms {k} 1\r\nx\r\n", "ms {k} 2\r\nx\r\n\r\n", "ms {k} 1\r\nxy\r\n", "ms {k} 1 q\r\nxy\r\n", "ms {k} 1 \r\nx\r\n",
                 "ms {k} S1\r\nx\r\n", "ms {k} 1 T\r\nx\r\n", "ms {k} 1 F\r\nx\r\n", "ms {k} 1 q\r\nx\r\n", "ms {k} 1 q k\r\nx\r\n",
                 "ms {k} 1 k\r\nx\r\n", "ms {k} 1 k Oabc c\r\nx\r\n", "ms {k} 1 c\r\nx\r\n", "ms {k} 1 T30\r\nx\r\nmg {k} t\r\n",
                 "ms {k} 1 T-1\r\nx\r\n", "ms {k} 1 I\r\nx\r\n", "ms {k} 1 b\r\nx\r\n", f"ms {LONGEST} 1\r\nx\r\n", f"ms {TOO_LONG} 1\r\nx\r\n",
                 f"ms {TOO_LONG} 1 q\r\nx\r\n", "ms {k} 1 F1 F2\r\nx\r\n", "ms {k} 1 k k\r\nx\r\n", "MS {k} 1\r\nx\r\n", "ms {k} 1 v\r\nx\r\n",
                 "ms {k} 2147483648\r\n", "ms {k} 2000000\r\n" + "x" * 2000000 + "\r\n",
                 "ms {k} 2000000 q\r\n" + "x" * 2000000 + "\r\n", "ms {k} 1 f t\r\nx\r\n", "ms {k} 1 O" + "o" * 33 + "\r\nx\r\n"):
        yield from both("set", line)
    for number in NUMBERS:
        yield from both("set", f"ms {{k}} 1 F{number}\r\nx\r\n")
        yield from both("set", f"ms {{k}} 1 C{number}\r\nx\r\n")
        if number != "2147483647":  # Farcache's tokens are larger numbers than memcached's.
            yield from both("set", f"ms {{k}} 1 C{number} I\r\nx\r\n")
        yield text_case(f"set: ms MA N{number} on a present key", PRESENT, f"ms {{k}} 1 MA N{number}\r\nx\r\nmg {{k}} t\r\n")
    for number in ("4294967295", "4294967296", "00000000001", "000000000001"):
        yield from both("set", f"ms {{k}} 1 F{number}\r\nx\r\n")
        yield from both("set", f"ms {{k}} {number}\r\nx\r\n")
    for mode in ("E", "A", "P", "R", "S", "X", "", "xet", "XS", "1", "e", "a", "p", "r", "s", "SET", "APPEND"):
        yield from both("set", f"ms {{k}} 1 M{mode}\r\nx\r\n")
        yield from both("set", f"ms {{k}} 1 M{mode} q k O1\r\nx\r\nmn\r\n")
        yield text_case(f"set: ms M{mode} N60 on a present key", PRESENT, f"ms {{k}} 1 M{mode} N60 F9\r\nx\r\n" + LOOK)
        yield from both("set", f"ms {{k}} 1 M{mode} C1\r\nx\r\n")
        yield from both("set", f"ms {{k}} 1 M{mode} T30 F9\r\nx\r\nmg {{k}} t\r\n")


def deletes():
    for line in ("md\r\n", "md {k}\r\n", "md {k} \r\n", "md {k} q\r\n", "md {k} q k\r\n", "md {k} k Oabc\r\n", "md {k} b\r\n", "md {k} I\r\n",
                 "md {k} I T30\r\nmg {k} t v\r\nmg {k} t v\r\n", "md {k} T30\r\nmg {k} t\r\n",
                 "md {k} v\r\n", "md {k} s f t c\r\n", f"md {TOO_LONG}\r\n", f"md {TOO_LONG} q\r\n", "MD {k}\r\n", "md {k} I I\r\n", "md {k} q q\r\n"):
        yield from both("delete", line)
    for number in NUMBERS:
        yield from both("delete", f"md {{k}} C{number}\r\n")
        yield from both("delete", f"md {{k}} I T{number}\r\nmg {{k}} t v\r\n")


def arithmetic():
    for flags in ("", "v", "v t c", "v k Oabc", "q", "q v", "q k v", "MI v", "MD v", "M+ v", "M- v", "Mincr v", "Mdecr v", "MX v", "M v", "MINCR v", "D5 v", "D5 MD v", "D100 MD v", "D0 v", "N0 v", "N0 J13 v", "N30 J13 v t", "J13 v", "T30 v t", "T0 v t", "N0 J13 D5 q", "b v",
                  "C0 v", "C1 v", "f s v", "v v", "k k"):
        for setup, name in ((NUMBER, "10"), (PRESENT, "a word"), ("", "nothing")):
            yield text_case(f"ma {flags!r} on {name}", setup + f"ma {{k}} {flags}\r\n" + LOOK + f"ma {{k}} {flags}\r\n" + LOOK)
    for number in NUMBERS:
        for flag in "DJNT":
            yield text_case(f"ma {flag}{number} on 10", NUMBER + f"ma {{k}} v {flag}{number}\r\n" + LOOK)
            yield text_case(f"ma {flag}{number} on nothing", f"ma {{k}} v N0 {flag}{number}\r\n" + LOOK)
    yield text_case("ma at the end of 64 bits", "ms {k} 20\r\n18446744073709551615\r\nma {k} v\r\nma {k} v MD D1\r\n" + LOOK)
    yield text_case("ma makes a number longer", "ms {k} 2\r\n99\r\nma {k} v\r\n" + LOOK + "ma {k} MD v D91\r\n" + LOOK)
    yield text_case("ma without a key", "ma\r\nma \r\n")
    yield text_case("ma with too long a key", f"ma {TOO_LONG} v\r\n")


def explicit_tokens():
    """E of every command that takes it."""
    yield text_case("E sets the token", "ms {k} 1 E100 c\r\nx\r\nmg {k} c\r\n")
    yield text_case("E and C together", "ms {k} 1 E100\r\nx\r\nms {k} 1 C100 E101\r\ny\r\nmg {k} c v\r\nms {k} 1 C100\r\nz\r\nmd {k} C101\r\n")
    yield text_case("E is what gets and cas see", "ms {k} 1 E100\r\nx\r\ngets {k}\r\ncas {k} 0 0 1 100\r\ny\r\nget {k}\r\n")
    yield text_case("E of an invalidation", "ms {k} 1 E100\r\nx\r\nmd {k} I E200\r\nmg {k} c v\r\n")
    yield text_case("a late set between two explicit tokens",
                    "ms {k} 1 E100\r\nx\r\nmd {k} I E200\r\nms {k} 1 I C150\r\ny\r\nmg {k} v\r\n")
    yield text_case("E of ma", "ms {k} 1\r\n5\r\nma {k} E77 v c\r\n")
    yield text_case("E of a number created by ma", "ma {k} N0 J13 E77 v c\r\n")
    yield text_case("E of an item vivified by mg", "mg {k} N30 E5 c\r\n")
    yield text_case("E of a present item changes nothing", "ms {k} 1 E9\r\nx\r\nmg {k} E5 c\r\n")
    yield text_case("the value of a known token is not sent", "ms {k} 1 E9\r\nx\r\nmg {k} v C9\r\nmg {k} C9 v c f T90\r\nmg {k} v C8 t\r\n")
    yield text_case("a known token of an item that is stale", "ms {k} 1 E9\r\nx\r\nmd {k} I E10\r\nmg {k} v C10\r\nmg {k} v C10\r\n")
    yield text_case("x clears value and flags", PRESENT + "md {k} x\r\nmg {k} v f s t\r\n")
    yield text_case("x with an invalidation", PRESENT + "md {k} x I T30\r\nmg {k} v f\r\nmg {k} v\r\n")
    yield text_case("x keeps the token", "ms {k} 1 E9\r\nx\r\nmd {k} x\r\nmg {k} c\r\nmd {k} x E12\r\nmg {k} c\r\n")
    yield text_case("x drops flags and expiry", "ms {k} 1 F7 T90\r\nx\r\nmd {k} x\r\nmg {k} f t v\r\nms {k} 1\r\nx\r\nmd {k} x T60 F3\r\nmg {k} f t v\r\n")
    yield text_case("s of an append", PRESENT + "ms {k} 2 MA s\r\nde\r\nms {k} 1 MP s k\r\nx\r\nms {k} 4 s\r\nabcd\r\nms {k} 1 s ME\r\nx\r\n")


def conversations():
    yield text_case("compare and swap", PRESENT + "mg {k} c v\r\n", "ms {k} 1 C{cas} c\r\nx\r\n", "ms {k} 1 C1\r\ny\r\n", "md {k} C1\r\n", "mg {k} c\r\n", "md {k} C{cas}\r\n", LOOK)
    yield text_case("stale, win, recache", PRESENT + "md {k} I T30\r\nmg {k} v c t\r\nmg {k} v c t\r\n", "ms {k} 3 C{cas}\r\nnew\r\nmg {k} v\r\n", LOOK)
    yield text_case("a late set of a stale item", PRESENT + "mg {k} c\r\n", "md {k} I\r\nmg {k} c\r\n", "ms {k} 4 I C1\r\nlate\r\nmg {k} v\r\nmg {k} v\r\n", LOOK)
    yield text_case("a newer token is refused even with I", PRESENT, "ms {k} 4 I C18446744073709551000\r\nlate\r\n" + LOOK)
    yield text_case("win once", "mg {k} N30 v\r\nmg {k} N30 v\r\nmg {k} v\r\nms {k} 1\r\nx\r\nmg {k} N30 v\r\n")
    yield text_case("touch by mg", PRESENT + "mg {k} T90\r\nmg {k} t\r\nmg {k} T0\r\nmg {k} t\r\n")
    yield text_case("recache before expiry", "ms {k} 1 T20\r\nx\r\nmg {k} R10 v\r\nmg {k} R30 v t\r\nmg {k} R30 v\r\nms {k} 1 T20\r\ny\r\nmg {k} R30 v\r\n")
    yield text_case("quiet pipeline", "ms {k} 1 q\r\nx\r\nmg {k} q\r\nmg {k} q v\r\nmg absent q v\r\nmd absent q\r\nmd {k} q\r\nmn\r\n")
    yield text_case("quiet errors are said", "ms {k} 1 q MR\r\nx\r\nms {k} 1 q MX\r\nx\r\nmn\r\n")
    yield text_case("quiet conflict", PRESENT + "ms {k} 1 q C1\r\nx\r\nmd {k} q C1\r\nmn\r\n")
    yield text_case("me", PRESENT + "me {k}\r\nme absent\r\nme\r\nme {k} x\r\nme {k} b\r\n" + f"me {TOO_LONG}\r\n")
    yield text_case("an expired item", "ms {k} 1 T-1\r\nx\r\nmg {k} v\r\nma {k}\r\nmd {k}\r\nme {k}\r\n")
    yield text_case("append keeps flags and time", "ms {k} 1 F7 T90\r\nx\r\nms {k} 1 MA F9 T5\r\ny\r\nmg {k} f t v\r\n")
    yield text_case("append to a stale item", PRESENT + "md {k} I T30\r\nms {k} 1 MA\r\ny\r\nmg {k} v\r\n")
    yield text_case("incr of a stale item", NUMBER + "md {k} I T30\r\nma {k} v\r\nmg {k} v\r\n")
    yield text_case("touch of a stale item", PRESENT + "md {k} I T30\r\ntouch {k} 100\r\nmg {k} t v\r\n")
    yield text_case("get of a stale item", PRESENT + "md {k} I T30\r\nget {k}\r\nmg {k} v\r\n")


def cases():
    for group in (every_flag, gets, base64, sets, deletes, arithmetic, explicit_tokens, conversations):
        yield from group()
