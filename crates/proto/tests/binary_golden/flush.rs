//! Flush, now and later.

use super::{Parts, assert_golden, request};
use farcache_proto::binary::{Opcode, encode_u32};

/// No body at all: at once.
#[test]
fn request_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0x08,             // request, flush
        0x00, 0x00, 0x00, 0x00, // no key, no extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x00, // no body
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 0, // no token
    ];
    assert_golden(request(Opcode::Flush, 0, 0), Parts::default(), &golden);
}

/// Extras: in 3600 = 0x0e10 seconds.
#[test]
fn delayed_request_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0x18,             // request, quiet flush
        0x00, 0x00, 0x04, 0x00, // no key, 4 bytes of extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x04, // body of 4 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 0, // no token
        0x00, 0x00, 0x0e, 0x10, // delay
    ];
    let parts = Parts {
        extras: &encode_u32(3600),
        ..Parts::default()
    };
    assert_golden(request(Opcode::FlushQ, 0, 0), parts, &golden);
}
