//! A get with nothing else under way, whose answer goes straight to the caller's room.

use crate::world::{Door, World};
use farcache_client::Error;
use farcache_client::engine::{Solo, SoloGet, SoloRoute, SoloStage};
use farcache_fabric::{Kind, Whole};

/// A world with an open session over the fabric.
pub fn world() -> World {
    let mut world = World::new(&[Door::Fabric], |_| {});
    let ticket = world.set(b"key", b"stored".to_vec());
    world.run();
    assert!(world.outcome(ticket).is_some_and(|outcome| outcome.is_ok()));
    world
}

fn begin(world: &mut World) -> SoloRoute {
    world.engine.begin_solo(b"key").expect("it can begin")
}

/// An answer to a get: status, extras and value as they are given.
pub fn packet(opaque: u32, status: u8, extras: &[u8], value: &[u8]) -> Vec<u8> {
    let body_bytes = (extras.len() + value.len()) as u32;
    let mut packet = vec![0x81, 0, 0, 0, extras.len() as u8, 0, 0, status];
    packet.extend_from_slice(&body_bytes.to_be_bytes());
    packet.extend_from_slice(&opaque.to_be_bytes());
    packet.extend_from_slice(&77u64.to_be_bytes());
    packet.extend_from_slice(extras);
    packet.extend_from_slice(value);
    packet
}

/// Has a message come, in one piece or with the value apart; how the get is then.
fn hear(world: &mut World, get: &mut SoloGet<'_>, bytes: &[u8], head_bytes: usize) -> SoloStage {
    let mut frame = world.frame(0, Kind::Packets, 1);
    frame.head_bytes = head_bytes as u16;
    get.message(&mut world.engine, Whole::new(&frame, bytes));
    get.stage()
}

const FOUND: SoloStage = SoloStage::Found { flags: 9, cas: 77 };

#[test]
fn a_value_is_put_into_the_room() {
    let mut world = world();
    for (round, head_bytes) in [0, 28, 0, 28, 0, 0].into_iter().enumerate() {
        let mut room = b"what was there before".to_vec();
        let route = begin(&mut world);
        let mut get = SoloGet::new(route, &mut room, world.now_us);
        let value = vec![b'v'; 100 * round];
        let answer = packet(route.opaque, 0, &[0, 0, 0, 9], &value);
        assert_eq!(hear(&mut world, &mut get, &answer, head_bytes), FOUND);
        assert_eq!(room, value);
        assert_eq!((world.engine.in_use(), world.engine.outstanding()), (0, 0));
    }
}

#[test]
fn an_absent_key_is_told() {
    let mut world = world();
    let route = begin(&mut world);
    let mut room = Vec::new();
    let mut get = SoloGet::new(route, &mut room, world.now_us);
    let answer = packet(route.opaque, 1, &[], b"Not found");
    assert_eq!(hear(&mut world, &mut get, &answer, 0), SoloStage::Missing);
    assert_eq!(world.engine.in_use(), 0);
}

#[test]
fn it_begins_only_with_nothing_else_under_way() {
    let mut world = world();
    assert!(world.engine.begin_solo(b"").is_none());
    assert!(world.engine.begin_solo(&[b'k'; 251]).is_none());
    let ticket = world.get(b"key");
    assert!(world.engine.begin_solo(b"key").is_none());
    world.run();
    assert_eq!(world.value(ticket), b"stored");
    assert!(world.engine.begin_solo(b"key").is_some());
    let mut over_sockets = World::new(&[Door::Sockets], |_| {});
    let ticket = over_sockets.get(b"key");
    over_sockets.run();
    assert_eq!(over_sockets.error(ticket), Error::NotFound);
    assert!(over_sockets.engine.begin_solo(b"key").is_none());
    let mut unconnected = World::new(&[Door::Fabric], |_| {});
    assert!(unconnected.engine.begin_solo(b"key").is_none());
}

#[test]
fn it_takes_a_credit_and_gets_it_back() {
    let mut world = world();
    for _ in 0..world.credits {
        begin(&mut world);
    }
    assert!(world.engine.begin_solo(b"key").is_none());
    world.deliver(0, Kind::Packets, 1, &[]);
    let route = begin(&mut world);
    let mut room = Vec::new();
    let mut get = SoloGet::new(route, &mut room, world.now_us);
    let answer = packet(route.opaque, 1, &[], b"");
    assert_eq!(hear(&mut world, &mut get, &answer, 0), SoloStage::Missing);
    begin(&mut world);
}

