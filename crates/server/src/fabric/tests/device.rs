//! Requests that need an item on the SSD.

use super::Server;
use super::client::{Client, Response, get, head, packet, set};
use crate::settings::{DeviceSettings, Settings};
use farcache_proto::binary::{Opcode, Status};
use farcache_store::{
    Device, Durability, FaultyDevice, SetOptions, Store, StoreConfig, TierConfig,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a device may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);
const FILLER: [u8; 4000] = [b'f'; 4000];
const LARGE_BYTES: usize = 100_000;

/// A server with a tier in memory, and a client.
fn tiered(durability: Durability) -> (Server, Client) {
    let (server, client, _) = failing(durability);
    (server, client)
}

/// A server with a tier in memory, a client, and the device under the tier.
fn failing(durability: Durability) -> (Server, Client, Arc<FaultyDevice>) {
    let device = Arc::new(FaultyDevice::new(64 << 20));
    let config = StoreConfig {
        memory_bytes: 4 << 20,
        segment_bytes: 64 << 10,
        ..StoreConfig::default()
    };
    let tier = TierConfig {
        durability,
        read_buffer_bytes: 1 << 20,
        ..TierConfig::new(vec![Arc::clone(&device) as Arc<dyn Device>])
    };
    let store = Store::open(config, tier).expect("a store");
    let settings = Settings {
        durability,
        devices: vec![DeviceSettings {
            path: PathBuf::new(),
            bytes: None,
        }],
        ..Settings::default()
    };
    let mut server = Server::over(settings, store);
    let client = server.client();
    (server, client, device)
}

/// Moves what is in memory to the device.
fn spill(server: &Server) {
    for number in 0..3000 {
        let key = format!("filler-{number}");
        let stored = server
            .resources
            .store
            .set(key.as_bytes(), &FILLER, &SetOptions::default());
        stored.expect("room");
    }
    let store = &server.shared.store;
    assert!(store.sync_tier(PATIENCE), "the device does not catch up");
}

/// What a worker does about its devices.
fn poll_devices(server: &mut Server) {
    let mut done = Vec::new();
    server.resources.store.poll_reads(&mut done);
    for id in done {
        server.engine.on_reads_ended(id, &mut server.resources);
    }
    server.engine.on_durable(&server.resources);
}

/// Waits for so many responses.
fn await_responses(server: &mut Server, client: &mut Client, count: usize) -> Vec<Response> {
    let deadline = Instant::now() + PATIENCE;
    let mut responses = Vec::new();
    while responses.len() < count {
        assert!(Instant::now() < deadline, "waited too long");
        poll_devices(server);
        responses.extend(client.answers(server));
    }
    responses
}

#[test]
fn one_that_waits_holds_up_no_other() {
    let (mut server, mut client) = tiered(Durability::Writeback);
    client.ask_one(&mut server, &set(b"cold", b"value"));
    spill(&server);
    client.ask_one(&mut server, &set(b"hot", b"warm"));
    client.send(&get(b"cold"));
    client.send(&get(b"hot"));
    let first = client.answers(&mut server);
    assert_eq!(first.len(), 1, "the other waits");
    assert_eq!(first[0].value, b"warm");
    let second = await_responses(&mut server, &mut client, 1);
    assert_eq!(second[0].value, b"value");
    assert!(!server.engine.has_parked());
}

#[test]
fn large_values_come_from_the_device_and_are_joined_to_what_lies_there() {
    let (mut server, mut client) = tiered(Durability::Writeback);
    let large = vec![b'l'; LARGE_BYTES];
    for key in [&b"first"[..], b"second", b"third"] {
        client.send_large(&head(Opcode::Set, key, 0, large.len()), large.clone());
        await_responses(&mut server, &mut client, 1);
    }
    client.ask_one(&mut server, &set(b"short", b"begin-"));
    spill(&server);
    client.send(&get(b"first"));
    let found = await_responses(&mut server, &mut client, 1);
    assert!(found[0].value == large);
    let append = head(Opcode::Append, b"short", 0, large.len());
    client.send_large(&append, large.clone());
    let appended = await_responses(&mut server, &mut client, 1);
    assert!(appended[0].is(Status::Success), "{:?}", appended[0].status);
    client.send(&get(b"short"));
    let found = await_responses(&mut server, &mut client, 1);
    assert!(found[0].value == [&b"begin-"[..], &large].concat());
}

#[test]
fn a_session_that_ends_while_it_waits_leaves_nothing() {
    let (mut server, mut client) = tiered(Durability::Writeback);
    client.ask_one(&mut server, &set(b"cold", b"value"));
    spill(&server);
    client.send(&get(b"cold"));
    server.run();
    assert!(server.engine.has_parked());
    client.send(&packet(Opcode::Quit, b"", b""));
    server.run();
    let deadline = Instant::now() + PATIENCE;
    while server.engine.has_parked() {
        assert!(Instant::now() < deadline, "waited too long");
        poll_devices(&mut server);
    }
    assert_eq!(server.resources.store.reads_in_flight(), 0);
}

