//! The meta commands.

use crate::{Server, golden};

golden! {
    noop: "mn\r\nmn x y\r\n" => "MN\r\nMN\r\n";
    set_and_get: "ms k 3\r\nabc\r\nmg k v\r\nmg k\r\nmg k s v\r\n"
        => "HD\r\nVA 3\r\nabc\r\nHD\r\nVA 3 s3\r\nabc\r\n";
    miss: "mg k v\r\nmg k v k O9\r\nmg k q\r\nmg k v k q O9\r\nmn\r\n" => "EN\r\nEN kk O9\r\nMN\r\n";
    flags_come_in_their_order: "ms k 2 F7 T90\r\nab\r\nmg k k s t f O1 v\r\nmg k O1 v f t s k\r\n"
        => "HD\r\nVA 2 kk s2 t90 f7 O1\r\nab\r\nVA 2 O1 f7 t90 s2 kk\r\nab\r\n";
    routing_hints_are_ignored: "ms k 1 Ppath Lhint\r\na\r\nmg k Ppath Lhint v\r\n" => "HD\r\nVA 1\r\na\r\n";
    hits_before: "ms k 1\r\na\r\nmg k h\r\nmg k h\r\n" => "HD\r\nHD h0\r\nHD h1\r\n";
    a_peek_leaves_no_trace: "ms k 1\r\na\r\nmg k u v\r\nmg k h u\r\nmg k h\r\n"
        => "HD\r\nVA 1\r\na\r\nHD h0\r\nHD h0\r\n";
    binary_keys: "ms Zm9v 2 b k O123\r\nab\r\nmg Zm9v b k v\r\nmg foo k v\r\nmg Zm9x b k\r\nmd Zm9x b k\r\nmd Zm9v b k\r\n"
        => "HD kZm9v b O123\r\nVA 2 kZm9v b\r\nab\r\nVA 2 kZm9v b\r\nab\r\nEN kZm9x b\r\nNF kZm9x b\r\nHD kZm9v b\r\n";
    set_modes: "ms k 1 ME\r\nb\r\nms k 1 ME\r\nx\r\nms k 1 MA\r\nc\r\nms k 1 MP s\r\na\r\nmg k v\r\nms k 1 MR\r\nr\r\nms x 1 MR\r\nr\r\nms k 1 MS\r\ns\r\nmg k v\r\n"
        => "HD\r\nNS\r\nHD\r\nHD s3\r\nVA 3\r\nabc\r\nHD\r\nNS\r\nHD\r\nVA 1\r\ns\r\n";
    set_modes_in_lower_case: "ms k 1 me\r\nb\r\n" => "CLIENT_ERROR invalid flag\r\n";
    a_known_value_is_not_sent: "ms k 1 E7\r\na\r\nmg k v C7\r\nmg k C7 v c T30\r\nmg k v C8 t\r\nmg k v C0\r\n"
        => "HD\r\nHD\r\nHD c7\r\nVA 1 t30\r\na\r\nVA 1\r\na\r\n";
    append_to_nothing: "ms k 1 MA\r\na\r\nms k 1 MA C5\r\na\r\nms k 1 MA N30\r\na\r\nms k 1 MA N99\r\nb\r\nmg k v t\r\n"
        => "NS\r\nNS\r\nHD\r\nHD\r\nVA 2 t30\r\nab\r\n";
    quiet_set: "ms k 1 q\r\na\r\nms k 1 q ME k O1\r\nb\r\nms k 1 q k O1\r\nc\r\nmg k v\r\n"
        => "NS kk O1\r\nVA 1\r\nc\r\n";
    explicit_cas: "ms k 1 E99 c\r\na\r\nmg k c\r\nms k 1 C98\r\nb\r\nms k 1 C99 E100 c\r\nb\r\nmd k C99\r\nmd k C100\r\n"
        => "HD c99\r\nHD c99\r\nEX\r\nHD c100\r\nEX\r\nHD\r\n";
    cas_of_nothing: "ms k 1 C1 c\r\na\r\nms k 1 C1 MR\r\na\r\n" => "NF c0\r\nNF\r\n";
    an_add_compares_nothing: "ms k 1 C1 ME\r\na\r\n" => "HD\r\n";
    a_stale_set_is_marked: "ms k 1 E100\r\na\r\nms k 1 C90 I E101\r\nb\r\nmg k v\r\nmg k v\r\n"
        => "HD\r\nHD\r\nVA 1 X W\r\nb\r\nVA 1 Z X\r\nb\r\n";
    a_set_from_the_future_is_refused: "ms k 1 E100\r\na\r\nms k 1 C110 I\r\nb\r\n" => "HD\r\nEX\r\n";
    delete: "ms k 1\r\na\r\nmd k O1 k\r\nmd k O1 k\r\nmd k q\r\nms k 1\r\na\r\nmd k q\r\nmn\r\n"
        => "HD\r\nHD O1 kk\r\nNF O1 kk\r\nNF\r\nHD\r\nMN\r\n";
    invalidate: "ms w 1 T100\r\na\r\nmd w I T30 E50\r\nmg w v t c\r\nmg w v\r\nmg w s t R1000\r\n"
        => "HD\r\nHD\r\nVA 1 t30 c50 X W\r\na\r\nVA 1 Z X\r\na\r\nHD s1 t30 Z X\r\n";
    clear: "ms k 3 F9\r\nabc\r\nmd k x\r\nmg k v f\r\n" => "HD\r\nHD\r\nVA 0 f0\r\n\r\n";
    clear_and_invalidate: "ms k 3\r\nabc\r\nmd k x I\r\nmg k v\r\n" => "HD\r\nHD\r\nVA 0 X W\r\n\r\n";
    vivify: "mg viv N30 s v t\r\nmg viv s v t\r\nmg viv N30 v\r\nms viv 1\r\na\r\nmg viv v\r\n"
        => "VA 0 s0 t30 W\r\n\r\nVA 0 s0 t30 Z\r\n\r\nVA 0 Z\r\n\r\nHD\r\nVA 1\r\na\r\n";
    vivify_leaves_what_is_there: "ms k 1\r\na\r\nmg k N30 v t\r\n" => "HD\r\nVA 1 t-1\r\na\r\n";
    a_token_of_0_is_not_old: "ms k 1\r\na\r\nms k 1 C0 I\r\nb\r\n" => "HD\r\nEX\r\n";
    vivify_with_ttl: "mg viv N30 T90 t\r\nmg viv t\r\n" => "HD t90 W\r\nHD t90 Z\r\n";
    vivify_with_token: "mg viv N30 E77 c\r\nmg viv c\r\n" => "HD c77 W\r\nHD c77 Z\r\n";
    vivify_a_binary_key: "mg Zm9v N30 b k\r\nmg foo k\r\n" => "HD kZm9v b W\r\nHD kZm9v b Z\r\n";
    recache: "ms k 1 T20\r\na\r\nmg k R20\r\nmg k R30\r\nmg k R30\r\nms k 1 T0\r\na\r\nmg k R30\r\n"
        => "HD\r\nHD\r\nHD W\r\nHD Z\r\nHD\r\nHD\r\n";
    flags_act_in_their_order: "ms k 1 T20\r\na\r\nmg k t T90\r\nmg k T30 t\r\nmg k R60 T90\r\nmg k t\r\n"
        => "HD\r\nHD t20\r\nHD t30\r\nHD W\r\nHD t90 Z\r\n";
    touch: "ms k 1\r\na\r\nmg k T30\r\nmg k t\r\nmg k T0\r\nmg k t\r\nmg x T30\r\nmg x T30 q\r\n"
        => "HD\r\nHD\r\nHD t30\r\nHD\r\nHD t-1\r\nEN\r\n";
    arithmetic: "ms n 2\r\n10\r\nma n\r\nma n v\r\nma n D5 MD v\r\nma n MI\r\nma n M+ v\r\nma n M- v\r\nma n MDECR v\r\nma n D100 MD v\r\n"
        => "HD\r\nHD\r\nVA 2\r\n12\r\nVA 1\r\n7\r\nHD\r\nVA 1\r\n9\r\nVA 1\r\n8\r\nVA 1\r\n7\r\nVA 1\r\n0\r\n";
    arithmetic_tokens: "ms n 2 T50\r\n10\r\nma n t O1 k v\r\nma n T60 t\r\nma n E9 c\r\nma n C8\r\nma n C9 v\r\n"
        => "HD\r\nVA 2 t50 O1 kn\r\n11\r\nHD t60\r\nHD c9\r\nEX\r\nVA 2\r\n14\r\n";
    arithmetic_creates: "ma n\r\nma n O1 k q\r\nma n N0 J13 v q\r\nma n v q\r\nma n v\r\nma m N60 t\r\nma m v q\r\nmn\r\n"
        => "NF\r\nNF O1 kn\r\nVA 2\r\n15\r\nHD t60\r\nMN\r\n";
    arithmetic_takes_a_token_of_0_for_none: "ms n 1\r\n1\r\nma n C0 v\r\n" => "HD\r\nVA 1\r\n2\r\n";
    debug_misses: "me k\r\n" => "EN\r\n";
}

