//! Small messages.

use super::harness::{
    KEY, Node, Pair, SESSION, TestPort, WAIT_MAX, introduce, pattern, turn_until,
};
use farcache_fabric::{Kind, Payload};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Requests and replies of many sizes, one at a time.
pub fn requests_are_answered<P: TestPort>(make: impl Fn() -> P) {
    let mut pair = Pair::new(make);
    for bytes in [0, 1, 24, 64, 1000, 4096, 9000, 40_000, 65_536] {
        let request = pattern(bytes, 1);
        pair.client.send(pair.to_server, &request);
        pair.until("the request is here", |_, server| {
            !server.messages.is_empty()
        });
        let got = pair.server.take_message();
        assert_eq!((got.frame.kind, got.sender), (Kind::Packets, None));
        assert!(got.bytes == request && got.frame.body_bytes as usize == bytes);
        let reply = pattern(bytes, 2);
        let (peer, payload) = (pair.to_client, Payload::Packets(&reply));
        pair.server.port.send(peer, Kind::Packets, 1, payload);
        pair.until("the reply is here", |client, _| !client.messages.is_empty());
        let got = pair.client.take_message();
        assert!(got.bytes == reply && got.frame.credits == 1);
    }
    let (to_server, to_client) = (pair.to_server, pair.to_client);
    pair.until("all is sent", |client, server| {
        client.port.unsent(to_server) == 0 && server.port.unsent(to_client) == 0
    });
}

/// Many messages sent without a wait arrive whole, once, and here in order.
pub fn a_window_of_messages_arrives<P: TestPort>(make: impl Fn() -> P) {
    const COUNT: usize = 5000;
    let mut pair = Pair::new(make);
    for number in 0..COUNT {
        pair.client
            .send(pair.to_server, &pattern(8 + number % 700, number));
    }
    pair.until("all have come", |_, server| server.messages.len() == COUNT);
    for (number, message) in pair.server.messages.iter().enumerate() {
        assert!(
            message.bytes == pattern(8 + number % 700, number),
            "{number}"
        );
    }
    let to_server = pair.to_server;
    pair.until("all is sent", |client, _| {
        client.port.unsent(to_server) == 0
    });
}

/// One server, many clients, each with its own way back.
pub fn many_clients_are_told_apart<P: TestPort>(make: impl Fn() -> P) {
    let mut server = Node::new(make());
    let mut clients: Vec<_> = (0..20)
        .map(|_| {
            let mut client = Node::new(make());
            let peers = introduce(&mut client, &mut server);
            (client, peers)
        })
        .collect();
    for (number, (_, (_, to_client))) in clients.iter().enumerate() {
        server.send(*to_client, &[number as u8]);
    }
    for (number, (client, _)) in clients.iter_mut().enumerate() {
        turn_until(
            [client, &mut server],
            "it has its message",
            |[client, _]| !client.messages.is_empty(),
        );
        assert_eq!(client.take_message().bytes, [number as u8]);
    }
}

/// One port may be client of several, and of itself.
pub fn a_port_may_have_several_servers_and_be_its_own<P: TestPort>(make: impl Fn() -> P) {
    let mut client = Node::new(make());
    let mut servers = [Node::new(make()), Node::new(make())];
    for server in &mut servers {
        let (to_server, _) = introduce(&mut client, server);
        client.send(to_server, b"hello");
        turn_until(
            [&mut client, server],
            "it has its message",
            |[_, server]| !server.messages.is_empty(),
        );
    }
    let address = client.port.address().to_vec();
    let own = client.port.connect(&address).expect("its own address");
    client
        .port
        .send(own, Kind::Hello, 0, Payload::Packets(b"me"));
    turn_until([&mut client], "it hears itself", |[client]| {
        !client.messages.is_empty()
    });
    assert_eq!(client.take_message().bytes, b"me");
}

/// The lanes can be shown to people.
pub fn lanes_are_named<P: TestPort>(make: impl Fn() -> P) {
    let pair = Pair::new(make);
    assert!(!pair.client.port.lanes(pair.to_server).is_empty());
    assert!(!pair.server.port.lanes(pair.to_client).is_empty());
}

