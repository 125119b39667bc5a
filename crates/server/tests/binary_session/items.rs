//! Storing, reading, counting and removing items.

use crate::client::{Client, Server, bare, keyed, packet, set};
use farcache_proto::binary::{ArithmeticExtras, NO_CREATE, Opcode, Status};
use farcache_server::settings::Settings;

const NOT_FOUND: u16 = Status::NotFound as u16;
const EXISTS: u16 = Status::Exists as u16;
const NOT_STORED: u16 = Status::NotStored as u16;

fn start() -> (Server, Client) {
    (Server::new(Settings::default()), Client::new())
}

/// The status of the one response.
fn status(client: &mut Client, server: &mut Server, request: &[u8]) -> u16 {
    let responses = client.send(server, request);
    assert_eq!(responses.len(), 1);
    assert_eq!(responses[0].header.opaque, 0x0102_0304);
    responses[0].status()
}

#[test]
fn a_stored_value_comes_back_with_flags_token_and_key() {
    let (mut server, mut client) = start();
    let stored = client.send(&mut server, &set(Opcode::Set, b"k", b"value", 0));
    let cas = stored[0].header.cas;
    assert_ne!(cas, 0);
    let found = &client.send(&mut server, &keyed(Opcode::GetK, b"k"))[0];
    assert_eq!(
        (found.header.cas, &found.extras[..]),
        (cas, &[0, 0, 0, 7][..])
    );
    assert_eq!(
        (&found.key[..], &found.value[..]),
        (&b"k"[..], &b"value"[..])
    );
    assert!(
        client.send(&mut server, &keyed(Opcode::Get, b"k"))[0]
            .key
            .is_empty()
    );
}

#[test]
fn quiet_gets_answer_hits_only_and_in_order() {
    let (mut server, mut client) = start();
    let mut requests = Vec::new();
    for number in 0..100 {
        let key = format!("k{number}");
        requests.extend(set(Opcode::SetQ, key.as_bytes(), key.as_bytes(), 0));
    }
    for number in (0..200).step_by(2) {
        requests.extend(keyed(Opcode::GetKQ, format!("k{number}").as_bytes()));
    }
    requests.extend(keyed(Opcode::GetK, b"absent"));
    requests.extend(bare(Opcode::Noop));
    let responses = client.send(&mut server, &requests);
    let keys: Vec<_> = responses
        .iter()
        .map(|response| response.key.clone())
        .collect();
    let mut expected: Vec<_> = (0..100)
        .step_by(2)
        .map(|number| format!("k{number}").into_bytes())
        .collect();
    expected.extend([b"absent".to_vec(), Vec::new()]);
    assert_eq!(keys, expected);
    assert_eq!(responses[50].status(), NOT_FOUND);
    assert!(responses[50].value.is_empty());
}

#[test]
fn add_replace_append_and_prepend_keep_their_conditions() {
    let (mut server, mut client) = start();
    let mut ask = |request: &[u8]| status(&mut client, &mut server, request);
    assert_eq!(ask(&set(Opcode::Replace, b"k", b"x", 0)), NOT_FOUND);
    assert_eq!(ask(&packet(Opcode::Append, &[], b"k", b"x", 0)), NOT_STORED);
    assert_eq!(ask(&set(Opcode::Add, b"k", b"b", 0)), 0);
    assert_eq!(ask(&set(Opcode::Add, b"k", b"x", 0)), EXISTS);
    assert_eq!(ask(&packet(Opcode::Append, &[], b"k", b"c", 0)), 0);
    assert_eq!(ask(&packet(Opcode::Prepend, &[], b"k", b"a", 0)), 0);
    assert_eq!(
        client.send(&mut server, &keyed(Opcode::Get, b"k"))[0].text(),
        "abc"
    );
}

#[test]
fn a_token_must_be_the_items() {
    let (mut server, mut client) = start();
    let cas = client.send(&mut server, &set(Opcode::Set, b"k", b"1", 0))[0]
        .header
        .cas;
    assert_eq!(
        status(
            &mut client,
            &mut server,
            &set(Opcode::Set, b"k", b"2", cas + 1)
        ),
        EXISTS
    );
    assert_eq!(
        status(
            &mut client,
            &mut server,
            &set(Opcode::Set, b"absent", b"2", cas)
        ),
        NOT_FOUND
    );
    assert_eq!(
        status(&mut client, &mut server, &set(Opcode::Add, b"k", b"2", cas)),
        0
    );
    let stale = packet(Opcode::Delete, &[], b"k", &[], cas);
    assert_eq!(status(&mut client, &mut server, &stale), EXISTS);
    let totals = server.totals();
    assert_eq!(
        (totals.cas_hits, totals.cas_badval, totals.cas_misses),
        (1, 1, 1)
    );
}