#[test]
fn times_are_from_before_the_read() {
    let mut server = Server::new();
    server.ask(b"ms k 1 T100\r\na\r\n");
    server.sleep(7);
    assert_eq!(server.ask(b"mg k l h t\r\n"), "HD l7 h0 t93\r\n");
    server.sleep(2);
    assert_eq!(server.ask(b"mg k l h t\r\n"), "HD l2 h1 t91\r\n");
}

#[test]
fn pipelined_reads_are_answered_in_order() {
    let mut server = Server::new();
    let (mut input, mut expected) = (String::new(), String::new());
    for number in 0..200 {
        server.ask(format!("ms key{number} 3\r\n{number:03}\r\n").as_bytes());
    }
    for number in 0..400 {
        input += &match number % 3 {
            0 => format!("mg key{number} v O{number}\r\n"),
            1 => format!("get key{number}\r\n"),
            _ => format!("mg key{number} q\r\n"),
        };
        expected += &match (number % 3, number < 200) {
            (0, true) => format!("VA 3 O{number}\r\n{number:03}\r\n"),
            (0, false) => format!("EN O{number}\r\n"),
            (1, true) => format!("VALUE key{number} 0 3\r\n{number:03}\r\nEND\r\n"),
            (1, false) => "END\r\n".to_owned(),
            (_, true) => "HD\r\n".to_owned(),
            (_, false) => String::new(),
        };
    }
    assert_eq!(server.ask(input.as_bytes()), expected);
}

#[test]
fn debug_shows_the_item() {
    let mut server = Server::new();
    server.ask(b"ms k 1 T100 E7\r\na\r\n");
    server.sleep(3);
    let answer = server.ask(b"me k\r\n");
    assert!(
        answer.starts_with("ME k exp=97 la=3 cas=7 fetch=no cls=1 size="),
        "{answer}"
    );
    server.ask(b"mg k\r\n");
    let answer = server.ask(b"me aw== b\r\n");
    assert!(
        answer.starts_with("ME k exp=97 la=0 cas=7 fetch=yes cls=1 size="),
        "{answer}"
    );
}
