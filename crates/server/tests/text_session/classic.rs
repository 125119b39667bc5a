//! The classic commands where nothing goes wrong.

use crate::{Server, golden};
use farcache_session::{Session, Status};

golden! {
    version: "version\r\n" => format!("VERSION {}\r\n", farcache_session::VERSION);
    version_takes_anything: "version x\r\n" => format!("VERSION {}\r\n", farcache_session::VERSION);
    set_and_get: "set k 5 0 3\r\nabc\r\nget k\r\n" => "STORED\r\nVALUE k 5 3\r\nabc\r\nEND\r\n";
    set_nothing: "set k 0 0 0\r\n\r\nget k\r\n" => "STORED\r\nVALUE k 0 0\r\n\r\nEND\r\n";
    get_misses: "get k\r\n" => "END\r\n";
    get_many: "set a 0 0 1\r\n1\r\nset b 0 0 1\r\n2\r\nget a x b a\r\n"
        => "STORED\r\nSTORED\r\nVALUE a 0 1\r\n1\r\nVALUE b 0 1\r\n2\r\nVALUE a 0 1\r\n1\r\nEND\r\n";
    bare_newlines: "set k 0 0 1\na\r\nget k\n" => "STORED\r\nVALUE k 0 1\r\na\r\nEND\r\n";
    pipelined_gets: "set k 0 0 1\r\na\r\nget k\r\nget x\r\nget k\r\n"
        => "STORED\r\nVALUE k 0 1\r\na\r\nEND\r\nEND\r\nVALUE k 0 1\r\na\r\nEND\r\n";
    reads_see_the_writes_before_them: "get k\r\nset k 0 0 1\r\na\r\nget k\r\ndelete k\r\nget k\r\n"
        => "END\r\nSTORED\r\nVALUE k 0 1\r\na\r\nEND\r\nDELETED\r\nEND\r\n";
    add: "add k 0 0 1\r\na\r\nadd k 0 0 1\r\nb\r\nget k\r\n"
        => "STORED\r\nNOT_STORED\r\nVALUE k 0 1\r\na\r\nEND\r\n";
    replace: "replace k 0 0 1\r\na\r\nset k 0 0 1\r\nb\r\nreplace k 0 0 1\r\nc\r\nget k\r\n"
        => "NOT_STORED\r\nSTORED\r\nSTORED\r\nVALUE k 0 1\r\nc\r\nEND\r\n";
    append_and_prepend: "append k 0 0 1\r\nx\r\nset k 7 0 1\r\nb\r\nappend k 0 0 1\r\nc\r\nprepend k 0 0 1\r\na\r\nget k\r\n"
        => "NOT_STORED\r\nSTORED\r\nSTORED\r\nSTORED\r\nVALUE k 7 3\r\nabc\r\nEND\r\n";
    delete: "set k 0 0 1\r\na\r\ndelete k\r\ndelete k\r\nget k\r\n"
        => "STORED\r\nDELETED\r\nNOT_FOUND\r\nEND\r\n";
    delete_with_the_delay_of_old_clients: "set k 0 0 1\r\na\r\ndelete k 0\r\ndelete k 5 6\r\ndelete k 0 noreply\r\n"
        => "STORED\r\nDELETED\r\nNOT_FOUND\r\n";
    a_key_that_asks_for_no_reply: "set noreply 0 0 1\r\na\r\ndelete noreply\r\nmg noreply\r\n"
        => "STORED\r\nEN\r\n";
    arithmetic: "set n 0 0 2\r\n10\r\nincr n 5\r\ndecr n 1\r\nincr n 18446744073709551615\r\ndecr n 99\r\n"
        => "STORED\r\n15\r\n14\r\n13\r\n0\r\n";
    arithmetic_misses: "incr n 1\r\ndecr n 1\r\n" => "NOT_FOUND\r\nNOT_FOUND\r\n";
    arithmetic_takes_any_last_word: "set n 0 0 1\r\n6\r\nincr n 1 foo\r\n" => "STORED\r\n7\r\n";
    touch: "set k 0 0 1\r\na\r\ntouch k 10\r\ntouch x 10\r\n" => "STORED\r\nTOUCHED\r\nNOT_FOUND\r\n";
    gat: "set k 3 0 1\r\na\r\ngat 10 k x\r\n" => "STORED\r\nVALUE k 3 1\r\na\r\nEND\r\n";
    gat_of_the_past: "set k 0 0 1\r\na\r\ngat -1 k\r\nget k\r\n" => "STORED\r\nVALUE k 0 1\r\na\r\nEND\r\nEND\r\n";
    flush_all: "set k 0 0 1\r\na\r\nflush_all\r\nget k\r\nflush_all 0\r\nflush_all -1\r\n"
        => "STORED\r\nOK\r\nEND\r\nOK\r\nOK\r\n";
    expired_at_once: "set k 0 -1 1\r\na\r\nget k\r\n" => "STORED\r\nEND\r\n";
    a_nul_ends_the_line: "get a\0b c\r\n" => "END\r\n";
    no_reply: "set k 0 0 1 noreply\r\na\r\nadd k 0 0 1 noreply\r\nb\r\nappend k 0 0 1 noreply\r\nb\r\n\
        cas k 0 0 1 99999 noreply\r\nc\r\ntouch k 0 noreply\r\nincr k 1 noreply\r\ndelete x noreply\r\n\
        delete x 0 noreply\r\nverbosity 1 noreply\r\ncache_memlimit 64 noreply\r\nget k\r\n"
        => "VALUE k 0 2\r\nab\r\nEND\r\n";
    flush_without_reply: "set k 0 0 1\r\na\r\nflush_all noreply\r\nget k\r\nflush_all 0 noreply\r\nmn\r\n"
        => "STORED\r\nEND\r\nMN\r\n";
}

