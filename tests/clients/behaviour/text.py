"""Odd inputs in the classic text protocol."""

from .case import text_case

PRESENT = "set {k} 5 0 3\r\nabc\r\n"
LOOK = "get {k}\r\n"
LONGEST, TOO_LONG = "L" * 250, "L" * 251
NUMBERS = ("-1", "0", "1", "abc", "1.5", "1x", "+1", "0x10", "007", "4294967295", "4294967296",
           "18446744073709551615", "18446744073709551616", "-18446744073709551616", "9" * 30)
# What Farcache understands beyond 32 bits is in ours.py.
EXPIRIES = tuple(number for number in NUMBERS if number not in ("4294967295", "4294967296"))


def on_present(name, line):
    """The line, when the key is there; then what has become of the item."""
    return text_case(f"{name}: {line!r}", PRESENT, line + LOOK)


def on_absent(name, line):
    return text_case(f"{name} of an absent key: {line!r}", line + LOOK)


def lines():
    """Lines that make sense with and without an item."""
    yield from ("get\r\n", "get \r\n", "get  {k}\r\n", " get {k}\r\n", "get {k} \r\n", "GET {k}\r\n",
                "Get {k}\r\n", "get {k} {k}\r\n", "get {k} absent {k}\r\n", "get\t{k}\r\n", "get {k}\n",
                "get {k}\r\r\n", "gets\r\n", "gets {k} absent\r\n", "get {k} noreply\r\n")
    yield f"get {LONGEST}\r\n"
    yield f"get {TOO_LONG}\r\n"
    yield f"get {{k}} {TOO_LONG} {{k}}\r\n"
    yield f"gets {{k}} {TOO_LONG}\r\n"
    yield "get " + "{k} " * 40 + "\r\n"
    yield "get " + "{k} " * 24 + "absent\r\n"
    for verb in ("gat", "gats"):
        yield from (f"{verb}\r\n", f"{verb} 10\r\n", f"{verb} {{k}}\r\n", f"{verb} 10 {{k}} {{k}} absent\r\n",
                    f"{verb} 10 {TOO_LONG}\r\n", f"{verb} 10 {{k}} {TOO_LONG}\r\n", f"{verb} 10 \r\n")
        yield from (f"{verb} {number} {{k}}\r\n" for number in EXPIRIES)
    yield from ("delete\r\n", "delete {k}\r\n", "delete {k} 0\r\n", "delete {k} 10\r\n", "delete {k} -1\r\n",
                "delete {k} noreply\r\n", "delete {k} 0 noreply\r\n", "delete {k} abc\r\n",
                "delete {k} 0 abc\r\n", "delete {k} 0 noreply x\r\n", "delete {k} noreply 0\r\n",
                f"delete {TOO_LONG}\r\n", f"delete {TOO_LONG} noreply\r\n", "delete {k}  0\r\n")
    yield from ("touch\r\n", "touch {k}\r\n", "touch {k} 0 noreply\r\n", "touch {k} 0 x\r\n",
                "touch {k} 0 noreply x\r\n", f"touch {TOO_LONG} 0\r\n", "touch {k} noreply\r\n")
    yield from (f"touch {{k}} {number}\r\n" for number in EXPIRIES)
    for verb in ("incr", "decr"):
        yield from (f"{verb}\r\n", f"{verb} {{k}}\r\n", f"{verb} {{k}} 1 noreply\r\n", f"{verb} {{k}} 1 x\r\n",
                    f"{verb} {{k}} 1 2 3\r\n", f"{verb} {TOO_LONG} 1\r\n", f"{verb} {{k}} noreply\r\n")


