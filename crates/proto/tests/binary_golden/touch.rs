//! Touch and get-and-touch.

use super::{Parts, assert_golden, request, response};
use farcache_proto::binary::{Opcode, Status, decode_u32, encode_u32};

/// Extras: expiration 60 (4); key 1: body 5.
#[test]
fn request_bytes() {
    for (opcode, byte) in [
        (Opcode::Touch, 0x1c),
        (Opcode::Gat, 0x1d),
        (Opcode::GatQ, 0x1e),
        (Opcode::GatK, 0x23),
        (Opcode::GatKQ, 0x24),
    ] {
        #[rustfmt::skip]
        let golden = [
            0x80, byte,             // request, the command
            0x00, 0x01,             // key of 1 byte
            0x04, 0x00,             // 4 bytes of extras
            0x00, 0x00,             // vbucket 0
            0x00, 0x00, 0x00, 0x05, // body of 5 bytes
            0x00, 0x00, 0x00, 0x00, // opaque
            0, 0, 0, 0, 0, 0, 0, 0, // no token
            0x00, 0x00, 0x00, 0x3c, // expiration
            b'k',
        ];
        let extras = encode_u32(60);
        assert_eq!(decode_u32(&extras), Some(60));
        assert_golden(
            request(opcode, 0, 0),
            Parts {
                extras: &extras,
                key: b"k",
                ..Parts::default()
            },
            &golden,
        );
    }
}

/// memcached answers a touch with the item's flags as extras.
#[test]
fn answer_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x81, 0x1c,             // response, touch
        0x00, 0x00,             // no key
        0x04, 0x00,             // 4 bytes of extras
        0x00, 0x00,             // success
        0x00, 0x00, 0x00, 0x04, // body of 4 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 9, // token 9
        0x00, 0x00, 0x00, 0x07, // flags 7
    ];
    let parts = Parts {
        extras: &encode_u32(7),
        ..Parts::default()
    };
    assert_golden(
        response(Opcode::Touch, Status::Success, 0, 9),
        parts,
        &golden,
    );
}
