//! A fabric that is the kernel's sockets is given up for the server's own socket.

use crate::world::{Door, World};
use farcache_client::Error;
use farcache_client::engine::Link;
use farcache_fabric::Error as FabricError;

/// A world whose client has asked for something and has its answer.
fn connected(door: Door, demands_fabric: bool) -> World {
    let mut world = World::with_fabric_demanded(&[door], demands_fabric, |_| {});
    let stored = world.set(b"key", b"value".to_vec());
    let got = world.get(b"key");
    world.run();
    assert!(world.outcome(stored).expect("answered").is_ok());
    assert_eq!(world.value(got), b"value");
    world
}

fn is_line(link: &Link) -> bool {
    matches!(link, Link::Tcp(_))
}

#[test]
fn operations_go_over_the_socket_where_the_fabric_is_one() {
    let world = connected(Door::FabricOnSockets, false);
    assert!(world.engine.uses_sockets() && !world.engine.is_on_fabric(0));
    assert!(world.engine.link(0).as_ref().is_some_and(is_line));
    let reason = world.engine.no_fabric(0).expect("a reason");
    assert!(reason.contains("UCX's tcp"), "{reason}");
    assert_eq!(world.attempts, 1, "by the connection that it has");
}

#[test]
fn the_session_is_ended_once_and_its_connection_stays() {
    let mut world = connected(Door::FabricOnSockets, false);
    assert_eq!(world.retirements, [0]);
    assert!(!world.engine.uses_fabric());
    let open = world.servers[0].open();
    assert!(open.len() == 1 && open.iter().all(is_line), "{open:?}");
    let ticket = world.get(b"key");
    world.run();
    assert_eq!(world.value(ticket), b"value");
    assert_eq!(world.retirements, [0]);
}

#[test]
fn a_fabric_that_is_demanded_is_used_whatever_it_is() {
    let world = connected(Door::FabricOnSockets, true);
    assert!(world.engine.is_on_fabric(0) && !world.engine.uses_sockets());
    assert!(world.retirements.is_empty());
    assert_eq!(world.engine.no_fabric(0), None);
}

#[test]
fn any_other_fabric_is_used() {
    let world = connected(Door::Fabric, false);
    assert!(world.engine.is_on_fabric(0) && world.retirements.is_empty());
    assert!(world.engine.uses_fabric());
}

#[test]
fn large_values_go_over_the_socket_too() {
    let mut world = connected(Door::FabricOnSockets, false);
    let stored = world.set(b"large", vec![7; 100_000]);
    world.run();
    assert!(world.outcome(stored).expect("answered").is_ok());
    let got = world.get(b"large");
    world.run();
    assert_eq!(world.value(got), vec![7; 100_000]);
    assert_eq!(world.engine.in_use(), 0);
}

#[test]
fn a_server_that_does_not_know_it_keeps_the_session_and_serves_the_socket() {
    let mut world = connected(Door::FabricOnSocketsOfOld, false);
    assert!(world.engine.uses_sockets() && world.engine.uses_fabric());
    assert_eq!(world.servers[0].open().len(), 2);
    // The connection ends: nothing of the session stays.
    let line = world.engine.link(0).expect("the line");
    let error = FabricError::PeerLost("killed".into());
    world.engine.lost(line, &error, world.now_us);
    world.run();
    assert!(world.servers[0].open().is_empty() && !world.engine.uses_fabric());
}

#[test]
fn the_end_of_a_session_that_was_given_up_ends_nothing_else() {
    let mut world = connected(Door::FabricOnSocketsOfOld, false);
    world.servers[0].is_mute = true;
    let ticket = world.get(b"key");
    world.run();
    // It came by the socket, which stays; the simulated server forgets all it was asked.
    let asked = std::mem::take(&mut world.servers[0].inbox);
    world.lose(0);
    world.run();
    let open = world.servers[0].open();
    assert!(open.len() == 1 && open.iter().all(is_line), "{open:?}");
    assert!(world.outcome(ticket).is_none(), "it is still under way");
    world.servers[0].inbox = asked;
    world.servers[0].is_mute = false;
    world.run();
    assert_eq!(world.value(ticket), b"value");
}

#[test]
fn the_end_of_the_socket_ends_what_is_under_way() {
    let mut world = connected(Door::FabricOnSockets, false);
    world.servers[0].is_mute = true;
    let ticket = world.get(b"key");
    world.run();
    world.lose(0);
    world.run();
    let error = world.error(ticket);
    assert!(matches!(error, Error::ConnectionLost(_)), "{error}");
    assert!(world.servers[0].open().is_empty());
    // The next operation begins anew, and comes to the same.
    world.servers[0].is_mute = false;
    let ticket = world.get(b"key");
    world.run();
    assert_eq!(world.value(ticket), b"value");
    assert_eq!(world.retirements, [0, 0]);
}
