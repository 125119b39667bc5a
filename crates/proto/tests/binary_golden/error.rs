//! Errors, and packets that contradict themselves.

use super::{Parts, assert_golden, response};
use farcache_proto::binary::{Header, Malformed, Opcode, Packet, Status};

/// The status' text is the value: "Not found" (9).
#[test]
fn answer_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x81, 0x00,             // response, get
        0x00, 0x00, 0x00, 0x00, // no key, no extras
        0x00, 0x01,             // key not found
        0x00, 0x00, 0x00, 0x09, // body of 9 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 0, // no token
        b'N', b'o', b't', b' ', b'f', b'o', b'u', b'n', b'd',
    ];
    let parts = Parts {
        value: Status::NotFound.text().as_bytes(),
        ..Parts::default()
    };
    assert_golden(
        response(Opcode::Get, Status::NotFound, 0, 0),
        parts,
        &golden,
    );
}

/// Key of 5 and extras of 8 bytes do not fit into a body of 12.
#[test]
fn too_short_a_body_is_malformed() {
    #[rustfmt::skip]
    let bytes = [
        0x80, 0x01, 0x00, 0x05, 0x08, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    let header = Header::decode(&bytes);
    assert_eq!(Packet::decode(&bytes), Err(Malformed(header)));
    assert_eq!(Packet::decode(&bytes[..23]), Ok(None));
    assert_eq!(
        Malformed(header).to_string(),
        "extras of 8 and key of 5 bytes in a body of 12"
    );
}

#[test]
fn statuses_have_memcacheds_codes() {
    // From 0xf0 on they are Farcache's own.
    let codes = [
        0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x20, 0x21, 0x81, 0x82, 0x83, 0x84, 0x86, 0xf0,
        0xf1, 0xf2, 0xf3,
    ];
    let known: Vec<u16> = (0..=u16::MAX)
        .filter(|&code| Status::from_code(code).is_some())
        .collect();
    assert_eq!(known, codes);
    assert!(
        known
            .iter()
            .all(|&code| Status::from_code(code).map(|status| status as u16) == Some(code))
    );
}
