//! Requests and replies by hand.

use super::{Dialect, TextTranslator};
use farcache_fabric::tcp::Translator;
use farcache_proto::binary::{
    ArithmeticExtras, Header, MAGIC_REQUEST, NO_CREATE, Opcode, Packet, SetExtras, Status,
};

fn request(opcode: Opcode, opaque: u32, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: opcode as u8,
        opaque,
        ..Header::default()
    };
    let mut packet = Vec::new();
    Packet {
        header,
        extras,
        key,
        value,
    }
    .encode(&mut packet);
    packet
}

/// Extras that create an absent number, and some that do not.
fn counting_by_five() -> [ArithmeticExtras; 2] {
    let creating = ArithmeticExtras {
        delta: 5,
        initial: 42,
        expiration: 60,
    };
    let none = ArithmeticExtras {
        expiration: NO_CREATE,
        ..creating
    };
    [creating, none]
}

/// Opaque, status and value of a packet that comes back.
type Answer = (u32, u16, Vec<u8>);

/// What is sent for these packets and then for these replies, byte by byte, and the packets that
/// come back.
fn exchange(packets: &[u8], replies: &[u8]) -> (String, String, Vec<Answer>) {
    exchange_in(Dialect::Classic, packets, replies)
}

fn exchange_in(dialect: Dialect, packets: &[u8], replies: &[u8]) -> (String, String, Vec<Answer>) {
    let mut translator = TextTranslator::new(dialect);
    let (mut text, mut more, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for byte in packets {
        translator.requests(&[*byte], &mut text).unwrap();
    }
    for byte in replies {
        translator
            .replies(&[*byte], &mut answers, &mut more)
            .unwrap();
    }
    let (text, more) = (String::from_utf8(text), String::from_utf8(more));
    let (mut rest, mut found) = (&answers[..], Vec::new());
    while let Some((packet, bytes)) = Packet::decode(rest).unwrap() {
        let header = packet.header;
        found.push((header.opaque, header.status, packet.value.to_vec()));
        rest = &rest[bytes..];
    }
    assert!(rest.is_empty());
    (text.unwrap(), more.unwrap(), found)
}

const SUCCESS: u16 = Status::Success as u16;

fn refused(opaque: u32, status: Status) -> Answer {
    (opaque, status as u16, status.text().into())
}

#[test]
fn values_are_got_and_stored() {
    let extras = SetExtras {
        flags: 7,
        expiration: u32::MAX,
    };
    let packets = [
        request(Opcode::Get, 1, &[], b"one", &[]),
        request(Opcode::Get, 2, &[], b"none", &[]),
        request(Opcode::Set, 3, &extras.encode(), b"one", b"val\r\nue"),
        request(Opcode::Add, 4, &SetExtras::default().encode(), b"e", b""),
        request(Opcode::Append, 5, &[], b"one", b"x"),
    ]
    .concat();
    let replies =
        b"VALUE one 7 7 99\r\nEND\r\n..\r\nEND\r\nEND\r\nSTORED\r\nNOT_STORED\r\nNOT_STORED\r\n";
    let (text, _, answers) = exchange(&packets, replies);
    let asked = "gets one\r\ngets none\r\nset one 7 2147483647 7\r\nval\r\nue\r\nadd e 0 0 0\r\n\r\nappend one 0 0 1\r\nx\r\n";
    assert_eq!(text, asked);
    let expected = [
        (1, SUCCESS, b"END\r\n..".to_vec()),
        refused(2, Status::NotFound),
        (3, SUCCESS, Vec::new()),
        refused(4, Status::Exists),
        refused(5, Status::NotStored),
    ];
    assert_eq!(answers, expected);
}

#[test]
fn what_text_cannot_say_never_reaches_the_server() {
    let packets = [
        request(Opcode::Get, 1, &[], b"two words", &[]),
        request(Opcode::Delete, 2, &[], b"a\r\nflush_all", &[]),
        request(Opcode::Set, 3, &[0; 8], b"a b", b"value\r\n"),
        request(Opcode::Stat, 4, &[], b"a\r\nflush_all", &[]),
        request(Opcode::SaslList, 5, &[], b"", &[]),
    ]
    .concat();
    let (text, _, answers) = exchange(&packets, "VERSION 1\r\n".repeat(5).as_bytes());
    assert_eq!(text, "version\r\n".repeat(5));
    let invalid = (1..=4).map(|opaque| refused(opaque, Status::InvalidArguments));
    let expected: Vec<_> = invalid
        .chain([refused(5, Status::UnknownCommand)])
        .collect();
    assert_eq!(answers, expected);
}

#[test]
fn an_absent_number_is_created() {
    let [extras, none] = counting_by_five();
    let packets = [
        request(Opcode::Increment, 1, &extras.encode(), b"n", &[]),
        request(Opcode::Decrement, 2, &none.encode(), b"m", &[]),
        request(Opcode::Increment, 3, &extras.encode(), b"r", &[]),
    ]
    .concat();
    let replies = b"NOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\nSTORED\r\nNOT_STORED\r\n47\r\n";
    let (text, more, answers) = exchange(&packets, replies);
    assert_eq!(text, "incr n 5\r\ndecr m 5\r\nincr r 5\r\n");
    assert_eq!(
        more,
        "add n 0 60 2\r\n42\r\nadd r 0 60 2\r\n42\r\nincr r 5\r\n"
    );
    let number = |number: u64| number.to_be_bytes().to_vec();
    let expected = [
        refused(2, Status::NotFound),
        (1, SUCCESS, number(42)),
        (3, SUCCESS, number(47)),
    ];
    assert_eq!(answers, expected);
}

#[test]
fn quiet_requests_and_failures() {
    let packets = [
        request(Opcode::SetQ, 1, &[0; 8], b"a", b"x"),
        request(Opcode::DeleteQ, 2, &[], b"a", &[]),
        request(Opcode::Set, 3, &[0; 8], b"a", b"x"),
        request(Opcode::Version, 4, &[], b"", &[]),
        request(Opcode::Stat, 5, &[], b"", &[]),
    ]
    .concat();
    let replies = b"STORED\r\nNOT_FOUND\r\nSERVER_ERROR object too large for cache\r\nVERSION 1.2\r\nSTAT a b c\r\nEND\r\n";
    let (_, _, answers) = exchange(&packets, replies);
    let expected = [
        refused(2, Status::NotFound),
        refused(3, Status::TooLarge),
        (4, SUCCESS, b"1.2".to_vec()),
        (5, SUCCESS, b"b c".to_vec()),
        (5, SUCCESS, Vec::new()),
    ];
    assert_eq!(answers, expected);
}

/// This is no answer to a get.
fn assert_given_up(dialect: Dialect, reply: &[u8]) {
    let mut translator = TextTranslator::new(dialect);
    let get = request(Opcode::Get, 1, &[], b"one", &[]);
    translator.requests(&get, &mut Vec::new()).unwrap();
    let outcome = translator.replies(reply, &mut Vec::new(), &mut Vec::new());
    assert!(outcome.is_err(), "{}", String::from_utf8_lossy(reply));
}

#[test]
fn servers_that_say_something_else_are_given_up() {
    for reply in [
        &b"STORED\r\n"[..],
        b"VALUE other 0 1 0\r\nx\r\n",
        b"VALUE one 0 1 0\r\nxy\r\n",
        b"VALUE one 0 99999999999 0\r\n",
        b"VALUE one 0 1 0\r\nx\r\nVALUE one 0 1 0\r\n",
        b"END\r\nEND\r\n",
    ] {
        assert_given_up(Dialect::Classic, reply);
    }
}

fn request_with_token(opcode: Opcode, opaque: u32, cas: u64, extras: &[u8]) -> Vec<u8> {
    let mut packet = request(opcode, opaque, extras, b"k", b"");
    packet[16..24].copy_from_slice(&cas.to_be_bytes());
    packet
}

#[test]
fn meta_commands_get_store_and_touch() {
    let extras = SetExtras {
        flags: 7,
        expiration: u32::MAX,
    };
    let packets = [
        request(Opcode::Get, 1, &[], b"one", &[]),
        request(Opcode::Get, 2, &[], b"none", &[]),
        request(Opcode::Set, 3, &extras.encode(), b"one", b"val\r\nue"),
        request(Opcode::Add, 4, &SetExtras::default().encode(), b"e", b""),
        request(
            Opcode::Replace,
            5,
            &SetExtras::default().encode(),
            b"e",
            b"",
        ),
        request(Opcode::Append, 6, &[], b"one", b"x"),
        request(Opcode::Prepend, 7, &[], b"one", b"x"),
        request(Opcode::Touch, 8, &60u32.to_be_bytes(), b"one", b""),
        request(Opcode::Gat, 9, &60u32.to_be_bytes(), b"one", b""),
        request_with_token(Opcode::Set, 10, 5, &SetExtras::default().encode()),
        request_with_token(Opcode::Delete, 11, 5, &[]),
        request(Opcode::Delete, 12, &[], b"k", b""),
        request(Opcode::Noop, 13, &[], b"", b""),
        request(Opcode::SetQ, 14, &SetExtras::default().encode(), b"k", b""),
    ]
    .concat();
    let replies = b"VA 7 f7 c99\r\nEND\r\n..\r\nEN\r\nHD c3\r\nNS\r\nNS\r\nNS\r\nHD\r\nHD\r\n\
        VA 0 c1 f0\r\n\r\nEX\r\nEX\r\nNF\r\nMN\r\nHD c9\r\n";
    let (text, more, answers) = exchange_in(Dialect::Meta, &packets, replies);
    let asked = "mg one f c v\r\nmg none f c v\r\nms one 7 c MS F7 T2147483647\r\nval\r\nue\r\n\
        ms e 0 c ME F0 T0\r\n\r\nms e 0 c MR F0 T0\r\n\r\nms one 1 c MA\r\nx\r\nms one 1 c MP\r\nx\r\n\
        mg one T60\r\nmg one f c v T60\r\nms k 0 c MS F0 T0 C5\r\n\r\nmd k C5\r\nmd k\r\nmn\r\nms k 0 c MS F0 T0\r\n\r\n";
    assert_eq!((text.as_str(), more.as_str()), (asked, ""));
    let done = |opaque| (opaque, SUCCESS, Vec::new());
    let expected = [
        (1, SUCCESS, b"END\r\n..".to_vec()),
        refused(2, Status::NotFound),
        done(3),
        refused(4, Status::Exists),
        refused(5, Status::NotFound),
        refused(6, Status::NotStored),
        done(7),
        done(8),
        done(9),
        refused(10, Status::Exists),
        refused(11, Status::Exists),
        refused(12, Status::NotFound),
        done(13),
    ];
    assert_eq!(answers, expected);
}

#[test]
fn meta_commands_count_and_tell_tokens() {
    let [extras, none] = counting_by_five();
    let packets = [
        request(Opcode::Increment, 1, &extras.encode(), b"n", &[]),
        request(Opcode::Decrement, 2, &none.encode(), b"m", &[]),
        request(Opcode::Increment, 3, &none.encode(), b"t", &[]),
        request(Opcode::Get, 4, &[], b"two words", &[]),
        request(Opcode::Version, 5, &[], b"", &[]),
    ]
    .concat();
    let replies = b"VA 2 c77\r\n42\r\nNF\r\nCLIENT_ERROR cannot increment or decrement non-numeric value\r\nMN\r\nVERSION 1\r\n";
    let (text, more, answers) = exchange_in(Dialect::Meta, &packets, replies);
    let asked = "ma n c v MI D5 N60 J42\r\nma m c v MD D5\r\nma t c v MI D5\r\nmn\r\nversion\r\n";
    assert_eq!((text.as_str(), more.as_str()), (asked, ""));
    let expected = [
        (1, SUCCESS, 42u64.to_be_bytes().to_vec()),
        refused(2, Status::NotFound),
        refused(3, Status::NotNumeric),
        refused(4, Status::InvalidArguments),
        (5, SUCCESS, b"1".to_vec()),
    ];
    assert_eq!(answers, expected);

    let mut translator = TextTranslator::new(Dialect::Meta);
    let mut answer = Vec::new();
    let count = request(Opcode::Increment, 1, &extras.encode(), b"n", &[]);
    translator.requests(&count, &mut Vec::new()).unwrap();
    let replies = translator.replies(b"VA 2 c77\r\n42\r\n", &mut answer, &mut Vec::new());
    replies.unwrap();
    let (packet, _) = Packet::decode(&answer).unwrap().unwrap();
    assert_eq!(packet.header.cas, 77);
}

#[test]
fn servers_that_answer_meta_commands_otherwise_are_given_up() {
    for reply in [
        &b"HD\r\n"[..],
        b"VA\r\n",
        b"VA 1 f0\r\nxy\r\n",
        b"VA 1 f99999999999\r\nx\r\n",
        b"VA 99999999999 f0\r\n",
        b"EN\r\nEN\r\n",
        b"MN\r\n",
    ] {
        assert_given_up(Dialect::Meta, reply);
    }
}
