//! Increment, decrement and their answer.

use super::{Parts, assert_golden, request, response};
use farcache_proto::binary::{ArithmeticExtras, Opcode, Status};

/// Extras: delta 1 (8), initial 256 (8), expiration 0xffffffff for "do not create" (4), 20 = 0x14
/// bytes; key 7: body 27 = 0x1b.
#[test]
fn request_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0x05,             // request, increment
        0x00, 0x07,             // key of 7 bytes
        0x14, 0x00,             // 20 bytes of extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x1b, // body of 27 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 0, // no token
        0, 0, 0, 0, 0, 0, 0, 1, // delta
        0, 0, 0, 0, 0, 0, 1, 0, // initial
        0xff, 0xff, 0xff, 0xff, // expiration
        b'c', b'o', b'u', b'n', b't', b'e', b'r',
    ];
    let extras = ArithmeticExtras {
        delta: 1,
        initial: 256,
        expiration: u32::MAX,
    };
    assert_eq!(ArithmeticExtras::decode(&extras.encode()), Some(extras));
    let parts = Parts {
        extras: &extras.encode(),
        key: b"counter",
        ..Parts::default()
    };
    assert_golden(request(Opcode::Increment, 0, 0), parts, &golden);
}

/// The new number, 257, as a value of 8 bytes.
#[test]
fn answer_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x81, 0x06,             // response, decrement
        0x00, 0x00, 0x00, 0x00, // no key, no extras
        0x00, 0x00,             // success
        0x00, 0x00, 0x00, 0x08, // body of 8 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 5, // token 5
        0, 0, 0, 0, 0, 0, 1, 1, // 257
    ];
    let parts = Parts {
        value: &257_u64.to_be_bytes(),
        ..Parts::default()
    };
    assert_golden(
        response(Opcode::Decrement, Status::Success, 0, 5),
        parts,
        &golden,
    );
}

#[test]
fn extras_of_another_length_are_none() {
    assert_eq!(ArithmeticExtras::decode(&[0; 19]), None);
    assert_eq!(ArithmeticExtras::decode(&[0; 21]), None);
}
