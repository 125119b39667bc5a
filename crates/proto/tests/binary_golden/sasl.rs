//! SASL.

use super::{Parts, assert_golden, request};
use farcache_proto::binary::Opcode;

/// Key: the mechanism, "PLAIN" (5); value: NUL "user" NUL "pass" (10): body 15.
#[test]
fn request_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0x21,             // request, SASL authentication
        0x00, 0x05,             // key of 5 bytes
        0x00, 0x00,             // no extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x0f, // body of 15 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 0, // no token
        b'P', b'L', b'A', b'I', b'N',
        0, b'u', b's', b'e', b'r', 0, b'p', b'a', b's', b's',
    ];
    let parts = Parts {
        key: b"PLAIN",
        value: b"\0user\0pass",
        ..Parts::default()
    };
    assert_golden(request(Opcode::SaslAuth, 0, 0), parts, &golden);
}