def storage_lines(verb):
    """A storage command with each of its arguments wrong in turn; the data is "abc" or "1"."""
    tail = " 1" if verb == "cas" else ""
    yield from (f"{verb}\r\n", f"{verb} {{k}}\r\n", f"{verb} {{k}} 0\r\n", f"{verb} {{k}} 0 0\r\n",
                f"{verb} {{k}} 0 0 3{tail}\r\nxyz\r\n", f"{verb} {{k}} 0 0 0{tail}\r\n\r\n",
                f"{verb} {{k}} 0 0 3{tail} noreply\r\nxyz\r\n", f"{verb} {{k}} 0 0 3{tail} bogus\r\nxyz\r\n",
                f"{verb} {{k}} 0 0 3{tail} noreply x\r\nxyz\r\n", f"{verb} {{k}}  0 0  3{tail} \r\nxyz\r\n",
                f"{verb} {{k}} 0 0 3{tail}\r\nxy\r\n\r\n", f"{verb} {{k}} 0 0 3{tail}\r\nxyzw\r\n",
                f"{verb} {{k}} 0 0 3{tail}\r\nxyz\n\r\n", f"{verb} {{k}} 0 0 3{tail}\nxyz\r\n",
                f"{verb} {{k}} 0 0 3{tail} noreply\r\nxyzw\r\n", f"{verb} {{k}} 0 0 2{tail}\r\n\r\n\r\n",
                f"{verb} {LONGEST} 0 0 3{tail}\r\nxyz\r\n", f"{verb} {TOO_LONG} 0 0 3{tail}\r\nxyz\r\n",
                f"{verb} {TOO_LONG} 0 0 3{tail} noreply\r\nxyz\r\n", f"{verb} k\x01\x7f\xff 0 0 3{tail}\r\nxyz\r\n",
                f"{verb.upper()} {{k}} 0 0 3{tail}\r\nxyz\r\n")
    for number in NUMBERS:
        yield f"{verb} {{k}} {number} 0 3{tail}\r\nxyz\r\n"
        if number in EXPIRIES:
            yield f"{verb} {{k}} 0 {number} 3{tail}\r\nxyz\r\n"
    for number in ("-1", "abc", "1.5", "1x", "-0", "2147483647", "2147483648", "9" * 30):
        yield f"{verb} {{k}} 0 0 {number}{tail}\r\n"
    yield f"{verb} {{k}} 0 0 -1{tail} noreply\r\n"
    for line in (f"{verb} {{k}} 0 0 3", f"{verb} {TOO_LONG} 0 0 3", f"{verb} {{k}} x 0 3", f"{verb} {{k}} 0 x 3"):
        # What memcached throws away with a line that it refuses: a length, not a line.
        yield from (f"{line} x\r\nxyz\r\n", f"{line} x\r\nx\n\n\r\n", f"{line} x\r\nxyzab\r\n", f"{line}{tail} noreply x\r\nxyz\r\n")
    yield from (f"{verb} {{k}} x 0 2000000{tail}\r\n" + "x" * 2000000 + "\r\n", f"{verb} {{k}} 0 0 noreply\r\nxyz\r\n",
                f"{verb} {{k}} 0 0 +3{tail}\r\nxyz\r\n", f"{verb} {{k}} +5 +0 3{tail}\r\nxyz\r\n", f"{verb} {{k}} 0\0x 0\0y 3{tail}\r\nxyz\r\n",
                f"{verb} {{k}} 0 0 00000000003{tail}\r\nxyz\r\n", f"{verb} {{k}} 0 0 000000000003{tail}\r\nxyz\r\n",
                f"{verb} k\0z 0 0 3{tail}\r\nxyz\r\nget k\0z k\r\n")
    if verb == "cas":
        yield from (f"cas {{k}} 0 0 3 {number}\r\nxyz\r\n" for number in NUMBERS)
        yield "cas {k} 0 0 3\r\nxyz\r\n"


def arithmetic():
    for number in NUMBERS:
        for verb in ("incr", "decr"):
            yield on_present("arithmetic on a word", f"{verb} {{k}} {number}\r\n")
            yield text_case(f"{verb} of 10 by {number}",
                            f"set {{k}} 7 0 2\r\n10\r\n{verb} {{k}} {number}\r\n" + LOOK)
    for value in (*NUMBERS, "", " 12", "12 ", "1 2", "00012", "9", "99", "-5", "1" * 21, "1\r\n"):
        data = f"set {{k}} 0 0 {len(value)}\r\n{value}\r\n"
        yield text_case(f"incr of {value!r}", data + "incr {k} 1\r\n" + LOOK + "incr {k} 90\r\n" + LOOK)
        yield text_case(f"decr of {value!r}", data + "decr {k} 1\r\n" + LOOK + "decr {k} 90\r\n" + LOOK)


