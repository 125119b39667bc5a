//! Servers that break the protocol: the session ends, nothing else does.

use crate::world::{Door, World, reply};
use farcache_client::Error;
use farcache_fabric::Kind;
use farcache_proto::binary::{Header, MAGIC_REQUEST, Opcode, Packet, Status};

fn request(opcode: Opcode, opaque: u32) -> Packet<'static> {
    Packet {
        header: Header {
            magic: MAGIC_REQUEST,
            opcode: opcode as u8,
            opaque,
            ..Header::default()
        },
        extras: &[],
        key: &[],
        value: &[],
    }
}

/// A world in which a get waits for its answer, with the number of that get.
fn waiting() -> (World, farcache_client::engine::Ticket) {
    let mut world = World::new(&[Door::Sockets], |_| {});
    world.servers[0].is_mute = true;
    let ticket = world.get(b"key");
    world.run();
    (world, ticket)
}

/// What the server may not send.
fn violations() -> Vec<Vec<u8>> {
    let packet = |opcode, opaque, status, extras: &[u8], value: &[u8]| {
        let mut out = Vec::new();
        reply(&request(opcode, opaque), status, extras, value, &mut out);
        out
    };
    let ok = Status::Success;
    let mut wrong_magic = packet(Opcode::Get, 0, ok, &[0; 4], b"");
    wrong_magic[0] = MAGIC_REQUEST;
    let mut contradicting = packet(Opcode::Get, 0, ok, &[0; 4], b"");
    contradicting[11] = 1;
    let mut cut_off = packet(Opcode::Get, 0, ok, &[0; 4], b"value");
    cut_off.pop();
    vec![
        wrong_magic,
        contradicting,
        cut_off,
        vec![0x81],
        packet(Opcode::Set, 0, ok, &[], b""),
        packet(Opcode::Get, 1, ok, &[0; 4], b""),
        packet(Opcode::Get, 0x8000_0000, ok, &[0; 4], b""),
        packet(Opcode::Get, 0, ok, &[0; 3], b""),
        packet(Opcode::Get, 0, ok, &[], b""),
        packet(Opcode::Get, 1 << 22, ok, &[0; 4], b""),
    ]
}

#[test]
fn a_violation_ends_the_session() {
    for (number, packets) in violations().into_iter().enumerate() {
        let (mut world, ticket) = waiting();
        world.deliver(0, Kind::Packets, 0, &packets);
        let error = world.error(ticket);
        assert!(matches!(error, Error::Protocol(_)), "{number}: {error}");
        world.run();
        assert_eq!(world.closed.len(), 1);
        assert_eq!((world.engine.in_use(), world.engine.outstanding()), (0, 0));
    }
}

#[test]
fn offers_that_nobody_asked_for_end_the_session() {
    let head = |opaque, extras: &[u8], status| {
        let mut out = Vec::new();
        let header = Header {
            magic: farcache_proto::binary::MAGIC_RESPONSE,
            opcode: Opcode::Get as u8,
            opaque,
            status: status as u16,
            ..Header::default()
        };
        farcache_proto::binary::encode_head(header, extras, &[], 5000, &mut out);
        out
    };
    let ok = Status::Success;
    for (head, bytes) in [
        (head(1, &[0; 4], ok), 5000),
        (head(0, &[0; 3], ok), 5000),
        (head(0, &[0; 4], ok), 4999),
        (head(0, &[0; 4], ok)[..20].to_vec(), 5000),
    ] {
        let (mut world, ticket) = waiting();
        world.offer(0, &head, vec![0; bytes]);
        assert!(matches!(world.error(ticket), Error::Protocol(_)));
        assert_eq!(world.engine.in_use(), 0);
    }
    // An error with a long text is an error like any other.
    let (mut world, ticket) = waiting();
    world.offer(0, &head(0, &[], Status::OutOfMemory), vec![0; 5000]);
    assert_eq!(world.error(ticket), Error::OutOfMemory);
}

#[test]
fn a_value_may_come_apart_from_its_packet() {
    let mut whole = Vec::new();
    let ok = Status::Success;
    reply(&request(Opcode::Get, 0), ok, &[0; 4], b"value", &mut whole);
    let (head, value) = whole.split_at(whole.len() - 5);
    let (mut world, ticket) = waiting();
    world.deliver_apart(0, head, value);
    assert_eq!(world.value(ticket), b"value");
    let cut = &head[..head.len() - 1];
    for (head, value) in [
        (head, &b"valu"[..]),
        (head, b"values"),
        (head, b""),
        (cut, b"value"),
        (&whole[..], b"value"),
        (&head[..20], b"value"),
    ] {
        let (mut world, ticket) = waiting();
        world.deliver_apart(0, head, value);
        assert!(matches!(world.error(ticket), Error::Protocol(_)));
        world.run();
        assert_eq!((world.engine.in_use(), world.engine.outstanding()), (0, 0));
    }
}

#[test]
fn statuses_are_told_apart() {
    let cases = [
        (0x01, Error::NotFound),
        (0x02, Error::Exists),
        (0x03, Error::TooLarge),
        (0x05, Error::NotStored),
        (0x06, Error::NotNumeric),
        (0x20, Error::AuthFailed("text".into())),
        (0x81, Error::Unsupported),
        (0x82, Error::OutOfMemory),
    ];
    for (status, expected) in cases {
        let (mut world, ticket) = waiting();
        let status = Status::from_code(status).expect("a known status");
        let mut out = Vec::new();
        reply(&request(Opcode::Get, 0), status, &[], b"text", &mut out);
        world.deliver(0, Kind::Packets, 0, &out);
        assert_eq!(world.error(ticket), expected);
    }
    let (mut world, ticket) = waiting();
    let mut out = Vec::new();
    reply(
        &request(Opcode::Get, 0),
        Status::NotFound,
        &[],
        b"odd",
        &mut out,
    );
    out[6..8].copy_from_slice(&0x99u16.to_be_bytes());
    world.deliver(0, Kind::Packets, 0, &out);
    let message = "odd".into();
    assert_eq!(
        world.error(ticket),
        Error::Server {
            status: 0x99,
            message
        }
    );
}