/// Who greets twice is still one.
pub fn a_second_greeting_comes_from_the_same_peer<P: TestPort>(make: impl Fn() -> P) {
    let mut pair = Pair::new(make);
    pair.client
        .port
        .send(pair.to_server, Kind::Hello, 0, Payload::Packets(b"again"));
    pair.until("it is here", |_, server| !server.messages.is_empty());
    assert_eq!(pair.server.take_message().sender, Some(pair.to_client));
}

/// A client closes and connects anew between the same two ports, many times.
pub fn a_server_may_be_left_and_met_again<P: TestPort>(make: impl Fn() -> P) {
    let (mut client, mut server) = (Node::new(make()), Node::new(make()));
    for round in 0..20 {
        let (to_server, to_client) = introduce(&mut client, &mut server);
        let body = pattern(100_000 + round, round);
        server.send_large(to_client, b"head", body.clone(), 1);
        turn_until(
            [&mut client, &mut server],
            "it is offered",
            |[client, _]| !client.offers.is_empty(),
        );
        let (_, _, offer) = client.offers.pop().expect("looked for");
        client.port.receive(offer, vec![0; body.len()], 2);
        turn_until(
            [&mut client, &mut server],
            "it is over",
            |[client, server]| !client.received.is_empty() && !server.sent.is_empty(),
        );
        assert!(client.received.pop() == Some((2, body.clone(), true)));
        assert!(server.sent.pop() == Some((1, body, true)));
        if round % 2 == 0 {
            client.port.close(to_server);
            server.port.close(to_client);
        } else {
            server.port.close(to_client);
            client.port.close(to_server);
        }
        server.lost.clear();
        client.lost.clear();
    }
}

/// A port that works in one thread goes on working in another.
pub fn a_port_may_move_to_another_thread<P: TestPort + 'static>(make: impl Fn() -> P) {
    let Pair {
        mut client,
        mut server,
        to_server,
        to_client,
    } = Pair::new(make);
    let echo = std::thread::spawn(move || {
        turn_until([&mut server], "the request is here", |[server]| {
            !server.messages.is_empty()
        });
        let request = server.take_message();
        server.send(to_client, &request.bytes);
        turn_until([&mut server], "the reply has left", |[server]| {
            server.port.unsent(to_client) == 0
        });
        server
    });
    client.send(to_server, b"over there");
    turn_until([&mut client], "the reply is here", |[client]| {
        !client.messages.is_empty()
    });
    assert_eq!(client.take_message().bytes, b"over there");
    drop(echo.join().expect("the other thread"));
}

/// A handler sees messages before the inbox does; behind one that it leaves there, nothing
/// overtakes.
pub fn a_handler_takes_messages_until_it_leaves_one<P: TestPort>(make: impl Fn() -> P) {
    const COUNT: usize = 60;
    let mut pair = Pair::new(make);
    for number in 0..COUNT {
        let message = pattern(1 + 100 * number, number);
        pair.client.send(pair.to_server, &message);
    }
    let deadline = Instant::now() + WAIT_MAX;
    let (mut order, mut taken) = (Vec::new(), 0);
    while order.len() < COUNT {
        assert!(Instant::now() < deadline, "{order:?}");
        pair.client.turn();
        pair.server.turn_with(&mut |message| {
            let leaves = message.body.len() % 3 == 0;
            if !leaves {
                assert!(message.head.is_empty() && message.frame.kind == Kind::Packets);
                order.push(message.body.to_vec());
                taken += 1;
            }
            !leaves
        });
        order.extend(pair.server.messages.drain(..).map(|message| message.bytes));
    }
    for (number, message) in order.iter().enumerate() {
        assert!(*message == pattern(1 + 100 * number, number), "{number}");
    }
    assert!((1..COUNT).contains(&taken), "{taken}");
}

/// A handler's panic is the caller's; the port goes on.
pub fn a_panic_of_a_handler_comes_through<P: TestPort>(make: impl Fn() -> P) {
    let mut pair = Pair::new(make);
    pair.client
        .send(pair.to_server, b"the one that it panics at");
    let deadline = Instant::now() + WAIT_MAX;
    let panics = |server: &mut Node<P>| {
        let turn = || server.turn_with(&mut |_| panic!("as the test wants it"));
        catch_unwind(AssertUnwindSafe(turn)).is_err()
    };
    while !panics(&mut pair.server) {
        assert!(Instant::now() < deadline, "nothing came");
        pair.client.turn();
    }
    pair.client.send(pair.to_server, b"the next one");
    let is_next = |message: &super::harness::Message| message.bytes == b"the next one";
    pair.until("the next one has come", |_, server| {
        server.messages.iter().any(is_next)
    });
}