#[test]
fn values_that_come_alone_wait_for_room_like_any_other() {
    let (mut server, mut client) = tiered(Durability::Writeback);
    let key = |number: u32| format!("key-{number}").into_bytes();
    let value = |number: u32| [&number.to_be_bytes()[..], &FILLER].concat();
    // Three times as much as there is memory for, as fast as it goes: some have to wait for the
    // device.
    for number in 0..3000 {
        client.send(&set(&key(number), &value(number)));
        let stored = await_responses(&mut server, &mut client, 1);
        assert!(stored[0].is(Status::Success), "{number}");
    }
    assert!(server.figure("stores_solo") > 0);
    for number in (0..3000).step_by(7) {
        client.send(&get(&key(number)));
        let found = await_responses(&mut server, &mut client, 1);
        assert!(found[0].value == value(number), "{number}");
    }
}

#[test]
fn answers_to_changes_wait_until_these_are_durable() {
    let (mut server, mut client) = tiered(Durability::Sync);
    client.send(&set(b"key", b"value"));
    let stored = await_responses(&mut server, &mut client, 1);
    assert!(stored[0].is(Status::Success));
    client.send(&set(b"key", b"newer"));
    let stored = await_responses(&mut server, &mut client, 1);
    assert!(stored[0].is(Status::Success));
    assert_eq!(server.figure("stores_solo"), 0);
    let mark = server.resources.store.durable_mark();
    assert!(
        server
            .shared
            .store
            .tier_stats()
            .expect("a tier")
            .segments_written
            > 0
    );
    let deadline = Instant::now() + PATIENCE;
    while !server.resources.store.is_durable(mark) {
        assert!(Instant::now() < deadline, "waited too long");
        std::thread::yield_now();
    }
}

#[test]
fn what_never_becomes_durable_is_answered_with_an_error_and_not_shown() {
    let (mut server, mut client, device) = failing(Durability::Sync);
    for key in [&b"kept"[..], b"changed", b"deleted"] {
        client.send(&set(key, b"old"));
        let stored = await_responses(&mut server, &mut client, 1);
        assert!(stored[0].is(Status::Success));
    }
    device.set_gone(true);
    let large = vec![b'l'; LARGE_BYTES];
    // The first finds the device gone; the others come when that is known.
    for _ in 0..2 {
        client.send(&set(b"changed", b"new"));
        client.send(&packet(Opcode::DeleteQ, b"deleted", b""));
        client.send_large(&head(Opcode::Set, b"large", 0, large.len()), large.clone());
        let answers = await_responses(&mut server, &mut client, 3);
        let all = answers.iter().all(|answer| answer.is(Status::NotDurable));
        assert!(all, "{answers:?}");
    }
    for key in [&b"changed"[..], b"deleted", b"large"] {
        let answer = client.ask_one(&mut server, &get(key));
        assert!(answer.is(Status::NotFound), "{:?}", answer.status);
    }
    assert_eq!(client.ask_one(&mut server, &get(b"kept")).value, b"old");
}

#[test]
fn clients_that_take_nothing_do_not_keep_the_memory_for_reads() {
    let (mut server, mut other) = tiered(Durability::Writeback);
    let large = vec![b'l'; LARGE_BYTES];
    let key = |number: usize| format!("cold-{number}").into_bytes();
    // The last ones stay in memory.
    for number in 0..32 {
        other.send_large(
            &head(Opcode::Set, &key(number), 0, large.len()),
            large.clone(),
        );
        await_responses(&mut server, &mut other, 1);
    }
    spill(&server);
    let mut stalled: Vec<Client> = (0..15).map(|_| server.client()).collect();
    for (number, client) in stalled.iter_mut().enumerate() {
        client.send(&get(&key(1 + number)));
    }
    // All of the memory for reads is theirs once some of them wait for it.
    let deadline = Instant::now() + PATIENCE;
    while !server.resources.store.is_read_memory_short()
        || server.resources.store.reads_in_flight() > 15 - 8
    {
        assert!(Instant::now() < deadline, "waited too long");
        server.run();
        poll_devices(&mut server);
    }
    other.send(&get(&key(0)));
    let mut found = Vec::new();
    while found.is_empty() {
        assert!(Instant::now() < deadline, "it waits for ever");
        server.await_stalls();
        poll_devices(&mut server);
        found = other.answers(&mut server);
    }
    assert!(found[0].value == large);
    assert!(server.figure("sessions_stalled") >= 1);
}
