//! Malformed requests.

use crate::{Server, golden};
use farcache_session::{Session, Status};

const BAD_FORMAT: &str = "CLIENT_ERROR bad command line format\r\n";

golden! {
    unknown: "xy\r\nfoo bar\r\nGET k\r\n get k\r\n mn\r\nbget k\r\n" => "ERROR\r\n".repeat(6);
    unknown_without_reply: "foo noreply\r\nnoreply\r\nmn\r\n" => "MN\r\n";
    operators_commands_may_follow_spaces: "  verbosity 0\r\n" => "OK\r\n";
    // A name of two letters and CRLF is the least, whatever the line says.
    too_short: "\r\n\n\r\r\nx\r\n \r\nm\n\nmn\n" => BAD_FORMAT.repeat(8);
    blanks: "  \r\n   \r\n" => "ERROR\r\nERROR\r\n";
    too_few_words: "get\r\ngets\r\ngat\r\ngat 1\r\ndelete\r\nincr\r\nincr n\r\ntouch n\r\nmg\r\nms\r\nmd\r\nma\r\n\
        set a b\r\nset a 0 0\r\n" => BAD_FORMAT.repeat(14);
    more_words_are_passed_over: "set k 0 0 1 noreply x\r\na\r\ndelete k b c d\r\nincr k 1 2 3\r\ntouch k 1 2 3\r\n\
        flush_all 1 2 3\r\nverbosity 1 2 3\r\ncas k 0 0 1 1 x noreply\r\na\r\nmn\r\n"
        => "STORED\r\nDELETED\r\nNOT_FOUND\r\nNOT_FOUND\r\nOK\r\nOK\r\nMN\r\n";
    too_long_a_key: format!("get {0}\r\nget a {0} b\r\ndelete {0}\r\nincr {0} 1\r\ntouch {0} 1\r\nmg {0}\r\nmd {0}\r\n\
        mg {0} u\r\nme {0}\r\ngat 0 {0}\r\nma {0}\r\n", "k".repeat(251))
        => format!("{}CLIENT_ERROR invalid or duplicate flag\r\n", BAD_FORMAT.repeat(10));
    the_longest_key: format!("set {0} 0 0 1\r\na\r\nget {0}\r\n", "k".repeat(250))
        => format!("STORED\r\nVALUE {0} 0 1\r\na\r\nEND\r\n", "k".repeat(250));
    values_without_a_length_are_commands: "set k 0 0 -1\r\nab\r\nset k 0 0 x\r\nab\r\nset k 0 0 2147483647\r\nab\r\n\
        set k 0 0 noreply\r\nab\r\nset k 0 0 +2 noreply\r\nab\r\nms k x\r\nab\r\nms k 2 !\r\nab\r\n"
        => format!("{BAD_FORMAT}ERROR\r\n").repeat(7);
    values_with_a_length_are_thrown_away: format!("set {0} 0 0 1\r\na\r\nset k x 0 1\r\na\r\nset k 0 x 1\r\na\r\n\
        set k -1 0 1\r\na\r\ncas k 0 0 1 x\r\na\r\ncas k 0 0 1\r\na\r\nset k x 0 4\r\nget\n\r\nms {0} 1\r\na\r\nmn\r\n",
        "k".repeat(251)) => format!("{}MN\r\n", BAD_FORMAT.repeat(8));
    values_thrown_away_without_reply: format!("set {} 0 0 1 noreply\r\na\r\nset k x 0 1 noreply\r\na\r\n\
        cas k 0 0 1 noreply\r\na\r\nmn\r\n", "k".repeat(251)) => "MN\r\n";
    a_large_value_is_thrown_away: format!("set k x 0 100000\r\n{}\r\nmn\r\n", "a".repeat(100_000))
        => format!("{BAD_FORMAT}MN\r\n");
    bad_data_chunk: "set k 0 0 3\r\nabcdefg\r\n" => "CLIENT_ERROR bad data chunk\r\nERROR\r\n";
    bad_data_chunk_without_reply: "set k 0 0 1 noreply\r\nabcde\r\nmn\r\n" => "ERROR\r\nMN\r\n";
    bad_data_chunk_of_a_quiet_meta_set: "ms k 1 q\r\nabcde\r\nmn\r\n"
        => "CLIENT_ERROR bad data chunk\r\nERROR\r\nMN\r\n";
    bad_numbers: "set n 0 0 1\r\n1\r\nincr n x\r\nincr n -1\r\nincr n 18446744073709551616\r\n"
        => "STORED\r\nCLIENT_ERROR invalid numeric delta argument\r\nCLIENT_ERROR invalid numeric delta argument\r\n\
            CLIENT_ERROR invalid numeric delta argument\r\n";
    not_numeric: "set n 0 0 1\r\na\r\nincr n 1\r\ndecr n 1\r\nma n\r\n"
        => format!("STORED\r\n{}", "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n".repeat(3));
    bad_exptime: "touch n x\r\ngat x a\r\ngats x a\r\nflush_all abc\r\n"
        => "CLIENT_ERROR invalid exptime argument\r\n".repeat(4);
    an_expiry_of_a_lone_minus_is_none: "set k 0 0 1\r\na\r\ntouch k -\r\nmg k t\r\n"
        => "STORED\r\nTOUCHED\r\nHD t-1\r\n";
    flags_and_expiries_may_have_a_sign: "set k +5 +0 1\r\na\r\nget k\r\n" => "STORED\r\nVALUE k 5 1\r\na\r\nEND\r\n";
    other_numbers_have_no_plus: "set k 0 0 1\r\n1\r\nincr k +1\r\ntouch k +1\r\nmg k T+1\r\n"
        => "STORED\r\nCLIENT_ERROR invalid numeric delta argument\r\nCLIENT_ERROR invalid exptime argument\r\n\
            CLIENT_ERROR bad token in command line format\r\n";
    flags_are_cut_to_32_bits: "set k 4294967297 0 1\r\na\r\nget k\r\n" => "STORED\r\nVALUE k 1 1\r\na\r\nEND\r\n";
    flags_of_32_bits: "set k 4294967295 0 1\r\na\r\nms m 1 F4294967295\r\na\r\nget k m\r\n"
        => "STORED\r\nHD\r\nVALUE k 4294967295 1\r\na\r\nVALUE m 4294967295 1\r\na\r\nEND\r\n";
    meta_flags_beyond_32_bits_are_refused: "ms k 1 F4294967296\r\na\r\nms k 1 F18446744073709551615\r\na\r\nmn\r\n"
        => format!("{}MN\r\n", BAD_FORMAT.repeat(2));
    meta_flags: "mg k v v\r\nmg k z\r\nmg k 1\r\nmg k Tx\r\nmg k Rx\r\nmg k Cx\r\nmg k Fx\r\nmg k M\r\n"
        => "CLIENT_ERROR duplicate flag\r\nCLIENT_ERROR invalid flag\r\nCLIENT_ERROR invalid flag\r\n\
            CLIENT_ERROR bad token in command line format\r\nCLIENT_ERROR bad token in command line format\r\n\
            CLIENT_ERROR bad token in command line format\r\nCLIENT_ERROR bad command line format\r\nEN\r\n";
    what_can_be_no_meta_flag: "mg k !\r\nmd k v v {\r\nma k \u{e4}\r\nmg k \x7f\r\nme k -1\r\n" => BAD_FORMAT.repeat(5);
    meta_delete_names_the_flag: "md n z\r\nmd n q q\r\nmd !!!! b\r\n"
        => "CLIENT_ERROR invalid flag\r\nCLIENT_ERROR duplicate flag\r\nCLIENT_ERROR error decoding key\r\n";
    meta_arithmetic_names_no_flag: "ma n z\r\nma n q q\r\nma n Dx\r\nma n Jx\r\nma !!!! b\r\n"
        => "CLIENT_ERROR invalid or duplicate flag\r\n".repeat(5);
    meta_modes: "ma n MX\r\nma n Mi\r\nms k 1 MX\r\na\r\nms k 1 Mset\r\na\r\nms k 1 M\r\na\r\nms k 1 MSET\r\na\r\n"
        => format!("{}{}HD\r\n", "CLIENT_ERROR invalid mode for ma M token\r\n".repeat(2),
            "CLIENT_ERROR invalid mode for ms M token\r\n".repeat(3));
    meta_set_lengths: "ms k\r\nms k S1\r\nms k -1\r\nms k x\r\nms k 2147483647\r\n" => BAD_FORMAT.repeat(5);
    meta_keys: "mg !!!! b\r\nms b 1 b\r\na\r\nme !!!! b\r\nme\r\n"
        => format!("CLIENT_ERROR error decoding key\r\nCLIENT_ERROR error decoding key\r\n{BAD_FORMAT}{BAD_FORMAT}");
    opaque_of_31_characters: format!("mg k O{}\r\n", "1".repeat(31)) => format!("EN O{}\r\n", "1".repeat(31));
    opaque_too_long: format!("mg k O{0}\r\nmd k O{0}\r\nma k O{0}\r\nms k 1 O{0}\r\na\r\nmn\r\n", "1".repeat(32))
        => format!("{}MN\r\n", "CLIENT_ERROR opaque token too long\r\n".repeat(4));
    as_many_meta_flags_as_may_be: "mg a c f h k l q s t u v E1 C1 F1 J1 D1 I O1 P\r\nmn\r\n" => "MN\r\n";
    too_many_meta_flags: "mg a c f h k l q s t u v E1 C1 F1 J1 D1 I O1 P L\r\nmd a c f h k l q s t u v E1 C1 F1 J1 D1 I O1 P L\r\n\
        ms a 1 c f h k l q s t u v E1 C1 F1 J1 D1 I O1 P\r\na\r\nmg a c f h k l q s t u v E1 C1 F1 J1 D1 I O1 P !\r\n"
        => format!("{}{BAD_FORMAT}", "CLIENT_ERROR options flags are too long\r\n".repeat(3));
}

