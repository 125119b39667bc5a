//! A forwarded request is answered as by its owner: the same conversation, with the owner and
//! through another server, for two keys of the same length.

use crate::Fleet;
use crate::support::Client;
use farcache_proto::binary::{HEADER_BYTES, Header, MAGIC_REQUEST, Opcode, encode_head};
use std::io::Read;
use std::os::unix::net::UnixStream;

/// Stands for the key in a conversation; as long as one.
const KEY: &[u8] = b"key:kkkk";

/// Two keys of server 2, as long as [`KEY`].
fn two_keys(fleet: &Fleet) -> [String; 2] {
    let keys = (0..).map(|number| fleet.key_of(2, number));
    let mut keys = keys.filter(|key| key.len() == KEY.len());
    [(); 2].map(|()| keys.next().expect("many keys"))
}

fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut result = bytes.to_vec();
    for start in 0..(bytes.len() + 1).saturating_sub(old.len()) {
        if bytes[start..].starts_with(old) {
            result[start..][..old.len()].copy_from_slice(new);
        }
    }
    result
}

/// What is answered up to and with `end`, with [`KEY`] for the key.
fn answers(client: &mut Client<UnixStream>, key: &str, conversation: &[u8], end: &[u8]) -> Vec<u8> {
    client.send(&replaced(conversation, KEY, key.as_bytes()));
    let mut answers = Vec::new();
    while !answers.ends_with(end) {
        let mut byte = [0];
        client.stream.read_exact(&mut byte).expect("an answer");
        answers.push(byte[0]);
    }
    replaced(&answers, key.as_bytes(), KEY)
}

/// Has the conversation with the owner, and through another server.
fn assert_same(conversations: &[Vec<u8>], end: &[u8]) {
    let fleet = Fleet::start(2, &[]);
    let keys = two_keys(&fleet);
    let (mut through, mut owner) = (fleet.connect(1), fleet.connect(2));
    for conversation in conversations {
        let conversation = [conversation, end_request(end)].concat();
        let expected = answers(&mut owner, &keys[0], &conversation, end);
        let found = answers(&mut through, &keys[1], &conversation, end);
        assert_eq!(
            found.escape_ascii().to_string(),
            expected.escape_ascii().to_string(),
            "{}",
            conversation[..conversation.len().min(200)].escape_ascii()
        );
    }
    let mut stats = fleet.connect(1);
    assert!(stats.stat("forwarded") > 0);
    assert_eq!(stats.stat("forward_errors"), 0);
    assert_eq!(stats.stat("curr_items"), 0);
}

/// What is asked in order to get `end`.
fn end_request(end: &[u8]) -> &'static [u8] {
    match end {
        b"MN\r\n" => b"mn\r\n",
        _ => NOOP_REQUEST,
    }
}

fn text(lines: &[&str]) -> Vec<u8> {
    let key = std::str::from_utf8(KEY).expect("plain");
    let lines = lines.iter().map(|line| line.replace("{k}", key) + "\r\n");
    lines.collect::<String>().into_bytes()
}