/// Takes the number that ends the first line.
fn cas_of(answer: &str) -> u64 {
    let line = answer.split("\r\n").next().expect("a line");
    line.rsplit(' ')
        .next()
        .expect("a token")
        .parse()
        .expect("a number")
}

#[test]
fn cas_needs_the_token_of_the_item() {
    let mut server = Server::new();
    assert_eq!(server.ask(b"set k 0 0 1\r\na\r\n"), "STORED\r\n");
    let answer = server.ask(b"gets k\r\n");
    let cas = cas_of(&answer);
    assert_eq!(answer, format!("VALUE k 0 1 {cas}\r\na\r\nEND\r\n"));
    assert_eq!(
        server.ask(format!("cas k 0 0 1 {}\r\nb\r\n", cas + 1).as_bytes()),
        "EXISTS\r\n"
    );
    assert_eq!(
        server.ask(format!("cas k 0 0 1 {cas}\r\nb\r\n").as_bytes()),
        "STORED\r\n"
    );
    assert_eq!(
        server.ask(format!("cas k 0 0 1 {cas}\r\nc\r\n").as_bytes()),
        "EXISTS\r\n"
    );
    assert_eq!(
        server.ask(format!("cas x 0 0 1 {cas}\r\nc\r\n").as_bytes()),
        "NOT_FOUND\r\n"
    );
    assert_ne!(cas_of(&server.ask(b"gats 0 k\r\n")), cas);
    let counters = &server.counters;
    let counted = [
        &counters.cas_hits,
        &counters.cas_misses,
        &counters.cas_badval,
    ]
    .map(|counter| counter.get());
    assert_eq!(counted, [1, 1, 2]);
}

