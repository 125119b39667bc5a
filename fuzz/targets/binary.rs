//! Binary packets: decoding never panics, and what was decoded is encoded to the same bytes.
#![no_main]

use farcache_proto::binary::{ArithmeticExtras, HEADER_BYTES, Head, Packet, SetExtras};
use farcache_proto::peek_key;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut rest = input;
    while let Ok(Some((packet, bytes))) = Packet::decode(rest) {
        check(&packet, &rest[..bytes]);
        rest = &rest[bytes..];
    }
    check_incomplete(rest);
    assert!(peek_key(input).is_none_or(|key| key.len() < input.len()));
    if let Some(extras) = SetExtras::decode(input) {
        assert_eq!(extras.encode(), input);
    }
    if let Some(extras) = ArithmeticExtras::decode(input) {
        assert_eq!(extras.encode(), input);
    }
});

fn check(packet: &Packet<'_>, bytes: &[u8]) {
    let mut encoded = Vec::new();
    packet.encode(&mut encoded);
    assert_eq!(encoded, bytes);
    let head = Head::decode(bytes)
        .expect("a packet has a head")
        .expect("all of it is there");
    assert_eq!(
        (head.header, head.extras, head.key),
        (packet.header, packet.extras, packet.key)
    );
    assert_eq!(head.value_len, packet.value.len());
}

/// What contradicts itself is found with the header, however much follows.
fn check_incomplete(rest: &[u8]) {
    if Packet::decode(rest).is_err() {
        assert!(Packet::decode(&rest[..HEADER_BYTES]).is_err());
    }
}
