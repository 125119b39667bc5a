//! Delete.

use super::{Parts, assert_golden, request};
use farcache_proto::binary::Opcode;

/// No extras; key 5: body 5.
#[test]
fn request_bytes() {
    for (opcode, byte) in [(Opcode::Delete, 0x04), (Opcode::DeleteQ, 0x14)] {
        #[rustfmt::skip]
        let golden = [
            0x80, byte,             // request, the command
            0x00, 0x05,             // key of 5 bytes
            0x00, 0x00,             // no extras
            0x00, 0x00,             // vbucket 0
            0x00, 0x00, 0x00, 0x05, // body of 5 bytes
            0x00, 0x00, 0x00, 0x00, // opaque
            0, 0, 0, 0, 0, 0, 0, 3, // only if the token is 3
            b'H', b'e', b'l', b'l', b'o',
        ];
        assert_golden(
            request(opcode, 0, 3),
            Parts {
                key: b"Hello",
                ..Parts::default()
            },
            &golden,
        );
    }
}
