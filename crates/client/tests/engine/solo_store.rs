//! A store with nothing else under way, whose answer goes straight to the caller.

use crate::solo::{packet, world};
use crate::world::World;
use farcache_client::engine::{Solo, SoloStage, SoloStore};
use farcache_client::{Error, Reply, SendBytes, Store, StoreMode, Value};
use farcache_fabric::{Kind, Whole};
use farcache_proto::binary::{Opcode, Packet, Status};

fn store(mode: StoreMode) -> Store<'static> {
    Store {
        mode,
        key: b"key",
        value: Value::Copied(b"value"),
        flags: 9,
        expiry_s: 60,
        cas: 5,
    }
}

/// Begins a store; the store and its packet.
fn begin(world: &mut World, mode: StoreMode) -> (SoloStore, Vec<u8>) {
    let mut packet = b"what was there before".to_vec();
    let begun = world
        .engine
        .begin_lone_store(&store(mode), &mut packet, world.now_us);
    (begun.expect("it can begin"), packet)
}

/// The answer to a request's packet, with this status, extras and value.
fn answer(request: &[u8], status: Status, extras: &[u8], value: &[u8]) -> Vec<u8> {
    let opaque = request[12..16].try_into().expect("four bytes");
    let mut answer = packet(u32::from_be_bytes(opaque), status as u8, extras, value);
    answer[1] = request[1];
    answer
}

/// Has a message come; how the store is then.
fn hear(world: &mut World, store: &mut SoloStore, bytes: &[u8]) -> SoloStage {
    let frame = world.frame(0, Kind::Packets, 1);
    store.message(&mut world.engine, Whole::new(&frame, bytes));
    store.stage()
}

#[test]
fn the_packet_says_what_is_to_be_stored_and_the_answer_tells_its_token() {
    let mut world = world();
    for (mode, opcode) in [
        (StoreMode::Set, Opcode::Set),
        (StoreMode::Add, Opcode::Add),
        (StoreMode::Replace, Opcode::Replace),
        (StoreMode::Append, Opcode::Append),
    ] {
        let (mut begun, request) = begin(&mut world, mode);
        let (packet, bytes) = Packet::decode(&request)
            .expect("well formed")
            .expect("whole");
        assert_eq!(bytes, request.len());
        assert_eq!((packet.key, packet.value), (&b"key"[..], &b"value"[..]));
        assert_eq!(packet.header.opcode, opcode as u8);
        assert_eq!(packet.header.cas, 5);
        let extras: &[u8] = match mode {
            StoreMode::Append => &[],
            _ => &[0, 0, 0, 9, 0, 0, 0, 60],
        };
        assert_eq!(packet.extras, extras);
        let stored = answer(&request, Status::Success, &[], &[]);
        let stage = hear(&mut world, &mut begun, &stored);
        assert_eq!(stage, SoloStage::Stored { cas: 77 });
        assert_eq!((world.engine.in_use(), world.engine.outstanding()), (0, 0));
    }
}

#[test]
fn it_begins_only_with_nothing_else_under_way_and_a_small_copied_value() {
    let mut world = world();
    let now_us = world.now_us;
    let begins = |world: &mut World, key: &[u8], value: Value<'_>| {
        let store = Store::set(key, value);
        let begun = world
            .engine
            .begin_lone_store(&store, &mut Vec::new(), now_us);
        begun.is_some()
    };
    let large = vec![b'v'; 4097];
    assert!(!begins(&mut world, b"", Value::Copied(b"value")));
    assert!(!begins(&mut world, &[b'k'; 251], Value::Copied(b"value")));
    assert!(!begins(&mut world, b"key", Value::Copied(&large)));
    let lent = Value::Lent(SendBytes::from(b"value".to_vec()));
    assert!(!begins(&mut world, b"key", lent));
    let ticket = world.get(b"key");
    assert!(!begins(&mut world, b"key", Value::Copied(b"value")));
    world.run();
    assert_eq!(world.value(ticket), b"stored");
    assert!(begins(&mut world, b"key", Value::Copied(&large[1..])));
}

#[test]
fn a_refusal_is_told_as_ever() {
    for (status, error) in [
        (Status::Exists, Error::Exists),
        (Status::NotStored, Error::NotStored),
        (Status::OutOfMemory, Error::OutOfMemory),
    ] {
        let mut world = world();
        let (mut begun, request) = begin(&mut world, StoreMode::Set);
        let refusal = answer(&request, status, &[], b"no");
        let SoloStage::Adopted(ticket) = hear(&mut world, &mut begun, &refusal) else {
            panic!("{:?}", begun.stage());
        };
        assert_eq!(world.error(ticket), error);
        assert_eq!((world.engine.in_use(), world.engine.outstanding()), (0, 0));
        assert!(world.closed.is_empty());
    }
}

#[test]
fn one_that_takes_long_goes_on_like_all_others() {
    let mut world = world();
    let (mut begun, request) = begin(&mut world, StoreMode::Set);
    begun.adopt(&mut world.engine);
    let SoloStage::Adopted(ticket) = begun.stage() else {
        panic!("{:?}", begun.stage());
    };
    assert_eq!((world.engine.in_use(), world.engine.outstanding()), (1, 1));
    let stored = answer(&request, Status::Success, &[], &[]);
    world.deliver(0, Kind::Packets, 1, &stored);
    let outcome = world.outcome(ticket).expect("it was answered");
    assert!(matches!(outcome, Ok(Reply::Done { cas: 77 })));
    world.run();
    let (mut begun, _) = begin(&mut world, StoreMode::Set);
    begun.adopt(&mut world.engine);
    let SoloStage::Adopted(ticket) = begun.stage() else {
        panic!("{:?}", begun.stage());
    };
    world.wait_ms(100_000);
    assert_eq!(world.error(ticket), Error::Timeout);
}

#[test]
fn whatever_is_not_its_answer_is_handled_as_ever() {
    let (_, request) = begin(&mut world(), StoreMode::Set);
    let good = answer(&request, Status::Success, &[], &[]);
    let altered = |place: usize| {
        let mut other = good.clone();
        other[place] ^= 1;
        other
    };
    for violation in [
        altered(0),
        altered(1),
        altered(11),
        altered(15),
        good[..20].to_vec(),
        [&good[..], &good].concat(),
    ] {
        let mut world = world();
        let (mut begun, again) = begin(&mut world, StoreMode::Set);
        assert_eq!(again, request);
        let stage = hear(&mut world, &mut begun, &violation);
        let SoloStage::Adopted(ticket) = stage else {
            panic!("{stage:?} after {violation:?}");
        };
        let closed = world.closed.len();
        world.run();
        assert_eq!(world.closed.len(), closed + 2, "{violation:?}");
        assert!(world.outcome(ticket).is_some(), "{violation:?}");
    }
}
