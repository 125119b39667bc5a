//! What one placement has stored, each of them reads.

use crate::fleet::{Fleet, Keeps};
use crate::support::wait_for;
use crate::{clients, clients_over, told, value};
use farcache_client::{Client, Error, Transport};

const LENGTHS: [usize; 8] = [0, 1, 100, 4_095, 4_096, 32_768, 100_001, 700_000];

/// Has a reader get a key until this is what it gets: at once, but for copies that follow an
/// acknowledged one.
fn assert_got(ways: &str, (reader, key): (&Client, &str), wanted: Option<(&[u8], u64)>) {
    wait_for(key, || {
        let item = reader
            .get(key)
            .unwrap_or_else(|error| panic!("{ways}, {key}: {error}"));
        let got = item.as_ref().map(|item| (&item.value[..], item.cas));
        let is_it = got == wanted;
        let cas = |it: Option<(&[u8], u64)>| it.map(|(value, cas)| (value.len(), cas));
        let told = (cas(got), cas(wanted));
        assert!(is_it || ways.contains("async"), "{ways}, {key}: {told:?}");
        is_it.then_some(())
    });
}

#[test]
fn what_one_placement_has_stored_each_of_them_reads() {
    for (policy, servers) in [("ec:3,2", 5), ("replicate:3", 4), ("replicate:3,async", 3)] {
        let fleet = Fleet::start(servers, Keeps::Nothing, &[]);
        let clients = clients(&fleet, policy);
        assert_same(&fleet, (policy, servers), &clients);
    }
}

/// Half of the clients come over the fabric, so that messages and connections wait for plans.
#[test]
fn placements_are_the_same_over_the_fabric() {
    let (policy, servers) = ("ec:3,2", 5);
    let fleet = Fleet::start(servers, Keeps::Nothing, &["--fabric", "auto"]);
    let mut clients = clients_over(Transport::Fabric, &fleet, policy);
    assert_same(&fleet, (policy, servers), &clients);
    clients.truncate(3);
    clients.extend(crate::clients(&fleet, policy).pop());
    assert_same(&fleet, (policy, servers), &clients);
}

fn assert_same(fleet: &Fleet, (policy, servers): (&str, usize), clients: &[(String, Client)]) {
    let told = |name| told(fleet, 0..servers, name);
    let (stores, reads) = (told("coding_stores"), told("coding_reads"));
    assert_written_values_are_read(policy, clients);
    assert_deleted_values_are_gone(policy, clients);
    let (stores, reads) = (told("coding_stores") - stores, told("coding_reads") - reads);
    let times = LENGTHS.len() as u64;
    assert_eq!(
        stores,
        2 * times,
        "{policy}: half of the writes were coded by servers"
    );
    assert!(reads >= 8 * times, "{policy}: {reads} reads by servers");
    for name in [
        "coding_stores_refused",
        "coding_stores_in_doubt",
        "coding_reads_undecided",
    ] {
        assert_eq!(told(name), 0, "{policy}: {name}");
    }
}

fn assert_written_values_are_read(policy: &str, clients: &[(String, Client)]) {
    for (seed, (writer_name, writer)) in clients.iter().enumerate() {
        for (number, bytes) in LENGTHS.into_iter().enumerate() {
            let key = format!("key-{number}");
            let written = value(seed, bytes);
            let cas = writer.set(&key, written.clone(), 0).expect("stored");
            for (reader_name, reader) in clients {
                let ways = format!("{policy}: {writer_name}, {reader_name}");
                assert_got(&ways, (reader, &key), Some((&written, cas)));
            }
        }
    }
}

fn assert_deleted_values_are_gone(policy: &str, clients: &[(String, Client)]) {
    for (number, (_, deleter)) in clients.iter().enumerate() {
        let key = format!("key-{number}");
        let is_late = policy.contains("async");
        // Which copy tells first whether there was one is chance there.
        let outcome = deleter.delete(&key);
        assert!(outcome == Ok(()) || is_late, "{policy}, {key}: {outcome:?}");
        for (name, reader) in clients {
            assert_got(&format!("{policy}: {name}"), (reader, &key), None);
        }
        let outcome = deleter.delete(&key);
        assert!(
            outcome == Err(Error::NotFound) || is_late,
            "{policy}, {key}: {outcome:?}"
        );
    }
}

#[test]
fn reads_of_a_hot_key_are_shared_out_where_that_is_wanted() {
    const BYTES: u64 = 100_000;
    let fleet = Fleet::start(3, Keeps::Nothing, &[]);
    let sent = |number: usize| -> u64 {
        let lines = fleet.command(number, "stats", &["END"]);
        let mut values = lines
            .iter()
            .filter_map(|it| it.strip_prefix("STAT bytes_written "));
        values
            .next()
            .and_then(|value| value.parse().ok())
            .expect("a number")
    };
    for decode in ["client", "server"] {
        for (reads, servers) in [("first", 1), ("any", 3)] {
            let client = fleet.client(&format!("replicate:3;decode={decode};reads={reads}"));
            client
                .set("hot", value(1, BYTES as usize), 0)
                .expect("stored");
            let before = [0, 1, 2].map(sent);
            for _ in 0..12 {
                assert!(client.get("hot").expect("an answer").is_some());
            }
            // A quarter of the reads at least; what was sent last may not be counted yet.
            let brought = |number: &usize| sent(*number) - before[*number] >= 3 * BYTES;
            let count = (0..3).filter(brought).count();
            assert_eq!(count, servers, "decode={decode};reads={reads}");
        }
    }
}