#[test]
fn text_commands_are_answered_as_by_the_owner() {
    assert_same(
        &[
            text(&[
                "get {k}",
                "gets {k}",
                "gat 0 {k}",
                "gats 0 {k}",
                "touch {k} 0",
            ]),
            text(&[
                "delete {k}",
                "incr {k} 1",
                "decr {k} 1",
                "replace {k} 0 0 1",
                "a",
            ]),
            text(&[
                "append {k} 0 0 1",
                "a",
                "prepend {k} 0 0 1",
                "a",
                "cas {k} 0 0 1 7",
                "a",
            ]),
            text(&[
                "set {k} 5 0 2",
                "ab",
                "get {k}",
                "add {k} 0 0 1",
                "x",
                "get {k}",
            ]),
            text(&[
                "append {k} 0 0 2",
                "cd",
                "prepend {k} 0 0 2",
                "ef",
                "get {k} {k}",
            ]),
            text(&[
                "replace {k} 7 0 3",
                "123",
                "incr {k} 5",
                "decr {k} 200",
                "get {k}",
            ]),
            text(&[
                "ms {k} 1 E100 F3",
                "9",
                "gets {k}",
                "cas {k} 0 0 1 99",
                "z",
                "get {k}",
            ]),
            text(&[
                "cas {k} 0 0 1 100",
                "y",
                "get {k}",
                "touch {k} 100",
                "gat 200 {k}",
            ]),
            text(&["touch {k} -1", "get {k}"]),
            text(&[
                "set {k} 1 0 3 noreply",
                "abc",
                "get {k}",
                "add {k} 0 0 1 noreply",
                "q",
            ]),
            text(&[
                "incr {k} 1",
                "incr {k} 1 noreply",
                "get {k}",
                "touch {k} 0 noreply",
            ]),
            text(&[
                "delete {k} noreply",
                "get {k}",
                "set {k} 0 0 1",
                "7",
                "delete {k}",
            ]),
            text(&[
                "set {k} 0 0 3",
                "toolong",
                "get {k}",
                "set {k} 0 0 x",
                "delete {k} 3 4",
            ]),
            text(&[
                "incr {k} x",
                "touch {k}",
                "gat x {k}",
                "cas {k} 0 0 1",
                "verbosity",
            ]),
        ],
        b"MN\r\n",
    );
}

#[test]
fn meta_commands_are_answered_as_by_the_owner() {
    assert_same(
        &[
            text(&[
                "mg {k}",
                "mg {k} v",
                "mg {k} v q",
                "mg {k} v k O12",
                "md {k} q",
                "md {k}",
            ]),
            text(&[
                "ms {k} 2 F5 E50",
                "ab",
                "mg {k} v f s k O1 c",
                "mg {k} t",
                "mg {k} v q",
            ]),
            text(&[
                "ms {k} 2 MA k O3",
                "cd",
                "ms {k} 2 MP q",
                "ef",
                "mg {k} v",
                "mg {k} s",
            ]),
            text(&[
                "ms {k} 1 ME",
                "x",
                "ms {k} 1 MR E60 c",
                "y",
                "ms {k} 1 C61",
                "z",
            ]),
            text(&[
                "ma {k}",
                "ms {k} 2",
                "10",
                "ma {k} v",
                "ma {k} MD D3 v",
                "ma {k} q",
            ]),
            text(&[
                "md {k} I T100",
                "mg {k} v",
                "mg {k} v",
                "md {k} x",
                "mg {k} v s",
            ]),
            text(&[
                "md {k}",
                "mg {k} N0 v",
                "mg {k} v",
                "ma {k} N0 J13 v",
                "md {k} C1",
            ]),
            text(&[
                "ms {k} S1",
                "a",
                "ms {k} 1 Mz",
                "b",
                "mg {k} !",
                "ma {k} Mx",
                "ms {k}",
            ]),
            text(&[
                "mg {k} v v",
                "ms {k} 2 I",
                "no",
                "md {k} O123456789012345678901234567890123",
            ]),
        ],
        b"MN\r\n",
    );
}

#[test]
fn a_base64_key_belongs_to_the_server_of_what_it_means() {
    let fleet = Fleet::start(2, &[]);
    let (mut first, mut second) = (fleet.connect(1), fleet.connect(2));
    let keys = (0..40_u8).map(|byte| [byte, 0, byte]);
    for key in keys {
        let mut encoded = Vec::new();
        farcache_proto::base64::push_encoded(&mut encoded, &key);
        let encoded = String::from_utf8(encoded).expect("base64");
        first.send(format!("ms {encoded} 1 b\r\n{}\r\n", key[0] % 10).as_bytes());
        assert_eq!(first.line().as_deref(), Some("HD"));
        assert_eq!(
            second.ask(&format!("mg {encoded} b v")).as_deref(),
            Some("VA 1")
        );
        assert_eq!(second.line(), Some((key[0] % 10).to_string()));
    }
    let (held, elsewhere) = (first.stat("curr_items"), second.stat("curr_items"));
    assert_eq!(held + elsewhere, 40);
    assert!(held > 0 && elsewhere > 0, "both own some of them");
}

