//! Ends of connections.

use super::harness::{Node, Pair, TestPort, introduce, pattern, turn_until};
use farcache_fabric::{Kind, Payload};

const LARGE_BYTES: usize = 4 << 20;

/// Bodies under way in both directions come back when the connection is closed in the middle.
pub fn closing_gives_everything_back<P: TestPort>(make: impl Fn() -> P) {
    let mut pair = Pair::new(make);
    pair.client
        .send_large(pair.to_server, b"up", pattern(LARGE_BYTES, 0), 1);
    pair.server
        .send_large(pair.to_client, b"down", pattern(LARGE_BYTES, 0), 2);
    pair.until("both are offered", |client, server| {
        !client.offers.is_empty() && !server.offers.is_empty()
    });
    let (_, _, offer) = pair.server.offers.pop().expect("looked for");
    pair.server.port.close(pair.to_client);
    pair.server.port.receive(offer, vec![0; LARGE_BYTES], 3);
    turn_until([&mut pair.server], "all is given back", |[server]| {
        server.received.len() == 1 && server.sent.len() == 1
    });
    assert_eq!(pair.server.sent[0], (2, pattern(LARGE_BYTES, 0), false));
    assert!(pair.server.received[0].0 == 3 && !pair.server.received[0].2);
    pair.client.port.close(pair.to_server);
    let (_, _, offer) = pair.client.offers.pop().expect("looked for");
    pair.client.port.refuse(offer);
    turn_until([&mut pair.client], "all is given back", |[client]| {
        client.sent.len() == 1
    });
    assert_eq!(pair.client.sent[0], (1, pattern(LARGE_BYTES, 0), false));
}

/// Nothing is sent to a closed peer, and a large body comes back.
pub fn nothing_is_sent_to_a_closed_peer<P: TestPort>(make: impl Fn() -> P) {
    let mut pair = Pair::new(make);
    pair.client.port.close(pair.to_server);
    pair.client.send(pair.to_server, b"too late");
    pair.client
        .send_large(pair.to_server, b"head", pattern(100, 0), 9);
    turn_until([&mut pair.client], "the body is back", |[client]| {
        !client.sent.is_empty()
    });
    assert_eq!(pair.client.sent, [(9, pattern(100, 0), false)]);
    assert_eq!(pair.client.port.unsent(pair.to_server), 0);
    // Twice is once.
    pair.client.port.close(pair.to_server);
    for _ in 0..100 {
        pair.client.turn();
        pair.server.turn();
    }
    assert!(pair.server.messages.is_empty());
}

/// A server goes on with others after it has closed one, and lets new ones in.
pub fn others_are_not_disturbed<P: TestPort>(make: impl Fn() -> P) {
    let mut server = Node::new(make());
    let (mut first, mut second) = (Node::new(make()), Node::new(make()));
    let (_, to_first) = introduce(&mut first, &mut server);
    let (second_to_server, _) = introduce(&mut second, &mut server);
    server.port.close(to_first);
    second.send(second_to_server, b"still here");
    turn_until(
        [&mut second, &mut server],
        "the other is heard",
        |[_, server]| !server.messages.is_empty(),
    );
    assert_eq!(server.take_message().bytes, b"still here");
    drop(first);
    let mut third = Node::new(make());
    introduce(&mut third, &mut server);
}

/// A greeting with a wrong token: the server closes whom it does not know, who may come again with
/// the right one.
pub fn a_greeting_may_be_turned_away<P: TestPort>(make: impl Fn() -> P) {
    let (mut client, mut server) = (Node::new(make()), Node::new(make()));
    for _ in 0..3 {
        let address = server.port.address().to_vec();
        let to_server = client.port.connect(&address).expect("a server's address");
        let wrong = Payload::Packets(b"the wrong one");
        client.port.send(to_server, Kind::Hello, 0, wrong);
        turn_until([&mut client, &mut server], "it is here", |[_, server]| {
            !server.messages.is_empty()
        });
        let sender = server.take_message().sender.expect("the way back");
        server.port.close(sender);
        client.port.close(to_server);
    }
    let (to_server, to_client) = introduce(&mut client, &mut server);
    server.send(to_client, b"a reply");
    turn_until(
        [&mut client, &mut server],
        "it is answered",
        |[client, _]| !client.messages.is_empty(),
    );
    client.send_large(to_server, b"head", pattern(1 << 20, 0), 1);
    turn_until(
        [&mut client, &mut server],
        "it is offered",
        |[_, server]| !server.offers.is_empty(),
    );
}

/// A thousand clients come and go; `resident_bytes` grows by no more than said.
pub fn a_thousand_come_and_go<P: TestPort>(
    make: impl Fn() -> P,
    resident_bytes: impl Fn() -> usize,
    growth_bytes_max: usize,
) {
    let mut server = Node::new(make());
    let mut come_and_go = |count: usize| {
        for _ in 0..count {
            let mut client = Node::new(make());
            let (to_server, to_client) = introduce(&mut client, &mut server);
            client
                .port
                .send(to_server, Kind::Goodbye, 0, Payload::Packets(b""));
            turn_until(
                [&mut client, &mut server],
                "it says goodbye",
                |[_, server]| !server.messages.is_empty(),
            );
            assert_eq!(server.take_message().frame.kind, Kind::Goodbye);
            server.port.close(to_client);
            client.port.close(to_server);
        }
    };
    come_and_go(100);
    let before = resident_bytes();
    come_and_go(1000);
    let growth = resident_bytes().saturating_sub(before);
    assert!(
        growth <= growth_bytes_max,
        "{growth} bytes more than before"
    );
}