#[test]
fn numbers_are_created_only_where_that_is_asked_for() {
    let (mut server, mut client) = start();
    let extras = |delta, initial, expiration| {
        ArithmeticExtras {
            delta,
            initial,
            expiration,
        }
        .encode()
    };
    let mut ask = |opcode, extras: [u8; 20]| {
        let response = client
            .send(&mut server, &packet(opcode, &extras, b"n", &[], 0))
            .remove(0);
        (
            response.status(),
            response.value.try_into().map(u64::from_be_bytes).ok(),
        )
    };
    assert_eq!(ask(Opcode::Increment, extras(1, 5, NO_CREATE)).0, NOT_FOUND);
    assert_eq!(ask(Opcode::Increment, extras(1, 5, 0)), (0, Some(5)));
    assert_eq!(ask(Opcode::Increment, extras(3, 5, 0)), (0, Some(8)));
    assert_eq!(ask(Opcode::Decrement, extras(100, 5, 0)), (0, Some(0)));
    client.send(&mut server, &set(Opcode::Set, b"n", b"no number", 0));
    let request = packet(Opcode::Increment, &extras(1, 0, 0), b"n", &[], 0);
    assert_eq!(
        status(&mut client, &mut server, &request),
        Status::NotNumeric as u16
    );
}

#[test]
fn touched_items_live_longer() {
    let (mut server, mut client) = start();
    let soon = [0, 0, 0, 10];
    client.send(&mut server, &set(Opcode::Set, b"k", b"value", 0));
    for opcode in [Opcode::Touch, Opcode::Gat, Opcode::GatK] {
        let found = &client.send(&mut server, &packet(opcode, &soon, b"k", &[], 0))[0];
        assert_eq!(
            (found.status(), &found.extras[..]),
            (0, &[0, 0, 0, 7][..]),
            "{opcode:?}"
        );
        assert_eq!(found.value.is_empty(), opcode == Opcode::Touch);
        assert_eq!(found.key.is_empty(), opcode != Opcode::GatK);
        server.sleep(9);
    }
    server.sleep(1);
    assert_eq!(
        status(
            &mut client,
            &mut server,
            &packet(Opcode::Gat, &soon, b"k", &[], 0)
        ),
        NOT_FOUND
    );
    assert!(
        client
            .send(&mut server, &packet(Opcode::GatKQ, &soon, b"k", &[], 0))
            .is_empty()
    );
}

#[test]
fn flush_drops_everything_now_or_later() {
    let (mut server, mut client) = start();
    client.send(&mut server, &set(Opcode::Set, b"k", b"1", 0));
    assert_eq!(
        status(
            &mut client,
            &mut server,
            &packet(Opcode::Flush, &[0, 0, 0, 5], &[], &[], 0)
        ),
        0
    );
    assert_eq!(
        status(&mut client, &mut server, &keyed(Opcode::Get, b"k")),
        0
    );
    server.sleep(6);
    assert_eq!(
        status(&mut client, &mut server, &keyed(Opcode::Get, b"k")),
        NOT_FOUND
    );
    client.send(&mut server, &set(Opcode::Set, b"k", b"1", 0));
    assert!(client.send(&mut server, &bare(Opcode::FlushQ)).is_empty());
    assert_eq!(
        status(&mut client, &mut server, &keyed(Opcode::Get, b"k")),
        NOT_FOUND
    );
}

#[test]
fn without_cas_no_token_is_shown_or_asked_for() {
    let mut server = Server::new(Settings {
        cas: false,
        ..Settings::default()
    });
    let mut client = Client::new();
    for request in [
        set(Opcode::Set, b"k", b"1", 0),
        set(Opcode::Set, b"k", b"2", 99),
        keyed(Opcode::Get, b"k"),
    ] {
        let response = &client.send(&mut server, &request)[0];
        assert_eq!((response.status(), response.header.cas), (0, 0));
    }
}
