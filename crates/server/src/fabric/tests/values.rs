//! Values that move by themselves.

use super::client::{Client, Received, get, head, packet, set};
use super::{EAGER_BYTES_MAX, Server};
use crate::settings::Settings;
use farcache_proto::binary::{Opcode, Status};
use farcache_store::StoreConfig;

/// Larger than what is copied into a message.
const LARGE_BYTES: usize = 100_000;

fn value(seed: u8) -> Vec<u8> {
    (0..LARGE_BYTES)
        .map(|place| (place as u8).wrapping_mul(seed))
        .collect()
}

/// Sends a value by offering it; the answer.
fn store(
    server: &mut Server,
    client: &mut Client,
    opcode: Opcode,
    cas: u64,
    value: Vec<u8>,
) -> super::client::Response {
    client.send_large(&head(opcode, b"key", cas, value.len()), value);
    let [answer] = &client.answers(server)[..] else {
        panic!("not one answer");
    };
    answer.clone()
}

#[test]
fn a_large_value_goes_there_and_back() {
    let mut server = Server::new();
    let mut client = server.client();
    assert!(store(&mut server, &mut client, Opcode::Set, 0, value(3)).is(Status::Success));
    assert_eq!(server.figure("rendezvous_in_total"), 1);
    assert_eq!(client.ask_one(&mut server, &get(b"key")).value, value(3));
    assert_eq!(server.figure("rendezvous_out_total"), 1);
    assert_eq!(client.credits, 2);
    drop(client);
    server.assert_clean();
}

#[test]
fn a_value_is_pinned_while_it_is_on_its_way() {
    let mut server = Server::new();
    let mut client = server.client();
    store(&mut server, &mut client, Opcode::Set, 0, value(3));
    client.send(&get(b"key"));
    server.run();
    assert_eq!(server.figure("rendezvous_out"), 1);
    assert_eq!(server.shared.store.stats().values_pinned, 1);
    // It is replaced meanwhile: the reader still gets what it asked for.
    let mut other = server.client();
    other.ask(&mut server, &set(b"key", b"new"));
    assert_eq!(client.answers(&mut server)[0].value, value(3));
    assert_eq!(server.figure("rendezvous_out"), 0);
    assert_eq!(server.shared.store.stats().values_pinned, 0);
}

#[test]
fn small_answers_beside_large_ones_keep_their_numbers() {
    let mut server = Server::new();
    let mut client = server.client();
    store(&mut server, &mut client, Opcode::Set, 0, value(5));
    client.ask(&mut server, &set(b"small", b"s"));
    let request = [
        get(b"small"),
        get(b"key"),
        get(b"none"),
        get(b"key"),
        get(b"small"),
    ]
    .concat();
    let answers = client.ask(&mut server, &request);
    let large = answers
        .iter()
        .filter(|answer| answer.value == value(5))
        .count();
    let small = answers.iter().filter(|answer| answer.value == b"s").count();
    assert_eq!((answers.len(), large, small), (5, 2, 2));
    assert_eq!(client.credits, 3);
}

#[test]
fn every_way_to_store_obeys_its_condition() {
    let mut server = Server::new();
    let mut client = server.client();
    let (server, client) = (&mut server, &mut client);
    assert!(store(server, client, Opcode::Replace, 0, value(1)).is(Status::NotFound));
    assert!(store(server, client, Opcode::Append, 0, value(1)).is(Status::NotStored));
    let stored = store(server, client, Opcode::Add, 0, value(2));
    assert!(stored.is(Status::Success));
    assert!(store(server, client, Opcode::Add, 0, value(3)).is(Status::Exists));
    assert!(store(server, client, Opcode::Set, stored.cas + 1, value(4)).is(Status::Exists));
    assert_eq!(client.ask_one(server, &get(b"key")).value, value(2));
    assert!(store(server, client, Opcode::Set, stored.cas, value(5)).is(Status::Success));
    assert!(store(server, client, Opcode::Replace, 0, value(6)).is(Status::Success));
    assert!(store(server, client, Opcode::Append, 0, value(7)).is(Status::Success));
    assert!(store(server, client, Opcode::Prepend, 0, value(8)).is(Status::Success));
    let joined = [value(8), value(6), value(7)].concat();
    assert_eq!(client.ask_one(server, &get(b"key")).value, joined);
}

