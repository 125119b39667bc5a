//! Farcache's own: asking for the fabric.

use super::{Parts, assert_golden, request};
use farcache_proto::binary::Opcode;

/// Value: version 1 and network 1 (UCX), a byte each: body 2.
#[test]
fn request_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0xf0,             // request, fabric
        0x00, 0x00,             // no key
        0x00, 0x00,             // no extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x02, // body of 2 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 0, // no token
        1, 1,
    ];
    let parts = Parts {
        value: &[1, 1],
        ..Parts::default()
    };
    assert_golden(request(Opcode::FabricUpgrade, 0, 0), parts, &golden);
}
