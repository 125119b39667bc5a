//! The network in memory: what every network must do, and its faults.

mod conformance;

use conformance::harness::{Body, KEY, Node, Pair, SESSION, pattern, turn_until};
use farcache_fabric::memory::{Action, Death, MemoryPort, Network, Rule};
use farcache_fabric::{Frame, Kind, Port};

fn ports() -> impl Fn() -> MemoryPort<Body, Body> {
    let network = Network::new();
    move || network.port()
}

/// A network and two ports on it that know each other.
fn pair() -> (Network, Pair<MemoryPort<Body, Body>>) {
    let network = Network::new();
    let pair = Pair::new(|| network.port());
    (network, pair)
}

conformance::conformance_tests!(Some(ports()));

#[test]
fn no_port_at_an_address_is_unreachable() {
    let mut port = ports()();
    assert!(port.connect(b"nowhere").is_err());
    assert!(port.connect(&[9; 8]).is_err());
}

#[test]
fn a_dropped_message_never_comes_and_the_next_does() {
    let (network, mut pair) = pair();
    let from = pair.client.port.address().to_vec();
    network.inject(Rule::all(Action::Drop).from(&from).count(1));
    pair.client.send(pair.to_server, b"1");
    pair.client.send(pair.to_server, b"2");
    pair.until("one has come", |_, server| !server.messages.is_empty());
    assert_eq!(pair.server.take_message().bytes, b"2");
}

#[test]
fn held_messages_come_when_released_and_count_as_unsent() {
    let (network, mut pair) = pair();
    network.inject(Rule::all(Action::Hold).count(2));
    for byte in [b"1", b"2", b"3"] {
        pair.client.send(pair.to_server, byte);
    }
    pair.until("the third has come", |_, server| {
        !server.messages.is_empty()
    });
    assert_eq!(pair.server.take_message().bytes, b"3");
    assert_eq!(pair.client.port.unsent(pair.to_server), 2);
    network.release();
    pair.until("the rest has come", |_, server| server.messages.len() == 2);
    assert_eq!(pair.server.messages[0].bytes, b"1");
    assert_eq!(pair.client.port.unsent(pair.to_server), 0);
}

#[test]
fn a_duplicated_message_comes_twice() {
    let (network, mut pair) = pair();
    network.inject(Rule::all(Action::Duplicate).skip(1).count(1));
    pair.client.send(pair.to_server, b"1");
    pair.client.send(pair.to_server, b"2");
    pair.server.turn();
    let bytes: Vec<_> = pair
        .server
        .messages
        .iter()
        .map(|message| &message.bytes[..])
        .collect();
    assert_eq!(bytes, [b"1", b"2", b"2"]);
}

#[test]
fn truncated_messages_are_garbage_and_offered_bodies_go_back() {
    let (network, mut pair) = pair();
    network.inject(Rule::all(Action::TruncateFront(10)).count(1));
    network.inject(Rule::all(Action::TruncateBody(3)).count(2));
    pair.client.send(pair.to_server, b"no frame");
    pair.client.send(pair.to_server, b"no body");
    pair.client
        .send_large(pair.to_server, b"head", pattern(100_000, 0), 4);
    pair.until("the body is back", |client, _| !client.sent.is_empty());
    assert_eq!((pair.server.garbage, pair.server.messages.len()), (3, 0));
}

#[test]
fn raw_bytes_reach_a_port() {
    let (network, mut pair) = pair();
    let frame = Frame {
        kind: Kind::Packets,
        session: SESSION,
        key: KEY + 1,
        credits: 0,
        head_bytes: 0,
        body_bytes: 2,
    };
    let address = pair.server.port.address().to_vec();
    network.deliver_raw(&address, &frame.encode(), b"ab");
    network.deliver_raw(&address, &frame.encode(), b"abc");
    pair.server.turn();
    assert_eq!(
        (pair.server.garbage, pair.server.take_message().frame),
        (1, frame)
    );
}

#[test]
fn a_failed_send_loses_both_ends() {
    let (network, mut pair) = pair();
    network.inject(Rule::all(Action::Fail).count(1));
    pair.client
        .send_large(pair.to_server, b"head", pattern(100_000, 0), 4);
    pair.until("both know", |client, server| {
        client.lost.len() == 1 && server.lost.len() == 1
    });
    assert!(pair.client.sent.is_empty(), "a body comes back by closing");
    pair.client.port.close(pair.to_server);
    pair.client.turn();
    assert_eq!(pair.client.sent, [(4, pattern(100_000, 0), false)]);
}

#[test]
fn a_held_body_is_received_after_release() {
    let (network, mut pair) = pair();
    network.inject(Rule::all(Action::HoldBody).count(1));
    pair.client
        .send_large(pair.to_server, b"head", pattern(100_000, 0), 4);
    pair.server.turn();
    let (_, _, offer) = pair.server.offers.pop().expect("it is offered");
    pair.server.port.receive(offer, vec![0; 100_000], 5);
    pair.server.turn();
    pair.client.turn();
    assert!(pair.server.received.is_empty() && pair.client.sent.is_empty());
    network.release();
    pair.until("it is there", |client, server| {
        !server.received.is_empty() && !client.sent.is_empty()
    });
    assert_eq!(pair.server.received, [(5, pattern(100_000, 0), true)]);
}

#[test]
fn closing_ends_what_is_held_for_ever() {
    let (network, mut pair) = pair();
    network.inject(Rule::all(Action::HoldBody));
    pair.client
        .send_large(pair.to_server, b"head", pattern(100_000, 0), 4);
    pair.server.turn();
    let (_, _, offer) = pair.server.offers.pop().expect("it is offered");
    pair.server.port.receive(offer, vec![0; 100_000], 5);
    pair.server.port.close(pair.to_client);
    pair.server.turn();
    assert!(!pair.server.received[0].2);
    pair.client.turn();
    assert_eq!(pair.client.lost, [pair.to_server]);
}

#[test]
fn a_death_is_reported_or_not() {
    for (death, losses) in [(Death::Reported, 1), (Death::Silent, 0)] {
        let (network, mut pair) = pair();
        pair.server
            .send_large(pair.to_client, b"head", pattern(100_000, 0), 4);
        let address = pair.client.port.address().to_vec();
        network.kill(&address, death);
        pair.client.send(pair.to_server, b"from the grave");
        pair.client.turn();
        pair.server.turn();
        assert_eq!(pair.server.lost.len(), losses, "{death:?}");
        assert!(pair.server.messages.is_empty() && pair.client.offers.is_empty());
        pair.server.port.close(pair.to_client);
        turn_until([&mut pair.server], "the body is back", |[server]| {
            !server.sent.is_empty()
        });
    }
}

#[test]
fn a_dropped_port_is_lost() {
    let (
        _network,
        Pair {
            client,
            mut server,
            to_client,
            ..
        },
    ) = pair();
    drop::<Node<_>>(client);
    server.turn();
    assert_eq!(server.lost, [to_client]);
}

#[test]
fn healing_ends_the_rules() {
    let (network, mut pair) = pair();
    network.inject(Rule::all(Action::Drop));
    network.heal();
    pair.client.send(pair.to_server, b"1");
    pair.server.turn();
    assert_eq!(pair.server.messages.len(), 1);
}
