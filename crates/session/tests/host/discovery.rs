//! What clients are told of the servers of a cluster.

use crate::{Fixture, MAP};
use farcache_proto::binary::{Header, MAGIC_REQUEST, encode_head};
use farcache_session::{Auth, Configuration, Protocol, Session, Status};
use std::sync::Arc;

/// The lines of version and servers, of 64 bytes: the version and its line feed 2, the first server
/// 8 + 1 + 8 + 1 + 5, a space, the second 15 + 1 + 15 + 1 + 5, a line feed.
const PAYLOAD: &str = "7\n10.0.0.1|10.0.0.1|11211 cache-2.example|cache-2.example|11212\n";

/// Text requests for the configuration, and how their answers begin.
const QUESTIONS: [(&str, &str); 2] = [
    ("config get cluster", "CONFIG cluster 0 64\r\n"),
    (
        "get AmazonElastiCache:cluster",
        "VALUE AmazonElastiCache:cluster 0 64\r\n",
    ),
];

/// A packet of the binary protocol that asks for a configuration; its opaque is 5.
fn config_get(extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: 0x60,
        opaque: 5,
        ..Header::default()
    };
    let mut packet = Vec::new();
    encode_head(header, extras, key, value.len(), &mut packet);
    packet.extend_from_slice(value);
    packet
}

/// Status and body of the one response with opaque 5 that `bytes` are.
fn config_response(bytes: &[u8]) -> (u16, &[u8]) {
    let (head, body) = bytes.split_first_chunk().expect("a header");
    let header = Header::decode(head);
    assert_eq!(
        (header.magic, header.opcode, header.opaque),
        (0x81, 0x60, 5)
    );
    assert_eq!(header.body_len as usize, body.len());
    let extras_len = if header.status == 0 { 4 } else { 0 };
    assert_eq!((header.key_len, header.extras_len), (0, extras_len));
    (header.status, body)
}

#[test]
fn the_servers_of_the_cluster_are_told_in_the_form_of_elasticache() {
    let mut fixture = Fixture::new(Auth::Open);
    fixture.join_cluster(7);
    for (question, head) in QUESTIONS {
        for end in ["\r\n", "\n"] {
            let told = fixture.answer(&format!("{question}{end}"));
            assert_eq!(told, format!("{head}{PAYLOAD}\r\nEND\r\n"));
        }
    }
    fixture.join_cluster(7);
    let (_, told, _) = fixture.step(&config_get(&[], b"cluster", &[]));
    let body = [&[0; 4][..], PAYLOAD.as_bytes()].concat();
    assert_eq!(config_response(&told), (0, &body[..]));
}

#[test]
fn a_configuration_is_told_however_its_request_is_cut() {
    let mut fixture = Fixture::new(Auth::Open);
    for (question, head) in QUESTIONS {
        // What stands around it is answered in its turn.
        let input = format!("get a\r\n{question}\nget b\r\n");
        let expected = format!("END\r\n{head}{PAYLOAD}\r\nEND\r\nEND\r\n");
        for first_bytes in 0..input.len() {
            fixture.join_cluster(7);
            let told = fixture.answer_in_two(input.as_bytes(), first_bytes);
            assert_eq!(String::from_utf8_lossy(&told), expected, "{first_bytes}");
        }
    }
    let packet = config_get(&[], b"cluster", &[]);
    for first_bytes in 0..packet.len() {
        fixture.join_cluster(7);
        let told = fixture.answer_in_two(&packet, first_bytes);
        assert_eq!(config_response(&told).0, 0, "{first_bytes}");
    }
}

#[test]
fn the_version_of_a_configuration_is_that_of_the_map_and_at_least_1() {
    let mut fixture = Fixture::new(Auth::Open);
    for (version, shown) in [(0, "1"), (1, "1"), (u64::MAX, "18446744073709551615")] {
        fixture.join_cluster(version);
        let told = fixture.answer("config get cluster\n");
        assert_eq!(told.split('\n').nth(1), Some(shown));
    }
}

#[test]
fn a_cluster_without_servers_is_told_in_the_same_frame() {
    let mut fixture = Fixture::new(Auth::Open);
    fixture.host.cluster = Some(Arc::new(Configuration::new((3, 3), String::new(), [])));
    let told = fixture.answer("config get cluster\r\n");
    assert_eq!(told, "CONFIG cluster 0 3\r\n3\n\n\r\nEND\r\n");
}

