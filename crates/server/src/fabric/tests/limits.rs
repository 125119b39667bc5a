//! Clients that are slow, hostile or wrong.

use super::Server;
use super::client::{Client, Received, get, head, packet, set};
use crate::fabric::{CREDITS, MESSAGE_BYTES_MAX};
use farcache_fabric::frame::{FRAME_BYTES, Frame};
use farcache_fabric::{Kind, Payload, Port};
use farcache_proto::binary::Opcode;

/// The session has ended, and a client beside it is not disturbed.
fn assert_cut_off(server: &mut Server, client: &mut Client, reason: &str) {
    server.run();
    let received = client.receive();
    let goodbye = Received::Goodbye(reason.to_owned());
    assert!(received.contains(&goodbye), "{received:?}");
    server.run();
    assert_eq!(server.ended_life_lines(), 1);
    let mut other = server.client();
    assert_eq!(other.ask(server, &get(b"key")).len(), 1);
    drop(other);
    server.assert_clean();
}

#[test]
fn malformed_messages_end_the_session() {
    let whole = set(b"key", b"value");
    let too_large: Vec<u8> = (0..4)
        .flat_map(|_| set(b"key", &vec![b'v'; MESSAGE_BYTES_MAX / 4]))
        .collect();
    let cut = whole[..whole.len() - 1].to_vec();
    let longer = [&whole[..], b"\x80"].concat();
    let text = b"get key\r\n".to_vec();
    for message in [too_large, cut, longer, text] {
        let mut server = Server::new();
        let mut client = server.client();
        client.send(&message);
        assert_cut_off(
            &mut server,
            &mut client,
            "packets that do not fill the message",
        );
        assert_eq!(server.figure("malformed"), 1);
        assert_eq!(
            server.shared.totals().cmd_set,
            0,
            "nothing of it was carried out"
        );
    }
}

#[test]
fn requests_that_make_no_sense_are_answered_and_end_the_session() {
    let mut server = Server::new();
    let mut client = server.client();
    // A get with a value.
    client.send(&packet(Opcode::Get, b"key", b"value"));
    server.run();
    let received = client.receive();
    assert!(
        matches!(
            &received[..],
            [Received::Responses(_), Received::Goodbye(_), ..]
        ),
        "{received:?}"
    );
    server.assert_clean();
}

#[test]
fn messages_that_no_client_sends_end_the_session() {
    let mut server = Server::new();
    let mut client = server.client();
    client
        .port
        .send(client.peer, Kind::Welcome, 0, Payload::Packets(b""));
    assert_cut_off(&mut server, &mut client, "a message that no client sends");
}

#[test]
fn more_messages_than_credits_end_the_session() {
    let mut server = Server::new();
    let mut client = server.client();
    // The client takes no replies, so that after 64 its messages wait.
    let messages = usize::from(CREDITS) + 64 + 1;
    for _ in 0..messages {
        client.send(&get(b"key"));
        server.engine.turn(&mut server.resources);
    }
    assert_eq!(server.figure("over_credit"), 1);
    assert_cut_off(&mut server, &mut client, "more messages than credits");
}

#[test]
fn as_many_messages_as_credits_are_all_answered() {
    let mut server = Server::new();
    let mut client = server.client();
    for _ in 0..CREDITS {
        client.send(&get(b"key"));
    }
    assert_eq!(client.answers(&mut server).len(), usize::from(CREDITS));
    assert_eq!(client.credits, u64::from(CREDITS));
}

#[test]
fn a_client_that_does_not_take_replies_is_not_served_until_it_does() {
    let mut server = Server::new();
    let mut client = server.client();
    for _ in 0..100 {
        client.send(&get(b"key"));
        server.engine.turn(&mut server.resources);
    }
    let served = server.shared.totals().get_misses;
    assert_eq!(served, 64, "replies of so many messages are under way");
    assert_eq!(server.figure("sessions_blocked"), 1);
    assert!(
        !server.engine.turn(&mut server.resources),
        "the worker may sleep"
    );
    let mut other = server.client();
    assert_eq!(other.ask(&mut server, &get(b"key")).len(), 1);
    assert_eq!(client.answers(&mut server).len(), 100);
}

#[test]
fn long_replies_block_by_their_bytes() {
    let mut server = Server::new();
    let mut client = server.client();
    client.ask(&mut server, &set(b"key", &[b'v'; 2000]));
    let four: Vec<u8> = (0..4).flat_map(|_| get(b"key")).collect();
    for _ in 0..50 {
        client.send(&four);
        server.engine.turn(&mut server.resources);
    }
    let served = server.shared.totals().get_hits / 4;
    assert!((30..35).contains(&served), "{served}");
    assert_eq!(client.answers(&mut server).len(), 4 * 50);
}

#[test]
fn messages_without_a_session_are_dropped() {
    let mut server = Server::new();
    let mut client = server.client();
    let mut wrong = client.grant.clone();
    wrong.key ^= 1;
    let mut stranger = Client::with(&server, wrong, None);
    stranger.send(&get(b"key"));
    stranger.send_large(&head(Opcode::Set, b"key", 0, 5000), vec![0; 5000]);
    stranger
        .port
        .send(stranger.peer, Kind::Goodbye, 0, Payload::Packets(b""));
    server.run();
    assert_eq!(server.figure("unattributed"), 3);
    assert_eq!(
        stranger.receive(),
        [Received::Taken(true)],
        "the offer was refused"
    );
    assert_eq!(client.ask(&mut server, &get(b"key")).len(), 1);
}

#[test]
fn messages_before_the_greeting_are_dropped() {
    let mut server = Server::new();
    let mut client = Client::granted(&mut server);
    client.send(&get(b"key"));
    server.run();
    assert_eq!(server.figure("unattributed"), 1);
    client.greet();
    server.run();
    client.welcomed();
}

#[test]
fn garbage_is_counted_and_dropped() {
    let mut server = Server::new();
    let mut client = server.client();
    let address = server.address();
    let frame = Frame {
        kind: Kind::Packets,
        session: client.grant.session,
        key: client.grant.key,
        credits: 0,
        head_bytes: 0,
        body_bytes: 100,
    };
    // A longer body than it carries, and less than a frame.
    server
        .network
        .deliver_raw(&address, &frame.encode(), b"short");
    server
        .network
        .deliver_raw(&address, &[0; FRAME_BYTES - 1], b"");
    server.run();
    assert_eq!(server.figure("malformed"), 2);
    assert_eq!(client.ask(&mut server, &get(b"key")).len(), 1);
}
