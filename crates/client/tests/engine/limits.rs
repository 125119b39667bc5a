//! Time limits.

use crate::world::{Door, World};
use farcache_client::{Delivery, Error, Operation, ReceiveBytes, Values};
use std::time::Duration;

#[test]
fn an_operation_without_answer_ends_in_time() {
    let mut world = World::new(&[Door::Sockets], |_| {});
    world.servers[0].is_mute = true;
    let ticket = world.get(b"key");
    world.run();
    assert_eq!(world.engine.deadline_us(), world.now_us + 5_000_000);
    world.wait_ms(4_999);
    assert!(world.outcome(ticket).is_none());
    world.wait_ms(1);
    assert_eq!(world.error(ticket), Error::Timeout);
    // The server has been silent all the time: its connection is given up.
    assert_eq!(world.closed.len(), 1);
    assert_eq!((world.engine.in_use(), world.engine.outstanding()), (0, 0));
}

#[test]
fn an_answer_that_comes_too_late_disturbs_nothing() {
    let mut world = World::new(&[Door::Sockets], |_| {});
    let first = world.get(b"a");
    world.run();
    assert_eq!(world.error(first), Error::NotFound);
    world.servers[0].is_mute = true;
    let into = ReceiveBytes::default();
    let operation = Operation::Get { key: b"b", into };
    let delivery = Delivery {
        timeout: Some(Duration::from_millis(10)),
        ..Delivery::default()
    };
    let hasty = world.engine.submit(operation, delivery, world.now_us);
    world.run();
    world.wait_ms(10);
    assert_eq!(world.error(hasty), Error::Timeout);
    assert!(
        world.closed.is_empty(),
        "ten milliseconds of silence are no death"
    );
    // Its number is not used again while the answer may come.
    let patient = world.get(b"c");
    assert_ne!(patient, hasty);
    world.run();
    world.servers[0].is_mute = false;
    world.run();
    assert_eq!(world.error(patient), Error::NotFound);
    assert_eq!((world.engine.in_use(), world.engine.outstanding()), (0, 0));
}

#[test]
fn a_multi_get_without_answers_ends_in_time() {
    let mut world = World::new(&[Door::Sockets, Door::Sockets], |_| {});
    let keys: Vec<Vec<u8>> = (0..20u32).map(|n| n.to_be_bytes().to_vec()).collect();
    world.servers[1].is_mute = true;
    let now_us = world.now_us;
    let ticket = world
        .engine
        .submit_get_many(&keys, Values::new(), Delivery::default(), now_us);
    world.run();
    world.wait_ms(5_000);
    let values = world.engine.fetch_values(ticket).expect("complete");
    let absent = values.iter().filter(|value| *value == Ok(None)).count();
    let late = values
        .iter()
        .filter(|value| *value == Err(&Error::Timeout))
        .count();
    assert!(
        absent > 0 && late > 0 && absent + late == 20,
        "{absent} {late}"
    );
    assert_eq!((world.engine.in_use(), world.engine.outstanding()), (0, 0));
}

#[test]
fn connecting_counts() {
    let mut world = World::new(&[Door::Silent], |_| {});
    let ticket = world.get(b"key");
    world.run();
    world.wait_ms(5_000);
    assert_eq!(world.error(ticket), Error::Timeout);
    assert_eq!(world.engine.in_use(), 0);
}

#[test]
fn a_fabric_that_does_not_welcome_is_done_without() {
    let mut world = World::new(&[Door::FabricWithoutWelcome], |_| {});
    let ticket = world.get(b"key");
    world.run();
    assert!(world.outcome(ticket).is_none());
    world.wait_ms(4_000);
    assert!(!world.engine.is_on_fabric(0) && world.engine.uses_sockets());
    let mut demanding = World::with_fabric_demanded(&[Door::FabricWithoutWelcome], true, |_| {});
    let ticket = demanding.get(b"key");
    demanding.run();
    demanding.wait_ms(4_000);
    let error = demanding.error(ticket);
    assert!(matches!(error, Error::FabricUnavailable(_)), "{error}");
}
