//! Get and its answers.

use super::{Parts, assert_golden, request, response};
use farcache_proto::binary::{Opcode, Status};

/// No extras, key "Hello" (5), no value: body 5.
#[test]
fn request_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0x00,             // request, get
        0x00, 0x05,             // key of 5 bytes
        0x00, 0x00,             // no extras, data type 0
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x05, // body of 5 bytes
        0x11, 0x22, 0x33, 0x44, // opaque
        0, 0, 0, 0, 0, 0, 0, 0, // no token
        b'H', b'e', b'l', b'l', b'o',
    ];
    assert_golden(
        request(Opcode::Get, 0x1122_3344, 0),
        Parts {
            key: b"Hello",
            ..Parts::default()
        },
        &golden,
    );
}

/// Extras: flags 0xdeadbeef (4), value "World" (5): body 9.
#[test]
fn hit_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x81, 0x00,             // response, get
        0x00, 0x00,             // no key
        0x04, 0x00,             // 4 bytes of extras
        0x00, 0x00,             // success
        0x00, 0x00, 0x00, 0x09, // body of 9 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 1, // token 1
        0xde, 0xad, 0xbe, 0xef, // flags
        b'W', b'o', b'r', b'l', b'd',
    ];
    let parts = Parts {
        extras: &[0xde, 0xad, 0xbe, 0xef],
        value: b"World",
        ..Parts::default()
    };
    assert_golden(response(Opcode::Get, Status::Success, 0, 1), parts, &golden);
}

/// As a hit, with the key "Hello" between flags and value: body 4 + 5 + 5 = 14.
#[test]
fn hit_with_key_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x81, 0x0c,             // response, get with key
        0x00, 0x05,             // key of 5 bytes
        0x04, 0x00,             // 4 bytes of extras
        0x00, 0x00,             // success
        0x00, 0x00, 0x00, 0x0e, // body of 14 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 1, // token 1
        0x00, 0x00, 0x00, 0x00, // flags 0
        b'H', b'e', b'l', b'l', b'o', b'W', b'o', b'r', b'l', b'd',
    ];
    let parts = Parts {
        extras: &[0; 4],
        key: b"Hello",
        value: b"World",
    };
    assert_golden(
        response(Opcode::GetK, Status::Success, 0, 1),
        parts,
        &golden,
    );
}
