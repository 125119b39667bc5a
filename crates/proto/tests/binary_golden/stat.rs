//! Stat: one answer for each figure, an empty one at the end.

use super::{Parts, assert_golden, request, response};
use farcache_proto::binary::{Opcode, Status};

/// Key: the topic, "items" (5).
#[test]
fn request_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0x10,             // request, stat
        0x00, 0x05,             // key of 5 bytes
        0x00, 0x00,             // no extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x05, // body of 5 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 0, // no token
        b'i', b't', b'e', b'm', b's',
    ];
    assert_golden(
        request(Opcode::Stat, 0, 0),
        Parts {
            key: b"items",
            ..Parts::default()
        },
        &golden,
    );
}

/// Key "pid" (3), value "3078" (4): body 7.
#[test]
fn answer_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x81, 0x10,             // response, stat
        0x00, 0x03,             // key of 3 bytes
        0x00, 0x00,             // no extras
        0x00, 0x00,             // success
        0x00, 0x00, 0x00, 0x07, // body of 7 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 0, // no token
        b'p', b'i', b'd', b'3', b'0', b'7', b'8',
    ];
    let parts = Parts {
        key: b"pid",
        value: b"3078",
        ..Parts::default()
    };
    assert_golden(
        response(Opcode::Stat, Status::Success, 0, 0),
        parts,
        &golden,
    );
}
