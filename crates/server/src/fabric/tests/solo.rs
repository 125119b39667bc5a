//! Requests that come alone are answered where they lie, unless that would overtake something.

use super::Server;
use super::client::{Client, Received, get, head, packet, set};
use crate::settings::Settings;
use farcache_fabric::Port;
use farcache_proto::binary::{Opcode, Status};
use farcache_store::StoreConfig;

/// A client whose last message came alone, and stored a value on the solo path, which is open.
fn with_lane(server: &mut Server) -> Client {
    let mut client = server.client();
    assert!(
        client
            .ask_one(server, &set(b"key", b"value"))
            .is(Status::Success)
    );
    client
}

#[test]
fn a_get_that_comes_alone_is_answered_like_any_other() {
    let mut server = Server::new();
    let mut client = with_lane(&mut server);
    let before = server.figure("messages_in");
    assert_eq!(client.ask_one(&mut server, &get(b"key")).value, b"value");
    let missed = client.ask_one(&mut server, &get(b"other"));
    assert!(missed.is(Status::NotFound));
    assert_eq!(server.figure("gets_solo"), 2);
    assert_eq!(server.figure("messages_in"), before + 2);
    let totals = server.shared.totals();
    assert_eq!((totals.get_hits, totals.get_misses), (1, 1));
    assert_eq!(client.credits, 3);
}

/// A packet that stores `value`, whatever there is with another token.
fn storing(opcode: Opcode, key: &[u8], cas: u64, value: &[u8]) -> Vec<u8> {
    [&head(opcode, key, cas, value.len()), value].concat()
}

#[test]
fn a_value_that_comes_alone_is_stored_like_any_other() {
    let mut server = Server::new();
    let mut client = with_lane(&mut server);
    let first = client.ask_one(&mut server, &get(b"key"));
    for (opcode, key, cas, status) in [
        (Opcode::Set, &b"key"[..], 0, Status::Success),
        (Opcode::Set, b"key", first.cas, Status::Exists),
        (Opcode::Add, b"key", 0, Status::Exists),
        (Opcode::Add, b"new", 0, Status::Success),
        (Opcode::Replace, b"new", 0, Status::Success),
        (Opcode::Replace, b"other", 0, Status::NotFound),
    ] {
        let value = format!("{opcode:?}");
        let answer = client.ask_one(&mut server, &storing(opcode, key, cas, value.as_bytes()));
        assert!(answer.is(status), "{opcode:?} {cas}");
        assert_eq!(answer.cas != 0, status == Status::Success, "{opcode:?}");
    }
    assert_eq!(client.ask_one(&mut server, &get(b"key")).value, b"Set");
    assert_eq!(client.ask_one(&mut server, &get(b"new")).value, b"Replace");
    assert_eq!(server.figure("stores_solo"), 7);
    assert_eq!(server.figure("gets_solo"), 3);
    let totals = server.shared.totals();
    assert_eq!((totals.cmd_set, totals.cas_badval), (7, 1));
    assert_eq!(client.credits, 10);
}

#[test]
fn a_malformed_value_is_refused_like_any_other() {
    let mut server = Server::new();
    let no_key = storing(Opcode::Set, b"", 0, b"value");
    let mut no_extras = packet(Opcode::Append, b"key", b"value");
    no_extras[1] = Opcode::Set as u8;
    for malformed in [no_key, no_extras] {
        let mut client = with_lane(&mut server);
        let before = server.figure("stores_solo");
        client.send(&malformed);
        server.run();
        let received = client.receive();
        assert!(
            matches!(&received[..], [Received::Responses(answers), Received::Goodbye(_)]
                if answers[0].is(Status::InvalidArguments)),
            "{received:?}"
        );
        assert_eq!(server.figure("stores_solo"), before);
    }
}

#[test]
fn values_of_every_size_are_found() {
    let mut server = Server::new();
    let mut client = with_lane(&mut server);
    for bytes in [0, 64, 2048, 2049, 5000, 100_000] {
        let value = vec![b'v'; bytes];
        let stored =
            server
                .resources
                .store
                .set(b"key", &value, &farcache_store::SetOptions::default());
        stored.expect("room");
        assert!(client.ask_one(&mut server, &get(b"key")).value == value);
    }
    assert_eq!(server.figure("gets_solo"), 6);
    assert_eq!(client.credits, 7);
    drop(client);
    server.run();
    assert_eq!(server.shared.store.stats().values_pinned, 0);
}

