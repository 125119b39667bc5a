"""Which of memcached's own tests (its t/*.t, beside the memcached that scripts/memcached-reference builds) ask what
Farcache answers too, and why the others do not."""

# They pass.
APPLICABLE = (
    "00-startup", "ascii-auth", "ascii-auth2", "binary", "binary-get", "bogus-commands", "cas", "chunked-items", "daemonize", "dash-M",
    "evictions", "expirations", "flags", "flush-all", "getandtouch", "getset", "idle-timeout", "incrdecr", "issue_104", "issue_108",
    "issue_152", "issue_192", "issue_3", "issue_41", "issue_50", "issue_67", "issue_68", "issue_70", "item_size_max",
    "malicious-commands", "maxconns", "metaget", "multiversioning", "noreply", "quit", "shutdown", "stats-detail", "strtol-testing",
    "touch", "udp", "unixsocket",
)

# Why they are left out; a name stands for all files that it is the beginning of.
LEFT_OUT = {
    "64bit": "total_malloced of `stats slabs`, faked by a hook of memcached's slabs",
    "binary-extstore": "extstore's own options and figures; tests/clients/test_tier.py tests items on the SSD",
    "binary-sasl": "wants Cyrus SASL's saslpasswd2; crates/server/tests/binary_session/authentication.rs tests SASL",
    "chunked-extstore": "as binary-extstore",
    "conn-limits": "limits of memcached's own buffers for replies and reading (resp_obj_mem_limit, read_buf_mem_limit)",
    "dyn-maxbytes": "raises -m from 3 to 16 by cache_memlimit; here it may be raised to four times what it was",
    "error-extstore": "as binary-extstore",
    "extstore": "as binary-extstore",
    "issue_14": "how many pages a slab class gets",
    "issue_163": "reclaimed items of a slab class: here what has expired goes with its segment",
    "issue_183": "as issue_163",
    "issue_22": "evictions of one slab class",
    "issue_29": "chunks that a slab class has used",
    "issue_42": "memory that slabs have allocated",
    "issue_61": "conn_yields after 20 requests (-R); here batches are counted, and 512 of them",
    "line-lengths": "the width of memcached's documents",
    "lru": "LRU lists and slab classes",
    "misbehave": "needs memcached's seccomp filter",
    "proxy": "memcached's proxy",
    "restart": "the metadata of -e: here FILE is an SSD device, and tests/clients/test_tier.py tests restarts",
    "slabs": "slab classes and their pages",
    "ssl": "are for builds with OpenSSL, and need Perl's IO::Socket::SSL; crates/server/tests/transports.rs tests TLS",
    "whitespace": "memcached's source",
    "stats": "names and numbers of all figures; items counted as flushed (get_flushed)",
    "stats-conns": "states of connections while a value is on its way, and the address of UDP sockets",
    "watcher": "the fields and the drops of memcached's log lines; crates/server/src/watch.rs has Farcache's",
    "issue_140": "left out by memcached itself",
    "issue_260": "left out by memcached itself",
    "refhang": "left out by memcached itself",
    "slabhang": "left out by memcached itself",
}
