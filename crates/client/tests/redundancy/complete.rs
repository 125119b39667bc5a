//! What not all members have stored is shown to nobody: it might be lost with one of those who
//! have.

use crate::following::pause;
use crate::parts::{ask, is_incomplete};
use crate::support::wait_for;
use crate::{Fleet, WAYS};
use farcache_base::version::{Ticks, Version, Writer};
use farcache_client::{Client, Keeping, Operation, Reply, Store, StoreMode, Transport};
use farcache_redundancy::Holders;
use farcache_redundancy::stored::{Header, Piece, checksum};
use rustix::process::{Signal, kill_process};
use std::time::Duration;

/// Long enough for several requests; a read that cannot end takes as long.
const READ_TIME: Duration = Duration::from_secs(2);

fn client(fleet: &Fleet, policy: &str, transport: Transport) -> Client {
    let mut config = fleet.config(policy, transport);
    config.timeout = READ_TIME;
    Client::new(&config).expect("a client")
}

/// A client that knows of one server at a time.
fn plain(fleet: &Fleet) -> Client {
    let mut config = fleet.config("none", Transport::Tcp);
    config.redundancy = None;
    Client::new(&config).expect("a client")
}

/// What a writer of three copies leaves that ends before all servers have its value.
fn store_at(client: &Client, servers: &[usize], key: &str, value: &[u8]) {
    // Newer than what the test's own clients have written.
    let time = Ticks::at_unix(unix_time() + Duration::from_secs(5));
    let version = Version::new(time, Writer::new(7).expect("a small number"));
    let header = Header {
        piece: Piece::Copy(Holders::ALL),
        owners: 3,
        value_bytes: value.len() as u32,
        expiry_unix: 0,
        version,
        checksum: checksum(value),
    };
    let part = [&header.encode()[..], value].concat();
    for server in servers {
        let store = Store {
            mode: StoreMode::IfNewer(Keeping::Nothing),
            cas: version.bits(),
            ..Store::set(key.as_bytes(), &part[..])
        };
        let stored = ask(client, *server, Operation::Store(store));
        assert!(matches!(stored, Reply::Done { .. }), "{stored:?}");
    }
}

fn unix_time() -> Duration {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH);
    since.expect("after 1970")
}

fn got(client: &Client, key: &str) -> Option<Vec<u8>> {
    let item = client.get(key);
    item.unwrap_or_else(|error| panic!("{key}: {error}"))
        .map(|item| item.value)
}

#[test]
fn what_a_writer_has_left_at_some_is_shown_when_all_have_it() {
    for transport in WAYS {
        let mut fleet = Fleet::start(3);
        let policy = "replicate:3";
        fleet
            .client(policy, transport)
            .set("k", "before", 0)
            .expect("all are there");
        store_at(&plain(&fleet), &[0, 1], "k", b"left");
        let silent = pause(&fleet, 2);
        // A majority has it: a reader that asks no more would show it.
        let shown = client(&fleet, policy, transport).get("k");
        assert!(shown.is_err(), "{shown:?}");
        kill_process(silent, Signal::CONT).expect("it is stopped");
        assert_eq!(
            got(&client(&fleet, policy, transport), "k"),
            Some(b"left".into())
        );
        // Whoever is lost now, nobody sees anything older.
        for lost in [0, 1] {
            fleet.kill(lost);
            assert_eq!(
                got(&client(&fleet, policy, transport), "k"),
                Some(b"left".into())
            );
        }
    }
}

/// Each request tells of a write that has ended; of the last ones, which no request has told of,
/// the writer tells by itself after a while.
#[test]
fn what_was_acknowledged_is_read_while_a_server_is_silent() {
    for (policy, servers) in [("replicate:3", 3), ("ec:3,2;threshold=1", 5)] {
        for transport in WAYS {
            let fleet = Fleet::start(servers);
            let writer = client(&fleet, policy, transport);
            let keys = ["one", "two", "three", "last"];
            for key in keys {
                writer.set(key, key, 0).expect("all are there");
            }
            writer.delete("two").expect("it is there");
            writer.set("last", "again", 0).expect("all are there");
            let plain = plain(&fleet);
            let is_told = |key: &str| (0..servers).all(|at| !is_incomplete(&plain, at, key));
            for key in ["one", "two", "three"] {
                assert!(is_told(key), "{policy}: the next requests tell of {key}");
            }
            let all_are_told = || keys.iter().all(|key| is_told(key)).then_some(());
            wait_for("servers to be told", all_are_told);
            let silent = pause(&fleet, servers - 1);
            let reader = client(&fleet, policy, transport);
            assert_eq!(got(&reader, "one"), Some(b"one".into()));
            assert_eq!(got(&reader, "two"), None);
            assert_eq!(got(&reader, "three"), Some(b"three".into()));
            assert_eq!(got(&reader, "last"), Some(b"again".into()));
            // There is nothing left to tell, and whoever writes next has it told again.
            kill_process(silent, Signal::CONT).expect("it is stopped");
            writer.set("last", "later", 0).expect("all are there");
            wait_for("servers to be told", all_are_told);
        }
    }
}

#[test]
fn a_client_that_ends_tells_of_what_it_wrote_last() {
    for transport in WAYS {
        let fleet = Fleet::start(3);
        client(&fleet, "replicate:3", transport)
            .set("k", "value", 0)
            .expect("all are there");
        let plain = plain(&fleet);
        let is_told = || (0..3).all(|server| !is_incomplete(&plain, server, "k"));
        wait_for("servers to be told", || is_told().then_some(()));
    }
}
