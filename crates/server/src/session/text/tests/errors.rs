//! Malformed requests.

use super::{Server, golden};
use crate::session::{Session, Status};

const BAD_FORMAT: &str = "CLIENT_ERROR bad command line format\r\n";

golden! {
    unknown: "x\r\nfoo bar\r\nGET k\r\n" => "ERROR\r\nERROR\r\nERROR\r\n";
    empty_lines: "\r\n\n  \r\n" => "ERROR\r\nERROR\r\nERROR\r\n";
    too_few_words: "get\r\ngets\r\ngat\r\ndelete\r\nincr\r\nincr n\r\ntouch n\r\nmg\r\nms\r\nmd\r\nma\r\nset a b\r\ncas n 0 0 1\r\n"
        => "ERROR\r\n".repeat(13);
    too_many_words: "set k 0 0 1 noreply x\r\ndelete a b c d\r\nincr a 1 2 3\r\ntouch a 1 2 3\r\n\
        flush_all 1 2 3\r\nverbosity 1 2 3\r\ncas n 0 0 1 1 noreply x\r\n" => "ERROR\r\n".repeat(7);
    too_long_a_key: format!("get {0}\r\nget a {0} b\r\ndelete {0}\r\nincr {0} 1\r\ntouch {0} 1\r\nmg {0}\r\nmd {0}\r\n\
        ma {0}\r\nmg {0} u\r\nme {0}\r\ngat 0 {0}\r\n", "k".repeat(251)) => BAD_FORMAT.repeat(11);
    the_longest_key: format!("set {0} 0 0 1\r\na\r\nget {0}\r\n", "k".repeat(250))
        => format!("STORED\r\nVALUE {0} 0 1\r\na\r\nEND\r\n", "k".repeat(250));
    values_of_malformed_sets_are_commands: format!("set {} 0 0 1\r\na\r\nset k 0 0 -1\r\na\r\nset k 0 0 x\r\na\r\n\
        set k x 0 1\r\na\r\nset k 0 x 1\r\na\r\nset k -1 0 1\r\na\r\nset k 0 0 2147483647\r\na\r\ncas k 0 0 1 x\r\na\r\n",
        "k".repeat(251)) => format!("{BAD_FORMAT}ERROR\r\n").repeat(8);
    malformed_sets_without_reply: "set k 0 0 noreply\r\nset k 0 0 x noreply\r\nmn\r\n" => "MN\r\n";
    bad_data_chunk: "set k 0 0 3\r\nabcdef\r\n" => "CLIENT_ERROR bad data chunk\r\nERROR\r\n";
    bad_data_chunk_without_reply: "set k 0 0 1 noreply\r\nabc\r\nmn\r\n" => "ERROR\r\nMN\r\n";
    bad_data_chunk_of_a_quiet_meta_set: "ms k 1 q\r\nabc\r\nmn\r\n"
        => "CLIENT_ERROR bad data chunk\r\nERROR\r\nMN\r\n";
    bad_numbers: "set n 0 0 1\r\n1\r\nincr n x\r\nincr n -1\r\nincr n 18446744073709551616\r\n"
        => "STORED\r\nCLIENT_ERROR invalid numeric delta argument\r\nCLIENT_ERROR invalid numeric delta argument\r\n\
            CLIENT_ERROR invalid numeric delta argument\r\n";
    not_numeric: "set n 0 0 1\r\na\r\nincr n 1\r\ndecr n 1\r\nma n\r\n"
        => format!("STORED\r\n{}", "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n".repeat(3));
    bad_exptime: "touch n x\r\ngat x a\r\ngats x a\r\nflush_all abc\r\n"
        => "CLIENT_ERROR invalid exptime argument\r\n".repeat(4);
    bad_delete: "delete k 5\r\ndelete k 5 6\r\ndelete k 5 noreply\r\n"
        => "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n".repeat(2);
    numbers_may_have_a_sign: "set k +5 +0 +1\r\na\r\nget k\r\n" => "STORED\r\nVALUE k 5 1\r\na\r\nEND\r\n";
    flags_are_cut_to_32_bits: "set k 4294967297 0 1\r\na\r\nget k\r\n" => "STORED\r\nVALUE k 1 1\r\na\r\nEND\r\n";
    meta_flags: "mg k v v\r\nmg k !\r\nmg k z\r\nmg k Tx\r\nmg k Rx\r\nmg k Cx\r\nmg k Fx\r\nmg k M\r\n"
        => "CLIENT_ERROR duplicate flag\r\nCLIENT_ERROR invalid flag\r\nCLIENT_ERROR invalid flag\r\n\
            CLIENT_ERROR bad token in command line format\r\nCLIENT_ERROR bad token in command line format\r\n\
            CLIENT_ERROR bad token in command line format\r\nCLIENT_ERROR bad command line format\r\n\
            CLIENT_ERROR incorrect length for M token\r\n";
    meta_delete_and_arithmetic_name_no_flag: "md n z\r\nmd n q q\r\nma n Dx\r\nma n Jx\r\nmd !!!! b\r\nma !!!! b\r\n"
        => "CLIENT_ERROR invalid or duplicate flag\r\n".repeat(6);
    meta_modes: "ma n MX\r\nms k 1 MX\r\na\r\nms k 1 Mset\r\na\r\nmn\r\n"
        => "CLIENT_ERROR invalid mode for ma M token\r\nCLIENT_ERROR invalid mode for ms M token\r\n\
            CLIENT_ERROR incorrect length for M token\r\nMN\r\n";
    meta_set_lengths: "ms k\r\nms k S1\r\nms k -1\r\nms k x\r\nms k 2147483647\r\n" => BAD_FORMAT.repeat(5);
    meta_keys: "mg !!!! b\r\nms b 1 b\r\na\r\nme !!!! b\r\nme\r\n"
        => format!("CLIENT_ERROR error decoding key\r\nCLIENT_ERROR error decoding key\r\n{BAD_FORMAT}{BAD_FORMAT}");
    opaque_of_31_characters: format!("mg k O{}\r\n", "1".repeat(31)) => format!("EN O{}\r\n", "1".repeat(31));
    opaque_too_long: format!("mg k O{0}\r\nmd k O{0}\r\nma k O{0}\r\nms k 1 O{0}\r\na\r\nmn\r\n", "1".repeat(32))
        => format!("{}MN\r\n", "CLIENT_ERROR opaque token too long\r\n".repeat(4));
    too_many_meta_flags: "mg a a b c d e f g h i j k l m n o p q r\r\nmd a a b c d e f g h i j k l m n o p q r\r\n"
        => "CLIENT_ERROR options flags are too long\r\nCLIENT_ERROR options flags too long\r\n";
}

#[test]
fn an_endless_line_closes_the_connection() {
    let mut server = Server::new();
    let (answer, status) = server.talk(&mut Session::default(), &[b'a'; 2048]);
    assert_eq!((answer.len(), status), (0, Status::NeedInput));
    let (answer, status) = server.talk(&mut Session::default(), &[b'a'; 2049]);
    assert_eq!(status, Status::Close);
    assert_eq!(answer, b"CLIENT_ERROR line too long\r\n");
}

#[test]
fn malformed_requests_are_counted() {
    let mut server = Server::new();
    server.ask(b"x\r\nmg k !\r\nget k\r\n");
    assert_eq!(server.counters.protocol_errors.get(), 2);
}