#[test]
fn other_requests_go_the_usual_way() {
    let mut server = Server::new();
    let mut client = with_lane(&mut server);
    let together = [get(b"key"), get(b"key")].concat();
    assert_eq!(client.ask(&mut server, &together).len(), 2);
    let noop = packet(Opcode::Noop, b"", b"");
    assert!(client.ask_one(&mut server, &noop).is(Status::Success));
    let gat = packet(Opcode::GetK, b"key", b"");
    assert!(client.ask_one(&mut server, &gat).is(Status::Success));
    assert_eq!(server.figure("gets_solo"), 0);
}

#[test]
fn nothing_is_overtaken() {
    let settings = Settings {
        requests_per_event: 2,
        ..Settings::default()
    };
    let mut server = Server::with(settings, StoreConfig::default());
    let mut client = with_lane(&mut server);
    // More than one turn's worth, so that the rest waits.
    let sets: Vec<u8> = (0..9_u8)
        .flat_map(|number| set(b"key", &[number]))
        .collect();
    client.send(&sets);
    server.engine.turn(&mut server.resources);
    client.send(&get(b"key"));
    let answers = client.answers(&mut server);
    assert_eq!(answers.len(), 10);
    assert_eq!(answers[9].value, [8]);
    assert_eq!(server.figure("gets_solo"), 0);
}

#[test]
fn behind_another_message_it_waits_for_that() {
    let mut server = Server::new();
    let mut client = with_lane(&mut server);
    client.send(&packet(Opcode::Append, b"key", b"-new"));
    client.send(&get(b"key"));
    client.send(&set(b"key", b"newer"));
    server.run();
    let [Received::Responses(answers)] = &client.receive()[..] else {
        panic!("not one message");
    };
    assert_eq!(answers[1].value, b"value-new");
    assert!(answers[2].is(Status::Success));
    assert_eq!(server.figure("stores_solo"), 1);
    assert_eq!(server.figure("gets_solo"), 0);
}

#[test]
fn requests_that_came_together_are_answered_together() {
    let mut server = Server::new();
    let mut client = with_lane(&mut server);
    client.send(&get(b"key"));
    client.send(&set(b"key", b"new"));
    client.send(&get(b"key"));
    server.run();
    let [Received::Responses(answers)] = &client.receive()[..] else {
        panic!("not one message");
    };
    assert_eq!(answers[0].value, b"value");
    assert_eq!(answers[2].value, b"new");
    assert_eq!((server.figure("gets_solo"), client.credits), (2, 4));
    assert_eq!(server.figure("stores_solo"), 2);
}

#[test]
fn sessions_are_told_apart() {
    let mut server = Server::new();
    let mut first = with_lane(&mut server);
    let mut second = server.client();
    // The solo path is open, and only one of them can use it in this turn.
    let nothing = packet(Opcode::Noop, b"", b"");
    assert!(first.ask_one(&mut server, &nothing).is(Status::Success));
    first.send(&get(b"key"));
    second.send(&get(b"other"));
    server.run();
    for (client, status) in [
        (&mut first, Status::Success),
        (&mut second, Status::NotFound),
    ] {
        let [Received::Responses(answers)] = &client.receive()[..] else {
            panic!("not one message");
        };
        assert!(matches!(&answers[..], [one] if one.is(status)));
    }
    assert_eq!(server.figure("gets_solo"), 1);
}

#[test]
fn a_wrong_key_gets_nothing() {
    let mut server = Server::new();
    let mut client = with_lane(&mut server);
    let grant = client.grant.clone();
    client.port.bind(client.peer, grant.session, grant.key ^ 1);
    client.send(&get(b"key"));
    client.port.bind(client.peer, grant.session + 7, grant.key);
    client.send(&get(b"key"));
    server.run();
    assert_eq!(client.receive(), []);
    assert_eq!(server.figure("unattributed"), 2);
    assert_eq!(server.figure("gets_solo"), 0);
}
