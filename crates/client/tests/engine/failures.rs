//! Servers that are gone: errors, rests, removal, return.

use crate::world::{Door, World};
use farcache_client::Error;
use farcache_client::engine::Link;

#[test]
fn a_server_that_refuses_is_left_alone_longer_and_longer() {
    let mut world = World::new(&[Door::Closed], |_| {});
    for rest_ms in [50, 100, 200, 400, 800, 1600, 2000, 2000] {
        let ticket = world.get(b"key");
        world.run();
        assert_eq!(
            world.error(ticket),
            Error::Connect("the door is closed".into())
        );
        let attempts = world.attempts;
        world.wait_ms(rest_ms - 1);
        let ticket = world.get(b"key");
        assert_eq!(world.error(ticket), Error::ServerDead);
        world.run();
        assert_eq!(world.attempts, attempts);
        world.wait_ms(1);
    }
    world.servers[0].door = Door::Sockets;
    let ticket = world.get(b"key");
    world.run();
    assert_eq!(world.error(ticket), Error::NotFound);
    assert_eq!(world.engine.in_use(), 0);
}

#[test]
fn every_operation_fails_with_its_connection() {
    for door in [Door::Sockets, Door::Fabric] {
        let mut world = World::new(&[door], |_| {});
        let first = world.get(b"key");
        world.run();
        assert_eq!(world.error(first), Error::NotFound);
        world.servers[0].is_mute = true;
        let tickets: Vec<_> = (0..100u32).map(|n| world.get(&n.to_be_bytes())).collect();
        world.run();
        world.lose(0);
        for ticket in tickets {
            let error = world.error(ticket);
            assert!(matches!(error, Error::ConnectionLost(_)), "{error}");
        }
        // It answered in that session, so it is tried again at once.
        world.servers[0].is_mute = false;
        let ticket = world.get(b"key");
        world.run();
        assert_eq!(world.error(ticket), Error::NotFound);
        assert_eq!((world.engine.in_use(), world.engine.outstanding()), (0, 0));
    }
}

#[test]
fn the_life_line_of_a_session_is_as_good_as_the_session() {
    let mut world = World::new(&[Door::Fabric], |_| {});
    let first = world.get(b"key");
    world.run();
    assert_eq!(world.error(first), Error::NotFound);
    world.servers[0].is_mute = true;
    let ticket = world.get(b"key");
    world.run();
    let line = Link::Tcp(farcache_fabric::Peer(1));
    let error = farcache_fabric::Error::PeerLost("killed".into());
    world.engine.lost(line, &error, world.now_us);
    let error = world.error(ticket);
    assert!(matches!(error, Error::ConnectionLost(_)), "{error}");
    world.run();
    assert_eq!(world.closed.len(), 2, "both connections are closed");
}

/// A server whose fabric starts anew ends the connections of those that have not come yet.
#[test]
fn a_client_that_is_not_let_in_yet_connects_once_more() {
    let lose_life_line = |world: &mut World| {
        let open = world.servers[0].open();
        let line = open.into_iter().find(|link| matches!(link, Link::Tcp(_)));
        let error = farcache_fabric::Error::PeerLost("it starts anew".into());
        let line = line.expect("a life line");
        world.engine.lost(line, &error, world.now_us);
    };
    let mut world = World::new(&[Door::FabricWithoutWelcome], |_| {});
    let ticket = world.get(b"key");
    world.run();
    lose_life_line(&mut world);
    world.servers[0].door = Door::Fabric;
    world.run();
    assert_eq!((world.error(ticket), world.attempts), (Error::NotFound, 2));
    assert_eq!(world.closed.len(), 2, "both connections of the first time");

    let mut world = World::new(&[Door::FabricWithoutWelcome], |_| {});
    let ticket = world.get(b"key");
    for _ in 0..2 {
        world.run();
        assert!(world.outcome(ticket).is_none());
        lose_life_line(&mut world);
    }
    let error = world.error(ticket);
    assert!(matches!(error, Error::ConnectionLost(_)), "{error}");
    world.run();
    assert_eq!((world.attempts, world.closed.len()), (2, 4));
}

#[test]
fn keys_of_a_removed_server_go_to_the_others_until_it_is_back() {
    let doors = [Door::Sockets, Door::Closed, Door::Sockets];
    let mut world = World::new(&doors, |config| config.remove_after_failures = Some(2));
    let key = (0..u32::MAX)
        .map(u32::to_be_bytes)
        .find(|key| world.engine.routing().server_of_key(key) == Some(1))
        .expect("the server has keys");
    for _ in 0..2 {
        let ticket = world.get(&key);
        world.run();
        assert!(matches!(world.error(ticket), Error::Connect(_)));
        world.wait_ms(2_000);
    }
    assert_ne!(world.engine.routing().server_of_key(&key), Some(1));
    let ticket = world.get(&key);
    world.run();
    assert_eq!(world.error(ticket), Error::NotFound);
    world.wait_ms(28_001);
    assert_eq!(world.engine.routing().server_of_key(&key), Some(1));
    // One failure is enough to remove it again.
    let ticket = world.get(&key);
    world.run();
    assert!(matches!(world.error(ticket), Error::Connect(_)));
    assert_ne!(world.engine.routing().server_of_key(&key), Some(1));
    world.servers[1].door = Door::Sockets;
    world.wait_ms(30_001);
    let ticket = world.get(&key);
    world.run();
    assert_eq!(world.error(ticket), Error::NotFound);
    world.wait_ms(100_000);
    assert_eq!(world.engine.routing().server_of_key(&key), Some(1));
}

#[test]
fn a_client_without_servers_says_so() {
    let mut world = World::new(&[], |_| {});
    let ticket = world.get(b"key");
    assert_eq!(world.error(ticket), Error::NoServers);
}
