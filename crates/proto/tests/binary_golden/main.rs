//! Golden bytes of the binary protocol: one file per packet kind, each byte derived by hand from
//! the header's table and the command's extras.

mod arithmetic;
mod delete;
mod error;
mod fabric;
mod flush;
mod get;
mod noop;
mod sasl;
mod set;
mod stat;
mod touch;
mod versioned;

use farcache_proto::binary::{Header, MAGIC_REQUEST, MAGIC_RESPONSE, Opcode, Packet, Status};

/// Parts of a packet.
#[derive(Clone, Copy, Default)]
struct Parts<'a> {
    extras: &'a [u8],
    key: &'a [u8],
    value: &'a [u8],
}

fn request(opcode: Opcode, opaque: u32, cas: u64) -> Header {
    Header {
        magic: MAGIC_REQUEST,
        opcode: opcode as u8,
        opaque,
        cas,
        ..Header::default()
    }
}

fn response(opcode: Opcode, status: Status, opaque: u32, cas: u64) -> Header {
    let magic = MAGIC_RESPONSE;
    Header {
        magic,
        opcode: opcode as u8,
        status: status as u16,
        opaque,
        cas,
        ..Header::default()
    }
}

/// Encodes to exactly `golden`, and decodes back to the same, whatever follows.
fn assert_golden(header: Header, parts: Parts<'_>, golden: &[u8]) {
    let Parts { extras, key, value } = parts;
    let mut encoded = Vec::new();
    Packet {
        header,
        extras,
        key,
        value,
    }
    .encode(&mut encoded);
    assert_eq!(encoded, golden);
    encoded.extend_from_slice(b"next");
    let (packet, bytes) = Packet::decode(&encoded)
        .expect("consistent")
        .expect("whole");
    assert_eq!(bytes, golden.len());
    assert_eq!(
        (packet.extras, packet.key, packet.value),
        (extras, key, value)
    );
    let lengths_as_given = Header {
        key_len: 0,
        extras_len: 0,
        body_len: 0,
        ..packet.header
    };
    assert_eq!(lengths_as_given, header);
    for end in 0..golden.len() {
        assert_eq!(Packet::decode(&golden[..end]), Ok(None), "cut at {end}");
    }
}