/// Ends each conversation in the binary protocol.
const NOOP_REQUEST: &[u8] = &[
    0x80, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0, 0, 0, 0, 0,
];

/// The answer to it.
const NOOP_ANSWER: &[u8] = &[
    0x81, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0, 0, 0, 0, 0,
];

fn packet(opcode: Opcode, extras: &[u8], value: &[u8]) -> Vec<u8> {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: opcode as u8,
        opaque: 0x0102_0304,
        ..Header::default()
    };
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    encode_head(header, extras, KEY, value.len(), &mut bytes);
    bytes.extend_from_slice(value);
    bytes
}

#[test]
fn packets_are_answered_as_by_the_owner() {
    use Opcode::*;
    let set = |opcode, value: &[u8]| packet(opcode, &[0, 0, 0, 9, 0, 0, 0, 0], value);
    let plain = |opcode| packet(opcode, &[], b"");
    let join = |opcode, value: &[u8]| packet(opcode, &[], value);
    let count = |opcode, delta: u8, expiry: u8| {
        let mut extras = [0; 20];
        (extras[7], extras[15]) = (delta, 5);
        extras[16..].fill(expiry);
        packet(opcode, &extras, b"")
    };
    let touch = |opcode| packet(opcode, &[0, 0, 0, 100], b"");
    let absent = [Get, GetQ, GetK, GetKQ, Delete, DeleteQ]
        .map(plain)
        .concat();
    let absent_touch = [Touch, Gat, GatQ, GatK, GatKQ].map(touch).concat();
    // Of what has a CAS token that the server chose, only the quiet forms and errors are compared.
    assert_same(
        &[
            absent,
            absent_touch,
            [Append, AppendQ, Prepend, PrependQ]
                .map(|code| join(code, b"x"))
                .concat(),
            [Replace, ReplaceQ].map(|code| set(code, b"x")).concat(),
            [Increment, DecrementQ]
                .map(|code| count(code, 1, 0xff))
                .concat(),
            [
                set(SetQ, b"12"),
                set(Add, b"3"),
                set(AddQ, b"3"),
                set(ReplaceQ, b"45"),
            ]
            .concat(),
            [
                join(AppendQ, b"6"),
                join(PrependQ, b"7"),
                count(IncrementQ, 2, 0),
            ]
            .concat(),
            [
                plain(DeleteQ),
                plain(Get),
                count(IncrementQ, 2, 0),
                plain(DeleteQ),
            ]
            .concat(),
            [
                set(SetQ, b"word"),
                count(Increment, 1, 0),
                count(DecrementQ, 1, 0),
            ]
            .concat(),
            [set(SetQ, &vec![b'x'; 2 << 20]), plain(Get)].concat(),
        ],
        NOOP_ANSWER,
    );
}

#[test]
fn a_packet_finds_what_another_server_holds() {
    let fleet = Fleet::start(2, &[]);
    let key = two_keys(&fleet)[0].clone();
    let (mut first, mut second) = (fleet.connect(1), fleet.connect(2));
    let value = vec![b'v'; 100_000];
    let set = packet(Opcode::SetQ, &[0, 0, 0, 9, 0, 0, 0, 0], &value);
    let reads = [Opcode::Get, Opcode::GetKQ, Opcode::Gat].map(|opcode| {
        let extras: &[u8] = if opcode == Opcode::Gat { &[0; 4] } else { &[] };
        packet(opcode, extras, b"")
    });
    let conversation = [&set[..], &reads.concat(), NOOP_REQUEST].concat();
    let found = answers(&mut first, &key, &conversation, NOOP_ANSWER);
    let expected: usize = [0, KEY.len(), 0]
        .map(|key| HEADER_BYTES + 4 + key + value.len())
        .iter()
        .sum();
    assert_eq!(found.len(), expected + NOOP_ANSWER.len());
    assert_eq!(second.get(&key), Some(value), "its owner holds it");
}
