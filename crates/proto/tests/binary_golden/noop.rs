//! Commands that are a header and nothing else.

use super::{Parts, assert_golden, request, response};
use farcache_proto::binary::{Opcode, Status};

#[test]
fn request_bytes() {
    for (opcode, byte) in [
        (Opcode::Noop, 0x0a),
        (Opcode::Version, 0x0b),
        (Opcode::Quit, 0x07),
        (Opcode::QuitQ, 0x17),
    ] {
        #[rustfmt::skip]
        let golden = [
            0x80, byte,             // request, the command
            0x00, 0x00, 0x00, 0x00, // no key, no extras
            0x00, 0x00,             // vbucket 0
            0x00, 0x00, 0x00, 0x00, // no body
            0xff, 0x00, 0xff, 0x00, // opaque
            0, 0, 0, 0, 0, 0, 0, 0, // no token
        ];
        assert_golden(request(opcode, 0xff00_ff00, 0), Parts::default(), &golden);
    }
}

/// The version stands in the value.
#[test]
fn version_answer_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x81, 0x0b,             // response, version
        0x00, 0x00, 0x00, 0x00, // no key, no extras
        0x00, 0x00,             // success
        0x00, 0x00, 0x00, 0x05, // body of 5 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 0, // no token
        b'1', b'.', b'6', b'.', b'0',
    ];
    let parts = Parts {
        value: b"1.6.0",
        ..Parts::default()
    };
    assert_golden(
        response(Opcode::Version, Status::Success, 0, 0),
        parts,
        &golden,
    );
}
