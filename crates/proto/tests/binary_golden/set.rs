//! Set, add, replace, append, prepend and their answer.

use super::{Parts, assert_golden, request, response};
use farcache_proto::binary::{Opcode, SetExtras, Status};

/// Extras: flags 0xdeadbeef, expiration 3600 = 0x0e10 (8 bytes); key 5; value 5: body 18 = 0x12.
#[test]
fn request_bytes() {
    for (opcode, byte) in [
        (Opcode::Set, 0x01),
        (Opcode::Add, 0x02),
        (Opcode::Replace, 0x03),
        (Opcode::SetQ, 0x11),
    ] {
        #[rustfmt::skip]
        let golden = [
            0x80, byte,             // request, the command
            0x00, 0x05,             // key of 5 bytes
            0x08, 0x00,             // 8 bytes of extras
            0x00, 0x00,             // vbucket 0
            0x00, 0x00, 0x00, 0x12, // body of 18 bytes
            0x00, 0x00, 0x00, 0x2a, // opaque 42
            0, 0, 0, 0, 0, 0, 2, 1, // only if the token is 513
            0xde, 0xad, 0xbe, 0xef, // flags
            0x00, 0x00, 0x0e, 0x10, // expiration
            b'H', b'e', b'l', b'l', b'o', b'W', b'o', b'r', b'l', b'd',
        ];
        let extras = SetExtras {
            flags: 0xdead_beef,
            expiration: 3600,
        };
        assert_eq!(SetExtras::decode(&extras.encode()), Some(extras));
        let parts = Parts {
            extras: &extras.encode(),
            key: b"Hello",
            value: b"World",
        };
        assert_golden(request(opcode, 42, 513), parts, &golden);
    }
}

/// No extras; key 1; value 2: body 3.
#[test]
fn append_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0x0e,             // request, append
        0x00, 0x01,             // key of 1 byte
        0x00, 0x00,             // no extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x03, // body of 3 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 0, // no token
        b'k', b'x', b'y',
    ];
    assert_golden(
        request(Opcode::Append, 0, 0),
        Parts {
            key: b"k",
            value: b"xy",
            ..Parts::default()
        },
        &golden,
    );
}

/// No body; the item's token is 1.
#[test]
fn stored_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x81, 0x01,             // response, set
        0x00, 0x00, 0x00, 0x00, // no key, no extras
        0x00, 0x00,             // success
        0x00, 0x00, 0x00, 0x00, // no body
        0x00, 0x00, 0x00, 0x2a, // opaque 42
        0, 0, 0, 0, 0, 0, 0, 1, // token 1
    ];
    assert_golden(
        response(Opcode::Set, Status::Success, 42, 1),
        Parts::default(),
        &golden,
    );
}

#[test]
fn extras_of_another_length_are_none() {
    assert_eq!(SetExtras::decode(&[0; 7]), None);
    assert_eq!(SetExtras::decode(&[0; 9]), None);
}