#[test]
fn an_endless_line_closes_the_connection() {
    let mut server = Server::new();
    let (answer, status) = server.talk(&mut Session::default(), &[b'a'; 2048]);
    assert_eq!((answer.len(), status), (0, Status::NeedInput));
    let (answer, status) = server.talk(&mut Session::default(), &[b'a'; 2049]);
    assert_eq!(status, Status::Close);
    assert!(answer.is_empty());
}

#[test]
fn requests_of_http_are_hung_up_on() {
    for line in [
        "GET / HTTP/1.1",
        "POST /set%20k HTTP/1.0",
        "HEAD / HTTP/1.1",
        "PUT / HTTP/2",
        " OPTIONS * HTTP/1.1",
        "CONNECT host:11211 HTTP/1.1",
        "x HTTP/",
    ] {
        let mut server = Server::new();
        let input = format!("mn\r\n{line}\r\nHost: localhost\r\n\r\nset k 0 0 1\r\na\r\n");
        let (answer, status) = server.talk(&mut Session::default(), input.as_bytes());
        assert_eq!(
            (&answer[..], status),
            (&b"MN\r\n"[..], Status::Close),
            "{line}"
        );
        assert_eq!(server.ask(b"get k\r\n"), "END\r\n", "{line}");
    }
}

#[test]
fn what_only_looks_like_http_is_answered() {
    let mut server = Server::new();
    assert_eq!(
        server.ask(b"get HTTP/1.1\r\nHTTP/1.1\r\nGET / HTTP/1.1 x\r\nfoo http/1.1\r\n"),
        "END\r\nERROR\r\nERROR\r\nERROR\r\n"
    );
}

#[test]
fn malformed_requests_are_counted() {
    let mut server = Server::new();
    server.ask(b"x\r\nmg k !\r\nget k\r\n");
    assert_eq!(server.counters.protocol_errors.get(), 2);
}
