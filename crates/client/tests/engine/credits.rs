//! Messages: how much travels in one, and how many at once.

use crate::world::{Door, World};
use farcache_client::{Delivery, Values};

#[test]
fn operations_submitted_together_travel_together() {
    let mut world = World::new(&[Door::Fabric], |_| {});
    let tickets: Vec<_> = (0..50u32)
        .map(|n| world.set(&n.to_be_bytes(), vec![1; 10]))
        .collect();
    world.run();
    assert_eq!(world.servers[0].messages.len(), 1);
    for ticket in tickets {
        assert!(world.outcome(ticket).expect("done").is_ok());
    }
    assert_eq!((world.engine.in_use(), world.engine.outstanding()), (0, 0));
}

#[test]
fn messages_are_no_larger_than_the_server_takes() {
    let mut world = World::new(&[Door::Fabric], |_| {});
    let tickets: Vec<_> = (0..40u32)
        .map(|n| world.set(&n.to_be_bytes(), vec![1; 5000]))
        .collect();
    world.run();
    let messages = &world.servers[0].messages;
    assert!(messages.iter().all(|&bytes| bytes <= 16 << 10));
    assert_eq!(messages.len(), 14);
    for ticket in tickets {
        assert!(world.outcome(ticket).expect("done").is_ok());
    }
}

#[test]
fn no_more_messages_are_unanswered_than_the_server_allows() {
    let mut world = World::new(&[Door::Fabric], |_| {});
    let first = world.get(b"first");
    world.run();
    assert!(world.outcome(first).is_some());
    world.servers[0].is_mute = true;
    let mut tickets = Vec::new();
    for number in 0..10u32 {
        tickets.push(world.get(&number.to_be_bytes()));
        world.run();
    }
    assert_eq!(world.servers[0].inbox.len(), usize::from(world.credits));
    world.servers[0].is_mute = false;
    // What had to wait goes in one message, as soon as there is credit again.
    world.run();
    assert_eq!(world.servers[0].messages.len(), 1 + 4 + 1);
    for ticket in tickets {
        assert!(world.outcome(ticket).is_some());
    }
}

#[test]
fn sockets_have_no_credits() {
    let mut world = World::new(&[Door::Sockets], |_| {});
    world.servers[0].is_mute = true;
    for number in 0..100u32 {
        let ticket = world.get(&number.to_be_bytes());
        world.engine.abandon(ticket);
        world.run();
    }
    assert_eq!(world.servers[0].inbox.len(), 100);
    world.servers[0].is_mute = false;
    world.run();
    assert_eq!(world.engine.in_use(), 0);
}

#[test]
fn a_multi_get_asks_every_server_once() {
    let mut world = World::new(&[Door::Fabric, Door::Sockets, Door::Fabric], |_| {});
    let keys: Vec<Vec<u8>> = (0..300u32)
        .map(|n| format!("key-{n}").into_bytes())
        .collect();
    for (number, key) in keys.iter().enumerate().filter(|(number, _)| number % 3 > 0) {
        // Some of them travel beside their packet.
        let ticket = world.set(key, vec![number as u8; number * 10]);
        world.run();
        assert!(world.outcome(ticket).expect("done").is_ok());
    }
    for fake in &mut world.servers {
        fake.messages.clear();
    }
    let ticket =
        world
            .engine
            .submit_get_many(&keys, Values::new(), Delivery::default(), world.now_us);
    world.run();
    assert!(world.servers.iter().all(|fake| fake.messages.len() == 1));
    let values = world.engine.fetch_values(ticket).expect("complete");
    assert_eq!(values.found(), 200);
    for (number, value) in values.iter().enumerate() {
        let expected = (number % 3 > 0).then(|| vec![number as u8; number * 10]);
        let value = value.expect("an answer").map(|item| item.value.to_vec());
        assert_eq!(value, expected, "{number}");
    }
    assert_eq!((world.engine.in_use(), world.engine.outstanding()), (0, 0));
}

#[test]
fn quiet_operations_have_an_effect_and_no_answer() {
    for door in [Door::Fabric, Door::Sockets] {
        let mut world = World::new(&[door], |_| {});
        let store = farcache_client::Store::set(b"key", b"value");
        let operation = farcache_client::Operation::Store(store);
        let engine = &mut world.engine;
        engine
            .submit_quietly(operation, Delivery::default(), 0)
            .expect("sent");
        assert_eq!((engine.in_use(), engine.outstanding()), (0, 0));
        world.run();
        let ticket = world.get(b"key");
        world.run();
        assert_eq!(world.value(ticket), b"value");
    }
}