def commands():
    """Commands that are not about one item."""
    for line in ("", " ", "foo", "foo bar baz", "\0", "\x01\x02", "get", "version", "version x", "verbosity",
                 "verbosity 0", "verbosity abc", "verbosity 0 1", "verbosity noreply", "verbosity 0 noreply",
                 "verbosity 0 0 noreply", "quit", "quit x", "quit noreply", "shutdown", "shutdown graceful",
                 "cache_memlimit", "cache_memlimit 64", "cache_memlimit abc", "cache_memlimit -1",
                 "cache_memlimit 64 noreply", "cache_memlimit 64 x", "cache_memlimit 0",
                 "lru_crawler", "lru_crawler foo", "lru_crawler metadump", "lru_crawler mgdump",
                 "lru_crawler metadump foo", "lru_crawler metadump 0", "lru_crawler metadump 64",
                 "lru_crawler sleep", "lru_crawler sleep x", "lru_crawler tocrawl", "lru_crawler tocrawl x",
                 "lru_crawler crawl", "lru_crawler crawl x", "lru_crawler enable", "lru_crawler enable x",
                 "slabs", "slabs foo", "slabs reassign", "slabs reassign 1", "slabs reassign x y",
                 "slabs automove", "slabs automove 0", "slabs automove x",
                 "lru", "lru foo", "lru tune", "lru mode", "lru mode x", "lru temp_ttl", "lru temp_ttl x",
                 "watch foo", "watch fetchers foo",
                 "stats foo", "stats detail", "stats detail foo", "stats detail on", "stats detail off",
                 "stats reset", "stats reset x", "stats cachedump", "stats cachedump 1", "stats cachedump x 1",
                 "stats cachedump 1 x", "stats cachedump 0 1", "stats cachedump 65 1", "STATS", "VERSION",
                 "flush_all x", "flush_all x noreply", "misbehave", "debugtime", "mset a b", "stat", "ge",
                 "gett k", "setx k 0 0 1", "appendx", "touchx k 1", "flush_allx", "quitx", "versionx",
                 "verbosityx 1", "shutdownx", "me", "mn", "mn x", "mz", "mz k", "m", "m k", "mget k",
                 "bget {k}", "bget", "noreply", "foo noreply", " version", "  verbosity 0", "a", "mn ", "lru noreply",
                 "shutdown noreply", "verbosity noreply x", "watch x noreply", "delete noreply", "version noreply",
                 "slabs automove ratio 0.5", "slabs automove freeratio 0.01", "slabs automove freeratio x",
                 "slabs automove window 30", "slabs automove window 2", "slabs automove window 1801", "slabs automove window x",
                 "slabs automove window", "slabs reassign 1 2 3", "cache_memlimit 4294967296", "verbosity 4294967296",
                 "lru_crawler sleep +1", "lru_crawler tocrawl 5 6", "lru tune 10 25 0.1 2.0", "lru tune 60 25 0.1 2.0",
                 "flush_all 1 2 3", "flush_all noreply x", "flush_all +1", "gat 1", "gats 1", "get HTTP/1.1", "HTTP/1.1",
                 "GET / HTTP/1.1 x", "foo http/1.1"):
        yield text_case(f"command {line!r}", line + "\r\nversion\r\n")
    for line in ("\n", "\r\r\n", "a\n", "mn\n", "m\n\n", "\0\r\n", "  \n", "get a\0b\r\n", "version\r\r\n"):
        yield text_case(f"line {line!r}", line + "version\r\n")
    for line in ("GET / HTTP/1.1", "POST /x HTTP/1.0", "HEAD / HTTP/2", " PUT / HTTP/1.1", "x HTTP/", "DELETE x HTTP/1.1 "):
        yield text_case(f"HTTP: {line!r}", line + "\r\nHost: localhost\r\n\r\nversion\r\n")
        yield text_case(f"HTTP after another command: {line!r}", PRESENT, line + "\r\nversion\r\n")
    for line in ("flush_all", "flush_all 0", "flush_all -1", "flush_all noreply", "flush_all 0 noreply",
                 "flush_all 0 0", "flush_all 1000"):
        yield text_case(f"command {line!r}", PRESENT, line + "\r\n", LOOK + "flush_all\r\n")
    for length in (1000, 2000, 2047, 2048, 2049, 3000):
        yield text_case(f"a line of {length} bytes without an end", "x" * length)
        yield text_case(f"a line of {length} bytes", "x" * length + "\r\nversion\r\n")
        yield text_case(f"a get line of {length} bytes", "get " + "a" * (length - 4) + "\r\nversion\r\n")
    yield text_case("half a command", "get k")
    yield text_case("half a value", "set {k} 0 0 10\r\nabc")