/// A plain get of an item's key, and what answers it with a value.
fn get_packet(opaque: u32, item_key: &[u8]) -> Vec<u8> {
    let length = item_key.len() as u8;
    let mut packet = vec![0x80, 0, 0, length, 0, 0, 0, 0, 0, 0, 0, length];
    packet.extend_from_slice(&opaque.to_be_bytes());
    packet.extend_from_slice(&[0; 8]);
    packet.extend_from_slice(item_key);
    packet
}

fn value_packet(opaque: u32, value: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x81, 0, 0, 0, 4, 0, 0, 0];
    packet.extend_from_slice(&(value.len() as u32 + 4).to_be_bytes());
    packet.extend_from_slice(&opaque.to_be_bytes());
    packet.extend_from_slice(b"cas-cas-flag");
    packet.extend_from_slice(value);
    packet
}

/// Gets and values, which may travel in a short form, arrive as the packets that they are.
pub fn gets_and_values_arrive_as_they_are<P: TestPort>(make: impl Fn() -> P) {
    let mut pair = Pair::new(make);
    for (number, bytes) in [1, 16, 250, 3, 168, 169, 90].into_iter().enumerate() {
        let (item_key, opaque) = (pattern(bytes, number), 0x0102_0304 + number as u32);
        match number % 2 {
            0 => pair.client.port.send_get(pair.to_server, opaque, &item_key),
            _ => pair
                .client
                .send(pair.to_server, &get_packet(opaque, &item_key)),
        }
        pair.until("the get is here", |_, server| !server.messages.is_empty());
        let got = pair.server.take_message();
        assert_eq!(got.bytes, get_packet(opaque, &item_key));
        let identity = (got.frame.session, got.frame.key);
        assert_eq!((identity, got.frame.kind), ((SESSION, KEY), Kind::Packets));
        assert_eq!((got.frame.head_bytes, got.sender), (0, None));
        for value_bytes in [0, 64, 164, 165, 4096] {
            let reply = value_packet(opaque, &pattern(value_bytes, number));
            let (peer, payload) = (pair.to_client, Payload::Packets(&reply));
            pair.server.port.send(peer, Kind::Packets, 7, payload);
            pair.until("the value is here", |client, _| !client.messages.is_empty());
            let got = pair.client.take_message();
            assert_eq!(got.bytes, reply, "{value_bytes}");
            let identity = (got.frame.session, got.frame.key);
            assert_eq!((identity, got.frame.credits), ((SESSION, KEY), 7));
            let said = usize::from(got.frame.head_bytes) + got.frame.body_bytes as usize;
            assert_eq!(said, reply.len());
        }
    }
}

/// Where two peers carry the same key, messages with it belong to the first of them, whatever
/// becomes of the other.
pub fn a_stranger_with_the_key_of_a_session_does_not_disturb_it<P: TestPort>(make: impl Fn() -> P) {
    let mut pair = Pair::new(&make);
    let mut stranger = Node::new(make());
    let (_, to_stranger) = introduce(&mut stranger, &mut pair.server);
    pair.server.port.close(to_stranger);
    for opaque in 0..3 {
        pair.client.port.send_get(pair.to_server, opaque, b"key");
        pair.until("the get is here", |_, server| !server.messages.is_empty());
        let got = pair.server.take_message();
        assert_eq!((got.frame.session, got.frame.key), (SESSION, KEY));
        assert_eq!(got.bytes, get_packet(opaque, b"key"));
        let reply = value_packet(opaque, b"value");
        let (peer, payload) = (pair.to_client, Payload::Packets(&reply));
        pair.server.port.send(peer, Kind::Packets, 1, payload);
        pair.until("the value is here", |client, _| !client.messages.is_empty());
        assert_eq!(pair.client.take_message().bytes, reply);
    }
}
