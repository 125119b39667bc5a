//! Values that travel beside their packet: who holds their memory, and until when.

use crate::world::{Door, OFFER_BYTES_MIN, World};
use farcache_client::{Error, Operation, ReceiveBytes, Reply, Store};
use std::sync::Arc;

#[test]
fn a_lent_value_comes_back() {
    for bytes in [10, 100_000] {
        let mut world = World::new(&[Door::Fabric], |_| {});
        let value = Arc::new(vec![1u8; bytes]);
        let store = Store::set(b"key", Arc::clone(&value));
        let ticket = world.submit(Operation::Store(store));
        world.run();
        let completion = world.engine.fetch(ticket).expect("complete");
        assert!(matches!(completion.outcome, Ok(Reply::Done { .. })));
        assert_eq!(completion.lent.expect("lent").into_vec(), *value);
        let ticket = world.get(b"key");
        world.run();
        assert_eq!(world.value(ticket), *value);
    }
}

#[test]
fn an_operation_ends_when_the_network_has_let_go_of_its_memory() {
    let mut world = World::new(&[Door::Fabric], |_| {});
    let first = world.get(b"key");
    world.run();
    assert_eq!(world.error(first), Error::NotFound);
    world.servers[0].is_mute = true;
    let value = Arc::new(vec![1u8; 100_000]);
    let ticket = world.submit(Operation::Store(Store::set(b"key", Arc::clone(&value))));
    world.run();
    world.lose(0);
    assert!(
        !world.engine.is_complete(ticket),
        "the network still has the value"
    );
    assert!(!world.engine.is_idle(), "it is to be moved on");
    world.run();
    assert!(world.engine.is_idle());
    let completion = world.engine.fetch(ticket).expect("complete");
    assert!(matches!(completion.outcome, Err(Error::ConnectionLost(_))));
    drop(completion);
    assert_eq!(Arc::strong_count(&value), 1);
    assert_eq!(world.engine.in_use(), 0);
}

#[test]
fn a_value_that_never_leaves_is_given_up_with_its_connection() {
    let mut world = World::new(&[Door::Fabric], |_| {});
    let first = world.get(b"key");
    world.run();
    assert_eq!(world.error(first), Error::NotFound);
    world.servers[0].is_mute = true;
    let ticket = world.submit(Operation::Store(Store::set(b"key", vec![1u8; 100_000])));
    world.run();
    world.wait_ms(5_000);
    assert_eq!(world.error(ticket), Error::Timeout);
    assert_eq!(world.closed.len(), 2);
    assert_eq!(world.engine.in_use(), 0);
}

#[test]
fn values_that_wait_for_a_connection_come_back_too() {
    let mut world = World::new(&[Door::Closed], |_| {});
    let value = Arc::new(vec![1u8; 100_000]);
    let ticket = world.submit(Operation::Store(Store::set(b"key", Arc::clone(&value))));
    world.run();
    assert!(matches!(world.error(ticket), Error::Connect(_)));
    assert_eq!(Arc::strong_count(&value), 1);
    let refused = world.submit(Operation::Store(Store::set(b"key", Arc::clone(&value))));
    let completion = world.engine.fetch(refused).expect("refused at once");
    assert_eq!(completion.outcome.expect_err("dead"), Error::ServerDead);
    assert_eq!(completion.lent.expect("lent").len(), 100_000);
}

#[test]
fn what_is_given_up_is_dropped_when_it_comes_back() {
    let mut world = World::new(&[Door::Fabric], |_| {});
    let value = Arc::new(vec![1u8; 100_000]);
    let ticket = world.submit(Operation::Store(Store::set(b"key", Arc::clone(&value))));
    world.engine.abandon(ticket);
    world.run();
    assert_eq!(Arc::strong_count(&value), 1);
    let ticket = world.get(b"key");
    world.engine.abandon(ticket);
    world.run();
    assert_eq!((world.engine.in_use(), world.engine.outstanding()), (0, 0));
}

#[test]
fn room_that_was_given_is_used_and_comes_back_unused_on_a_miss() {
    let mut world = World::new(&[Door::Sockets], |_| {});
    let room = Vec::with_capacity(OFFER_BYTES_MIN * 4);
    let place = room.as_ptr();
    let into = ReceiveBytes::from(room);
    let ticket = world.submit(Operation::Get { key: b"key", into });
    world.run();
    let completion = world.engine.fetch(ticket).expect("complete");
    assert_eq!(completion.outcome.expect_err("absent"), Error::NotFound);
    let into = completion.unused.expect("given back");
    let ticket = world.set(b"key", vec![7; OFFER_BYTES_MIN * 3]);
    world.run();
    assert!(world.outcome(ticket).expect("done").is_ok());
    let ticket = world.submit(Operation::Get { key: b"key", into });
    world.run();
    let value = world.value(ticket);
    assert_eq!((value.as_ptr(), value.len()), (place, OFFER_BYTES_MIN * 3));
}