def conversations():
    """Cases in several steps."""
    yield text_case("gets and cas", PRESENT + "gets {k}\r\n", "cas {k} 1 0 1 {cas}\r\nz\r\n",
                    "cas {k} 1 0 1 {cas}\r\ny\r\ngets {k}\r\n")
    yield text_case("cas with noreply", PRESENT + "gets {k}\r\n", "cas {k} 1 0 1 {cas} noreply\r\nz\r\n", LOOK)
    yield text_case("cas after append", PRESENT + "gets {k}\r\n", "append {k} 0 0 1\r\nz\r\ncas {k} 0 0 1 {cas}\r\ny\r\n")
    yield text_case("cas after incr", "set {k} 0 0 1\r\n5\r\ngets {k}\r\n", "incr {k} 1\r\ncas {k} 0 0 1 {cas}\r\ny\r\n" + LOOK)
    yield text_case("cas after touch", PRESENT + "gets {k}\r\n", "touch {k} 100\r\ncas {k} 0 0 1 {cas}\r\ny\r\n" + LOOK)
    yield text_case("cas after delete", PRESENT + "gets {k}\r\n", "delete {k}\r\ncas {k} 0 0 1 {cas}\r\ny\r\n" + LOOK)
    yield text_case("append keeps flags", PRESENT + "append {k} 9 0 1\r\nd\r\n" + LOOK)
    yield text_case("prepend keeps flags", PRESENT + "prepend {k} 9 0 1\r\nd\r\n" + LOOK)
    yield text_case("append of nothing", PRESENT + "append {k} 0 0 0\r\n\r\n" + LOOK)
    yield text_case("add with a past expiry", "add {k} 0 -1 1\r\nx\r\n" + LOOK + "add {k} 0 0 1\r\ny\r\n" + LOOK)
    yield text_case("too large a set drops the old", PRESENT + "set {k} 0 0 2000000\r\n" + "x" * 2000000 + "\r\n" + LOOK)
    yield text_case("too large an add", PRESENT + "add {k} 0 0 2000000\r\n" + "x" * 2000000 + "\r\n" + LOOK)
    yield text_case("too large an append", PRESENT + "append {k} 0 0 2000000\r\n" + "x" * 2000000 + "\r\n" + LOOK)
    yield text_case("too large a set with noreply",
                    PRESENT + "set {k} 0 0 2000000 noreply\r\n" + "x" * 2000000 + "\r\n" + LOOK)
    yield text_case("an append that grows too large", "set {k} 0 0 600000\r\n" + "x" * 600000 + "\r\nappend {k} 0 0 600000\r\n"
                    + "y" * 600000 + "\r\n" + "touch {k} 0\r\n")
    yield text_case("the largest value", "set {k} 0 0 1048000\r\n" + "x" * 1048000 + "\r\ntouch {k} 0\r\n")
    yield text_case("one byte too many", "set {k} 0 0 1048576\r\n" + "x" * 1048576 + "\r\ntouch {k} 0\r\n")
    yield text_case("pipelined", (PRESENT + LOOK + "delete {k}\r\n" + LOOK) * 50)
    yield text_case("an empty value", "set {k} 0 0 0\r\n\r\n" + LOOK + "append {k} 0 0 1\r\nx\r\n" + LOOK)
    yield text_case("a value of line ends", "set {k} 0 0 8\r\n\r\nEND\r\n\n\r\n" + LOOK)
    yield text_case("text, then a binary magic", LOOK + "\x80\r\n" + LOOK)


def with_options():
    """The same commands where the operator has switched something off."""
    for options in (("-C",), ("-F",), ("-X",), ("-M",), ("-W",)):
        for line in ("gets {k}\r\n", "mg {k} c v\r\n", "cas {k} 0 0 1 0\r\nx\r\n", "cas {k} 0 0 1 1\r\nx\r\n",
                     "shutdown\r\n", "watch fetchers foo\r\n", "ms {k} 1 c\r\nx\r\n", "ms {k} 1 C1\r\nx\r\n"):
            yield text_case(f"with {options[0]}: {line!r}", PRESENT, line, LOOK, options=options)
    for line in ("flush_all\r\n", "flush_all noreply\r\n", "flush_all 100\r\n", "flush_all x\r\n"):
        yield text_case(f"with -F: {line!r}", PRESENT, line, LOOK, options=("-F",))
    for line in ("lru_crawler metadump all\r\n", "lru_crawler mgdump all\r\n", "stats cachedump 1 0\r\n", "stats sizes\r\n"):
        yield text_case(f"with -X: {line!r}", line, options=("-X",))
    for name, line in {"text": "get {k}\r\n", "meta": "mg {k} v\r\n", "binary": "\x80" + "\0" * 23}.items():
        yield text_case(f"with -B ascii: {name}", line, options=("-B", "ascii"))
        yield text_case(f"with -B binary: {name}", line, options=("-B", "binary"))


def cases():
    for line in lines():
        yield on_present("line", line)
        yield on_absent("line", line)
    for verb in ("set", "add", "replace", "append", "prepend", "cas"):
        for line in storage_lines(verb):
            yield on_present("storage", line)
            yield on_absent("storage", line)
    yield from arithmetic()
    yield from commands()
    yield from conversations()
    yield from with_options()