#[test]
fn in_a_cluster_the_version_is_memcacheds_alone() {
    let mut fixture = Fixture::new(Auth::Open);
    let ask = b"\x80\x0b\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let own = farcache_session::VERSION;
    let plain = own.split('-').next().expect("a release");
    assert!(plain.starts_with("1.6.") && plain.len() < own.len());
    for version in [own, plain] {
        assert_eq!(
            fixture.answer("version\r\n"),
            format!("VERSION {version}\r\n")
        );
        let line = format!("STAT version {version}\r\n");
        assert!(fixture.answer("stats\r\n").contains(&line));
        fixture.session = Session::new(Protocol::Auto);
        let (_, told, _) = fixture.step(ask);
        assert_eq!(told[24..], *version.as_bytes());
        fixture.join_cluster(7);
    }
}

#[test]
fn outside_of_a_cluster_nobody_is_told_of_one() {
    let mut fixture = Fixture::new(Auth::Open);
    assert_eq!(fixture.answer("config get cluster\r\n"), "ERROR\r\n");
    assert_eq!(fixture.counters.protocol_errors.get(), 1);
    let [_, (legacy, _)] = QUESTIONS;
    assert_eq!(fixture.answer(&format!("{legacy}\r\n")), "END\r\n");
    // It is a key like any other.
    fixture.answer("set AmazonElastiCache:cluster 0 0 1\r\nv\r\n");
    let got = "VALUE AmazonElastiCache:cluster 0 1\r\nv\r\nEND\r\n";
    assert_eq!(fixture.answer(&format!("{legacy}\r\n")), got);
    assert_eq!(fixture.counters.cmd_get.get(), 2);
    fixture.session = Session::new(Protocol::Auto);
    // An unknown command, whose body is passed over: what follows is understood.
    let input = [
        config_get(b"ex", b"cluster", b"value"),
        config_get(&[], b"k", &[]),
    ]
    .concat();
    let (consumed, told, status) = fixture.step(&input);
    assert_eq!((consumed, status), (input.len(), Status::NeedInput));
    let unknown = &told[..told.len() / 2];
    assert_eq!(config_response(unknown), (0x81, &b"Unknown command"[..]));
    assert_eq!(unknown, &told[told.len() / 2..]);
}

#[test]
fn other_configurations_do_not_exist() {
    let mut fixture = Fixture::new(Auth::Open);
    fixture.join_cluster(7);
    for question in ["config get other", "config", "config set cluster"] {
        assert_eq!(fixture.answer(&format!("{question}\r\n")), "ERROR\r\n");
    }
    // Two keys are a plain get of two items.
    assert_eq!(
        fixture.answer("get AmazonElastiCache:cluster k\r\n"),
        "END\r\n"
    );
    fixture.join_cluster(7);
    let (_, told, _) = fixture.step(&config_get(&[], b"other", &[]));
    assert_eq!(config_response(&told), (1, &b"Not found"[..]));
    let (_, told, status) = fixture.step(&config_get(&[], b"cluster", b"v"));
    assert_eq!(status, Status::Close);
    assert_eq!(config_response(&told).0, 4);
}

#[test]
fn whoever_must_authenticate_is_told_of_no_cluster_before() {
    let mut fixture = Fixture::new(Auth::Text);
    fixture.join_cluster(7);
    let refused = "CLIENT_ERROR unauthenticated\r\n";
    assert_eq!(fixture.answer("config get cluster\r\n"), refused);
    let mut fixture = Fixture::new(Auth::Sasl);
    fixture.join_cluster(7);
    let (_, told, _) = fixture.step(&config_get(&[], b"cluster", &[]));
    assert_eq!(config_response(&told).0, 0x20);
}

/// Status, CAS token and body of the answer to who knows the map of this edition.
fn cluster_map(fixture: &mut Fixture, known_edition: u64) -> (u16, u64, String) {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: 0xf8,
        cas: known_edition,
        ..Header::default()
    };
    let (_, told, _) = fixture.step(&header.encode());
    let (head, body) = told.split_first_chunk().expect("a header");
    let header = Header::decode(head);
    let body = String::from_utf8(body.to_vec()).expect("text");
    assert_eq!((header.key_len, header.extras_len), (0, 0));
    (header.status, header.cas, body)
}

#[test]
fn the_map_is_told_to_who_does_not_know_it() {
    let mut fixture = Fixture::new(Auth::Open);
    let (status, _, text) = cluster_map(&mut fixture, 0);
    assert_eq!((status, &*text), (0x81, "Unknown command"));
    fixture.join_cluster(7);
    for known in [0, 6, 8] {
        assert_eq!(cluster_map(&mut fixture, known), (0, 7, MAP.to_owned()));
    }
    assert_eq!(cluster_map(&mut fixture, 7), (0, 7, String::new()));
}