#[test]
fn one_that_takes_long_goes_on_like_all_others() {
    let mut world = world();
    let route = begin(&mut world);
    let mut room = vec![1; 10];
    let mut get = SoloGet::new(route, &mut room, world.now_us);
    get.adopt(&mut world.engine);
    let SoloStage::Adopted(ticket) = get.stage() else {
        panic!("{:?}", get.stage());
    };
    assert_eq!((world.engine.in_use(), world.engine.outstanding()), (1, 1));
    let answer = packet(route.opaque, 0, &[0; 4], b"late");
    world.deliver(0, Kind::Packets, 1, &answer);
    assert_eq!(world.value(ticket), b"late");
    assert_eq!((world.engine.in_use(), world.engine.outstanding()), (0, 0));
}

#[test]
fn one_that_is_never_answered_runs_into_its_time_limit() {
    let mut world = world();
    let route = begin(&mut world);
    let mut room = Vec::new();
    let mut get = SoloGet::new(route, &mut room, world.now_us);
    get.adopt(&mut world.engine);
    let SoloStage::Adopted(ticket) = get.stage() else {
        panic!("{:?}", get.stage());
    };
    world.wait_ms(100_000);
    assert_eq!(world.error(ticket), Error::Timeout);
}

#[test]
fn whatever_is_not_its_answer_is_handled_as_ever() {
    let opaque = begin(&mut world()).opaque;
    let good = packet(opaque, 0, &[0; 4], b"value");
    let altered = |place: usize| {
        let mut other = good.clone();
        other[place] ^= 1;
        other
    };
    let violations = [
        altered(0),
        altered(1),
        altered(11),
        altered(15),
        packet(opaque, 0, &[], b"value"),
        packet(opaque, 0, &[0; 3], b"value"),
        good[..20].to_vec(),
        good[..30].to_vec(),
        [&good[..], &good].concat(),
    ];
    for violation in violations {
        let mut world = world();
        let route = begin(&mut world);
        assert_eq!(route.opaque, opaque);
        let mut room = Vec::new();
        let mut get = SoloGet::new(route, &mut room, world.now_us);
        let stage = hear(&mut world, &mut get, &violation, 0);
        let SoloStage::Adopted(ticket) = stage else {
            panic!("{stage:?} after {violation:?}");
        };
        let closed = world.closed.len();
        world.run();
        assert_eq!(world.closed.len(), closed + 2, "{violation:?}");
        assert!(world.outcome(ticket).is_some(), "{violation:?}");
    }
}

#[test]
fn an_error_is_told_as_ever() {
    let mut world = world();
    let route = begin(&mut world);
    let mut room = Vec::new();
    let mut get = SoloGet::new(route, &mut room, world.now_us);
    let answer = packet(route.opaque, 0x82, &[], b"no memory");
    let SoloStage::Adopted(ticket) = hear(&mut world, &mut get, &answer, 0) else {
        panic!("{:?}", get.stage());
    };
    assert_eq!(world.error(ticket), Error::OutOfMemory);
    assert!(world.closed.is_empty());
}

#[test]
fn a_second_answer_ends_the_session() {
    let mut world = world();
    let route = begin(&mut world);
    let mut room = Vec::new();
    let mut get = SoloGet::new(route, &mut room, world.now_us);
    let answer = packet(route.opaque, 0, &[0, 0, 0, 9], b"value");
    for _ in 0..2 {
        assert_eq!(hear(&mut world, &mut get, &answer, 0), FOUND);
    }
    assert_eq!(room, b"value");
    world.run();
    assert_eq!(world.closed.len(), 2);
}

#[test]
fn messages_of_nobody_change_nothing() {
    let mut world = world();
    let route = begin(&mut world);
    let mut room = Vec::new();
    let mut get = SoloGet::new(route, &mut room, world.now_us);
    let answer = packet(route.opaque, 0, &[0; 4], b"forged");
    let mut frame = world.frame(0, Kind::Packets, 1);
    frame.key ^= 1;
    get.message(&mut world.engine, Whole::new(&frame, &answer));
    let SoloStage::Adopted(ticket) = get.stage() else {
        panic!("{:?}", get.stage());
    };
    assert!(world.outcome(ticket).is_none());
    let answer = packet(route.opaque, 0, &[0; 4], b"true");
    world.deliver(0, Kind::Packets, 1, &answer);
    assert_eq!(world.value(ticket), b"true");
}