#[test]
fn expiry_follows_the_thirty_day_rule() {
    let mut server = Server::new();
    let month = 60 * 60 * 24 * 30;
    let unix = server.clock.unix(server.clock.now);
    let sets = format!(
        "set relative 0 10 1\r\na\r\nset month 0 {month} 1\r\na\r\nset past 0 {} 1\r\na\r\nset unix 0 {} 1\r\na\r\n\
         set late 0 4102444800 1\r\na\r\n",
        month + 1,
        unix + 10,
    );
    assert_eq!(server.ask(sets.as_bytes()), "STORED\r\n".repeat(5));
    let all = b"mg relative\r\nmg month\r\nmg past\r\nmg unix\r\nmg late\r\n";
    assert_eq!(server.ask(all), "HD\r\nHD\r\nEN\r\nHD\r\nHD\r\n");
    server.sleep(9);
    assert_eq!(server.ask(all), "HD\r\nHD\r\nEN\r\nHD\r\nHD\r\n");
    server.sleep(1);
    assert_eq!(server.ask(all), "EN\r\nHD\r\nEN\r\nEN\r\nHD\r\n");
}

#[test]
fn touch_and_gat_change_the_expiry() {
    let mut server = Server::new();
    assert_eq!(
        server.ask(b"set a 0 5 1\r\na\r\nset b 0 5 1\r\nb\r\n"),
        "STORED\r\nSTORED\r\n"
    );
    assert_eq!(server.ask(b"touch a 20\r\n"), "TOUCHED\r\n");
    assert_eq!(server.ask(b"gat 20 b\r\n"), "VALUE b 0 1\r\nb\r\nEND\r\n");
    server.sleep(10);
    assert_eq!(server.ask(b"mg a t\r\nmg b t\r\n"), "HD t10\r\nHD t10\r\n");
    let counters = &server.counters;
    let counted = [
        &counters.cmd_touch,
        &counters.touch_hits,
        &counters.touch_misses,
    ]
    .map(|counter| counter.get());
    assert_eq!(counted, [2, 2, 0]);
}

#[test]
fn a_flush_may_come_later() {
    let mut server = Server::new();
    assert_eq!(
        server.ask(b"set k 0 0 1\r\na\r\nflush_all 5\r\nmg k\r\n"),
        "STORED\r\nOK\r\nHD\r\n"
    );
    server.sleep(6);
    assert_eq!(server.ask(b"mg k\r\n"), "EN\r\n");
}

#[test]
fn quit_ends_the_conversation() {
    let mut server = Server::new();
    let mut session = Session::default();
    let (answer, status) = server.talk(&mut session, b"mn\r\nquit x\r\nmn\r\n");
    assert_eq!((&answer[..], status), (&b"MN\r\n"[..], Status::Close));
}

#[test]
fn commands_are_counted_as_memcached_counts_them() {
    let mut server = Server::new();
    server.ask(
        b"set k 0 0 1\r\na\r\nadd k 0 0 1\r\na\r\nset k 0 0 1\r\nabc\r\nget k x\r\ngets k\r\nmg k v\r\nmg x\r\nmg x q\r\n\
          delete x\r\ndelete k\r\nset n 0 0 1\r\n1\r\nincr n 1\r\ndecr n 1\r\nincr x 1\r\ndecr x 1\r\nme n\r\nflush_all\r\n",
    );
    let counters = &server.counters;
    // The leftover `c` of the bad chunk is a malformed command, the bad chunk is counted as a set.
    let counted = [
        (&counters.cmd_get, 6),
        (&counters.get_hits, 3),
        (&counters.get_misses, 3),
        (&counters.cmd_set, 4),
        (&counters.delete_hits, 1),
        (&counters.delete_misses, 1),
        (&counters.incr_hits, 1),
        (&counters.incr_misses, 1),
        (&counters.decr_hits, 1),
        (&counters.decr_misses, 1),
        (&counters.cmd_meta, 1),
        (&counters.cmd_flush, 1),
    ];
    for (index, (counter, expected)) in counted.into_iter().enumerate() {
        assert_eq!(counter.get(), expected, "counter {index}");
    }
}