#[test]
fn a_value_that_travels_with_its_message_is_stored_too() {
    let mut server = Server::new();
    let mut client = server.client();
    let value = vec![b'v'; EAGER_BYTES_MAX];
    client.send_large(&head(Opcode::Set, b"key", 0, value.len()), value.clone());
    assert!(client.answers(&mut server)[0].is(Status::Success));
    assert_eq!(server.figure("rendezvous_in_total"), 0);
    assert_eq!(client.ask_one(&mut server, &get(b"key")).value, value);
}

#[test]
fn quiet_stores_of_large_values_give_their_credit_back() {
    let mut server = Server::new();
    let mut client = server.client();
    client.send_large(&head(Opcode::SetQ, b"key", 0, LARGE_BYTES), value(3));
    assert_eq!(client.answers(&mut server), []);
    assert_eq!(client.credits, 1);
}

#[test]
fn too_large_a_value_is_refused_and_the_old_one_goes() {
    let settings = Settings {
        item_bytes_max: 50_000,
        ..Settings::default()
    };
    let config = StoreConfig {
        item_bytes_max: 50_000,
        ..StoreConfig::default()
    };
    let mut server = Server::with(settings, config);
    let mut client = server.client();
    client.ask(&mut server, &set(b"key", b"old"));
    assert!(store(&mut server, &mut client, Opcode::Set, 0, value(3)).is(Status::TooLarge));
    assert_eq!(server.figure("rendezvous_in_refused"), 1);
    assert!(
        client
            .ask_one(&mut server, &get(b"key"))
            .is(Status::NotFound)
    );
    assert_eq!(client.credits, 3);
}

#[test]
fn values_that_arrive_take_half_of_the_memory_at_most() {
    let config = StoreConfig {
        memory_bytes: 8 << 20,
        ..StoreConfig::default()
    };
    let mut server = Server::with(Settings::default(), config);
    let mut client = server.client();
    let bytes = 1_000_000;
    server.network.inject(hold_bodies());
    for number in 0..6_u8 {
        let head = head(Opcode::Set, &[b'k', number], 0, bytes);
        client.send_large(&head, vec![number; bytes]);
    }
    server.run();
    let refused: Vec<Received> = client.receive();
    let answers = refused.iter().filter(|one| {
        matches!(one, Received::Responses(all) if all.iter().all(|r| r.is(Status::OutOfMemory)))
    });
    assert!(answers.count() > 0, "{refused:?}");
    assert_eq!(server.figure("rendezvous_in"), 4);
    server.network.heal();
    server.network.release();
    assert_eq!(client.answers(&mut server).len(), 4);
    drop(client);
    server.assert_clean();
}

fn hold_bodies() -> farcache_fabric::memory::Rule {
    farcache_fabric::memory::Rule::all(farcache_fabric::memory::Action::HoldBody)
}

#[test]
fn what_is_no_value_to_store_ends_the_session() {
    let large = LARGE_BYTES;
    let mut get_with_value = head(Opcode::Get, b"key", 0, large);
    let no_key = head(Opcode::Set, b"", 0, large);
    let wrong_length = head(Opcode::Set, b"key", 0, large + 1);
    let two = [
        packet(Opcode::Noop, b"", b""),
        head(Opcode::Set, b"key", 0, large),
    ]
    .concat();
    let mut response = head(Opcode::Set, b"key", 0, large);
    response[0] = 0x81;
    let unknown = {
        get_with_value[1] = 0x77;
        get_with_value.clone()
    };
    get_with_value[1] = Opcode::Get as u8;
    let cases = [
        get_with_value,
        no_key,
        wrong_length,
        two,
        response,
        unknown,
        Vec::new(),
    ];
    for (number, head) in cases.into_iter().enumerate() {
        let mut server = Server::new();
        let mut client = server.client();
        client.send_large(&head, value(3));
        server.run();
        let received = client.receive();
        let is_told = received
            .iter()
            .any(|one| matches!(one, Received::Goodbye(_)));
        assert!(is_told, "{number}: {received:?}");
        assert_eq!(server.figure("malformed"), 1, "{number}");
        server.assert_clean();
        assert_eq!(server.ended_life_lines(), 1);
    }
}
