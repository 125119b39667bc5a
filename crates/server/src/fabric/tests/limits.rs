//! Clients that are slow, hostile or wrong.

use super::Server;
use super::client::{Client, Received, get, head, packet, set};
use crate::fabric::kept::{SESSION_BYTES_MAX, WORKER_BYTES_MAX};
use crate::fabric::{CREDITS, MESSAGE_BYTES_MAX};
use crate::settings::Settings;
use farcache_fabric::frame::{FRAME_BYTES, Frame};
use farcache_fabric::{Kind, Payload, Port};
use farcache_proto::binary::{Opcode, Status};
use farcache_store::StoreConfig;

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
    let reason = "packets that do not fill the message";
    for (message, reason) in [
        (too_large, "a message that is too long"),
        (cut, reason),
        (longer, reason),
        (text, reason),
    ] {
        let mut server = Server::new();
        let mut client = server.client();
        client.send(&message);
        assert_cut_off(&mut server, &mut client, reason);
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

/// More than the store holds of them.
const VALUES: usize = 120;
const VALUE_BYTES: usize = 30_000;

fn key(number: usize) -> Vec<u8> {
    format!("key-{number}").into_bytes()
}

fn value(number: usize) -> Vec<u8> {
    let bytes = (0..VALUE_BYTES).map(|place| (place + number) as u8);
    bytes.collect()
}

fn store_large(server: &mut Server, client: &mut Client, number: usize) {
    let head = head(Opcode::Set, &key(number), 0, VALUE_BYTES);
    client.send_large(&head, value(number));
    let answers = client.answers(server);
    assert!(
        answers.len() == 1 && answers[0].is(Status::Success),
        "{number}: {answers:?}"
    );
}

#[test]
fn clients_that_take_no_values_have_no_set_refused_and_lose_their_sessions() {
    let config = StoreConfig {
        memory_bytes: 4 << 20,
        segment_bytes: 64 << 10,
        ..StoreConfig::default()
    };
    let mut server = Server::with(Settings::default(), config);
    let mut honest = server.client();
    (0..VALUES).for_each(|number| store_large(&mut server, &mut honest, number));
    let mut stalled: Vec<Client> = (0..12).map(|_| server.client()).collect();
    for (index, client) in stalled.iter_mut().enumerate() {
        (0..10).for_each(|number| client.send(&get(&key(10 * index + number))));
        server.run();
    }
    assert!(
        server.figure("rendezvous_out") > 12,
        "some are sent several"
    );
    for number in 1000..1000 + 3 * VALUES {
        store_large(&mut server, &mut honest, number);
        let found = honest.ask_one(&mut server, &get(&key(number)));
        assert!(found.value == value(number), "{number}");
    }
    let stats = server.shared.store.stats();
    assert_eq!(stats.out_of_memory, 0);
    // A quarter of the memory may be lent, and half of an eighth of it copied, before each gets one
    // value at a time.
    assert!(stats.values_pinned <= 2 * 16 + 12, "{stats:?}");
    for _ in 0..100 {
        server.await_stalls();
    }
    let ended = server.figure("sessions_stalled");
    assert!((1..=12).contains(&ended), "{ended}");
    assert!(!server.shared.store.is_lending_short());
    assert!(
        honest
            .ask_one(&mut server, &get(b"none"))
            .is(Status::NotFound)
    );
    drop((stalled, honest));
    server.assert_clean();
}

#[test]
fn clients_that_take_no_values_may_take_their_time_while_there_is_memory() {
    let mut server = Server::new();
    let mut client = server.client();
    store_large(&mut server, &mut client, 0);
    (0..10).for_each(|_| client.send(&get(&key(0))));
    for _ in 0..100 {
        server.await_stalls();
    }
    assert_eq!(server.figure("sessions_stalled"), 0);
    let answers = client.answers(&mut server);
    assert_eq!(answers.len(), 10);
    assert!(answers.iter().all(|answer| answer.value == value(0)));
}

/// Takes no replies, so that after 64 messages the further ones wait; then sends up to `count` of
/// these, until a session ends for them.
fn hoard(server: &mut Server, client: &mut Client, message: &[u8], count: usize) {
    let small = get(b"key");
    let first = std::iter::repeat_n(&small[..], 64);
    for message in first.chain(std::iter::repeat_n(message, count)) {
        client.send(message);
        server.engine.turn(&mut server.resources);
        if server.figure("over_memory") > 0 {
            return;
        }
    }
}

/// Gets that fill a message.
fn full_message() -> Vec<u8> {
    let one = get(&[b'k'; 250]);
    one.repeat(MESSAGE_BYTES_MAX / one.len())
}

#[test]
fn what_is_kept_for_a_session_is_bounded() {
    let message = full_message();
    let fitting = SESSION_BYTES_MAX / message.len();
    let mut server = Server::new();
    let mut client = server.client();
    hoard(&mut server, &mut client, &message, fitting);
    assert_eq!(server.engine.kept.bytes(), fitting * message.len());
    assert_eq!(server.figure("over_memory"), 0);
    client.send(&message);
    server.engine.turn(&mut server.resources);
    assert_eq!(server.figure("over_memory"), 1);
    assert_eq!(server.engine.kept.bytes(), 0);
    let reason = "more kept messages than there is memory for";
    assert_cut_off(&mut server, &mut client, reason);
}

#[test]
fn what_is_kept_for_all_sessions_is_bounded_and_the_greediest_ends() {
    let message = full_message();
    let count = SESSION_BYTES_MAX / message.len() - 1;
    let mut server = Server::new();
    let mut modest = server.client();
    hoard(&mut server, &mut modest, &get(b"key"), 10);
    let mut greedy = Vec::new();
    while server.figure("over_memory") == 0 {
        assert!(greedy.len() <= WORKER_BYTES_MAX / (count * message.len()));
        let mut client = server.client();
        hoard(&mut server, &mut client, &message, count);
        greedy.push(client);
    }
    assert!(server.engine.kept.bytes() <= WORKER_BYTES_MAX);
    let answers = modest.answers(&mut server).len();
    assert_eq!(answers, 64 + 10, "the others go on");
}

#[test]
fn a_long_value_that_comes_with_its_packet_is_stored() {
    let mut server = Server::new();
    let mut client = Client::eager(&mut server);
    let value = vec![b'v'; 4 * MESSAGE_BYTES_MAX];
    client.send_large(&head(Opcode::Set, b"key", 0, value.len()), value.clone());
    let answers = client.answers(&mut server);
    assert!(
        answers.len() == 1 && answers[0].is(Status::Success),
        "{answers:?}"
    );
    let answers = client.ask(&mut server, &get(b"key"));
    assert_eq!(answers[0].value, value);
    drop(client);
    server.assert_clean();
}

#[test]
fn a_value_that_is_too_long_is_refused_before_it_is_put_together() {
    let mut server = Server::new();
    let mut client = Client::eager(&mut server);
    let value = vec![b'v'; 4 << 20];
    client.send_large(&head(Opcode::Set, b"key", 0, value.len()), value);
    let answers = client.answers(&mut server);
    assert!(
        answers.len() == 1 && answers[0].is(Status::TooLarge),
        "{answers:?}"
    );
    assert!(server.engine.inbox.bytes.capacity() <= 2 * MESSAGE_BYTES_MAX);
    assert_eq!(
        client.ask(&mut server, &get(b"key")).len(),
        1,
        "the session goes on"
    );
}

#[test]
fn a_long_value_of_nobody_is_not_put_together() {
    let mut server = Server::new();
    let mut client = Client::eager(&mut server);
    let mut wrong = client.grant.clone();
    wrong.key ^= 1;
    client.port.bind(client.peer, wrong.session, wrong.key);
    let value = vec![b'v'; 4 * MESSAGE_BYTES_MAX];
    client.send_large(&head(Opcode::Set, b"key", 0, value.len()), value);
    server.run();
    assert_eq!(server.figure("unattributed"), 1);
    assert!(server.engine.inbox.bytes.capacity() <= 2 * MESSAGE_BYTES_MAX);
}
