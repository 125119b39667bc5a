//! What is there after servers were killed.

use crate::{Fleet, WAYS, assert_all, set_all, values};
use farcache_client::{Client, ClientConfig, Error, Transport};

/// Policies with their servers, and how many of them may be lost.
const POLICIES: [(&str, usize, usize); 2] = [("replicate:3", 3, 2), ("ec:3,2", 5, 2)];

#[test]
fn every_value_survives_as_many_kills_as_its_policy_allows() {
    for transport in WAYS {
        for (policy, servers, losses) in POLICIES {
            let mut fleet = Fleet::start(servers);
            let client = fleet.client(policy, transport);
            set_all(&client, 1);
            assert_all(&client, 1, "healthy");
            for lost in 0..losses {
                fleet.kill(lost);
                assert_all(&client, 1, "with the client that wrote");
            }
            assert_all(&fleet.client(policy, transport), 1, "with a new client");
        }
    }
}

/// Whoever writes goes on while enough servers are left, and what was written then survives.
#[test]
fn values_are_written_while_a_server_is_away() {
    for (policy, servers, _) in POLICIES {
        let mut fleet = Fleet::start(servers);
        let client = fleet.client(policy, Transport::Tcp);
        set_all(&client, 1);
        fleet.kill(0);
        set_all(&client, 2);
        assert_all(&client, 2, "while one is away");
        // It comes back with nothing, and does not make anybody miss anything.
        fleet.start_again(0);
        assert_all(&client, 2, "when it is back");
        assert_all(
            &fleet.client(policy, Transport::Tcp),
            2,
            "with a new client",
        );
    }
}

/// The server that was away comes back with what it had on its device: the values from before.
#[test]
fn an_overwritten_value_never_shows_again() {
    for (policy, servers, _) in POLICIES {
        let mut fleet = Fleet::with_disks(servers);
        let client = fleet.client(policy, Transport::Tcp);
        for away in 0..servers {
            let generation = 2 * away as u8;
            set_all(&client, generation);
            fleet.kill(away);
            set_all(&client, generation + 1);
            fleet.start_again(away);
            // Read anew, so that nothing known to the writer helps.
            let reader = fleet.client(policy, Transport::Tcp);
            assert_all(&reader, generation + 1, "when it is back");
            // Reading has brought the server up to date: another one may go.
            let next = (away + 1) % servers;
            fleet.kill(next);
            assert_all(&reader, generation + 1, "when another one has gone");
            fleet.start_again(next);
        }
    }
}

#[test]
fn what_was_deleted_while_a_server_was_away_stays_deleted() {
    for (policy, servers, _) in POLICIES {
        let mut fleet = Fleet::with_disks(servers);
        let client = fleet.client(policy, Transport::Tcp);
        for away in 0..servers {
            set_all(&client, away as u8);
            fleet.kill(away);
            for (key, _) in values(0) {
                assert_eq!(client.delete(&key), Ok(()), "{policy}, {key}");
                assert_eq!(client.delete(&key), Err(Error::NotFound), "{policy}, {key}");
            }
            fleet.start_again(away);
            let reader = fleet.client(policy, Transport::Tcp);
            for (key, _) in values(0) {
                assert_eq!(
                    reader.get(&key),
                    Ok(None),
                    "{policy}, {key}, {away} was away"
                );
                assert_eq!(
                    client.get(&key),
                    Ok(None),
                    "{policy}, {key}, {away} was away"
                );
            }
        }
        set_all(&client, 9);
        assert_all(&client, 9, "stored again");
    }
}

#[test]
fn flags_and_tokens_come_back() {
    let fleet = Fleet::start(5);
    let client = fleet.client("ec:3,2", Transport::Tcp);
    for value in [vec![1; 10], vec![2; 100_000]] {
        let store = farcache_client::Store {
            flags: 0xdead_beef,
            expiry_s: 1000,
            ..farcache_client::Store::set(b"key", &value)
        };
        let cas = client.store(store).expect("stored");
        let item = client.get("key").expect("an answer").expect("an item");
        assert!(item.value == value && (item.flags, item.cas) == (0xdead_beef, cas));
    }
}

/// Two writers at a time, each by its own clock: readers see one of the values, whole, and both
/// writers' last word is found in the end.
#[test]
fn concurrent_writers_leave_whole_values() {
    let fleet = Fleet::start(5);
    let writer = |byte: u8| {
        let client = fleet.client("ec:3,2", Transport::Tcp);
        move || {
            for round in 0..40_usize {
                let value = vec![byte; 40_000 + round];
                client.set("key", value, 0).expect("stored");
                let item = client.get("key").expect("an answer").expect("an item");
                let first = item.value[0];
                assert!(
                    item.value.iter().all(|other| *other == first),
                    "two writes in one value"
                );
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(writer(1));
        scope.spawn(writer(2));
    });
}

/// Too many servers have lost what they had. Nobody waits for it: the patience here is a minute.
#[test]
fn what_too_many_servers_have_lost_is_a_miss_or_an_error_at_once() {
    let mut fleet = Fleet::start(5);
    let client = fleet.client("ec:3,2", Transport::Tcp);
    set_all(&client, 1);
    for lost in 0..3 {
        fleet.kill(lost);
    }
    let is_refused = |error: &Error| matches!(error, Error::Connect(_));
    for (key, _) in values(1) {
        let got = client.get(&key);
        assert!(got.as_ref().is_err_and(is_refused), "{key}: {got:?}");
    }
    for lost in 0..3 {
        fleet.start_again(lost);
    }
    for (key, _) in values(1) {
        assert_eq!(client.get(&key), Ok(None), "{key}");
    }
    set_all(&client, 2);
    assert_all(&client, 2, "stored again");
}

/// A client that leaves out servers that were down a moment ago looks at them before it says that
/// there is nothing.
#[test]
fn what_only_a_server_has_that_was_down_a_moment_ago_is_found() {
    let mut fleet = Fleet::start(3);
    let client = fleet.client("replicate:3", Transport::Tcp);
    let other = fleet.client("replicate:3", Transport::Tcp);
    set_all(&client, 1);
    fleet.kill(0);
    assert_all(&client, 1, "without the first");
    fleet.start_again(0);
    set_all(&other, 2);
    for lost in 1..3 {
        fleet.kill(lost);
        fleet.start_again(lost);
    }
    assert_all(&client, 2, "at the first alone");
}

/// What a server has of a key, as one sees it who knows of no other servers.
fn stored_bytes(fleet: &Fleet, server: usize, key: &str) -> usize {
    let config = ClientConfig::new(&fleet.servers[server].address()).expect("an address");
    let client = Client::new(&config).expect("a client");
    let item = client.get(key).expect("an answer").expect("an item");
    item.value.len()
}

/// A small value takes memory at as many servers as may be lost, and one more.
#[test]
fn small_values_have_their_bytes_at_three_of_five_servers() {
    let fleet = Fleet::start(5);
    let client = fleet.client("ec:3,2", Transport::Tcp);
    for key in ["a", "b", "c", "d"] {
        client.set(key, vec![7; 1_000], 0).expect("stored");
        let mut stored: Vec<_> = (0..5).map(|one| stored_bytes(&fleet, one, key)).collect();
        stored.sort_unstable();
        assert_eq!(stored, [32, 32, 1_032, 1_032, 1_032], "{key}");
    }
}
