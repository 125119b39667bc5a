//! Large bodies.

use super::harness::{Node, Pair, TestPort, pattern};
use farcache_fabric::Peer;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Sizes around every eager limit, and well above.
const SIZES: [usize; 7] = [1, 4000, 9000, 70_000, 300_000, 1 << 20, 64 << 20];

/// One body over, whichever way the network chose; what arrived behind the head.
fn carry<P: TestPort>(
    from: &mut Node<P>,
    to: &mut Node<P>,
    peer: Peer,
    body: Vec<u8>,
    tag: u64,
) -> Vec<u8> {
    let bytes = body.len();
    from.send_large(peer, b"a head", body, tag);
    super::harness::turn_until([&mut *from, to], "the message is here", |[_, to]| {
        !to.messages.is_empty() || !to.offers.is_empty()
    });
    let got = if let Some((frame, head, offer)) = to.offers.pop() {
        assert_eq!((frame.body_bytes as usize, offer.bytes), (bytes, bytes));
        assert_eq!(head, b"a head");
        to.port.receive(offer, vec![0; bytes + 10], tag + 1);
        super::harness::turn_until([&mut *from, to], "the body is here", |[_, to]| {
            !to.received.is_empty()
        });
        let (got_tag, mut room, ok) = to.received.pop().expect("looked for");
        assert!(got_tag == tag + 1 && ok);
        assert_eq!(room[bytes..], [0; 10], "written beyond the body");
        room.truncate(bytes);
        room
    } else {
        let message = to.take_message();
        assert_eq!(message.frame.head_bytes, 6);
        assert_eq!(message.bytes[..6], *b"a head");
        message.bytes[6..].to_vec()
    };
    super::harness::turn_until([&mut *from, to], "the body is let go", |[from, _]| {
        !from.sent.is_empty()
    });
    let (sent_tag, sent_body, ok) = from.sent.pop().expect("looked for");
    assert!(sent_tag == tag && ok && sent_body == got);
    assert_eq!(from.port.unsent(peer), 0);
    got
}

/// Bodies of all sizes, both ways.
pub fn bodies_go_both_ways<P: TestPort>(make: impl Fn() -> P) {
    let mut pair = Pair::new(make);
    for bytes in SIZES {
        let body = pattern(bytes, 3);
        let (client, server) = (&mut pair.client, &mut pair.server);
        assert!(
            carry(client, server, pair.to_server, body.clone(), 7) == body,
            "{bytes} to the server"
        );
        assert!(
            carry(server, client, pair.to_client, body.clone(), 8) == body,
            "{bytes} to the client"
        );
    }
}

/// Several at once, both ways, received in another order than offered.
pub fn several_bodies_at_once<P: TestPort>(make: impl Fn() -> P) {
    const COUNT: usize = 8;
    const BYTES: usize = 600_000;
    let mut pair = Pair::new(make);
    for number in 0..COUNT {
        pair.client.send_large(
            pair.to_server,
            &[number as u8],
            pattern(BYTES, number),
            number as u64,
        );
        pair.server.send_large(
            pair.to_client,
            &[number as u8],
            pattern(BYTES, number),
            number as u64,
        );
    }
    pair.until("all are offered", |client, server| {
        client.offers.len() == COUNT && server.offers.len() == COUNT
    });
    for node in [&mut pair.client, &mut pair.server] {
        while let Some((_, head, offer)) = node.offers.pop() {
            node.port.receive(offer, vec![0; BYTES], head[0].into());
        }
    }
    pair.until("all are received and sent", |client, server| {
        [client, server]
            .iter()
            .all(|node| node.received.len() == COUNT && node.sent.len() == COUNT)
    });
    for node in [&pair.client, &pair.server] {
        for (tag, body, ok) in &node.received {
            assert!(*ok && *body == pattern(BYTES, *tag as usize), "{tag}");
        }
    }
}

/// A refused body is told as sent, and the connection goes on.
pub fn a_body_may_be_refused<P: TestPort>(make: impl Fn() -> P) {
    let mut pair = Pair::new(make);
    pair.client
        .send_large(pair.to_server, b"head", pattern(1 << 20, 0), 5);
    pair.until("it is offered", |_, server| !server.offers.is_empty());
    let (_, _, offer) = pair.server.offers.pop().expect("looked for");
    pair.server.port.refuse(offer);
    pair.until("the sender has it back", |client, _| {
        !client.sent.is_empty()
    });
    assert_eq!(pair.client.sent.pop(), Some((5, pattern(1 << 20, 0), true)));
    pair.client.send(pair.to_server, b"and on");
    pair.until("the next message is here", |_, server| {
        !server.messages.is_empty()
    });
}

/// Too little room for a body is the caller's mistake, and is not written beyond.
pub fn too_little_room_panics<P: TestPort>(make: impl Fn() -> P) {
    let mut pair = Pair::new(make);
    pair.client
        .send_large(pair.to_server, b"head", pattern(1 << 20, 0), 5);
    pair.until("it is offered", |_, server| !server.offers.is_empty());
    let (_, _, offer) = pair.server.offers.pop().expect("looked for");
    let receive = || pair.server.port.receive(offer, vec![0; 1000], 1);
    assert!(catch_unwind(AssertUnwindSafe(receive)).is_err());
}
