//! What was being overwritten when its writer died is there as long as too few servers have the
//! new value.

use crate::fleet::{Fleet, Keeps};
use crate::{clients_over, value};
use farcache_base::version::{Ticks, Version, Writer};
use farcache_client::{
    Client, ClientConfig, Delivery, Keeping, Operation, Reply, Route, Store, StoreMode, Transport,
};
use farcache_redundancy::Scheme;
use farcache_redundancy::stored::{Header, Piece, checksum};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SERVERS: usize = 6;
const POLICY: &str = "ec:4,2;threshold=1000";
/// In shards, and in copies.
const LENGTHS: [usize; 2] = [100_000, 100];
/// A new value needs one more to be read, and so does the old one of those that have nothing else.
const LEFT_AT: [usize; 3] = [0, 1, 2];

/// Newer than what the test's clients have written so far.
fn version() -> Version {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = now.expect("after 1970") + Duration::from_secs(5);
    Version::new(
        Ticks::at_unix(time),
        Writer::new(7).expect("a small number"),
    )
}

/// What a writer leaves that dies when some servers have its parts.
fn leave_parts(fleet: &Fleet, key: &str) {
    let scheme = Scheme::new(4, 2).expect("a scheme");
    let (version, part) = (version(), vec![7; scheme.shard_bytes(50_000)]);
    leave(fleet, |server| {
        let header = Header {
            piece: Piece::Shard {
                scheme,
                shard: server as u8,
            },
            owners: 0,
            value_bytes: 50_000,
            expiry_unix: 0,
            version,
            checksum: checksum(&part),
        };
        Operation::Store(Store {
            mode: StoreMode::IfNewer(Keeping::Older),
            cas: version.bits(),
            ..Store::set(key.as_bytes(), [&header.encode()[..], &part].concat())
        })
    });
}

/// What is left of a deletion.
fn leave_tombstones(fleet: &Fleet, key: &str) {
    let version = version().bits();
    leave(fleet, |_| Operation::DeleteIfNewer {
        key: key.as_bytes(),
        version,
        keep_s: 0,
        is_promised: false,
        keeping: Keeping::Older,
    });
}

fn leave<'a>(fleet: &Fleet, operation: impl Fn(usize) -> Operation<'a>) {
    let config = ClientConfig::new(&fleet.addresses()).expect("addresses");
    let client = Client::new(&config).expect("a client");
    for server in LEFT_AT {
        let delivery = Delivery {
            route: Route::Server(server),
            timeout: None,
        };
        let reply = client.wait(client.submit_to(operation(server), delivery));
        assert!(matches!(reply, Ok(Reply::Done { .. })), "{reply:?}");
    }
}

/// Has its servers told of all that has been written.
fn write_another(client: &Client) {
    client.set("other", "value", 0).expect("all are there");
}

#[test]
fn a_value_is_read_while_too_few_servers_have_the_one_in_its_place() {
    for (transport, leave) in [
        (Transport::Tcp, leave_parts as fn(&Fleet, &str)),
        (Transport::Tcp, leave_tombstones),
        (Transport::Fabric, leave_parts),
    ] {
        let mut fleet = Fleet::start(SERVERS, Keeps::Nothing, &[]);
        let clients = clients_over(transport, &fleet, POLICY);
        for (placement, client) in &clients {
            for bytes in LENGTHS {
                let key = format!("{bytes} bytes, {placement}");
                client.set(&key, value(0, bytes), 0).expect("all are there");
                write_another(client);
                leave(&fleet, &key);
            }
        }
        for lost in [None, Some(0), Some(5)] {
            lost.into_iter().for_each(|server| fleet.kill(server));
            for (placement, client) in &clients {
                for bytes in LENGTHS {
                    let case = format!("{placement}, {bytes} bytes, without {lost:?}");
                    let item = client.get(format!("{bytes} bytes, {placement}"));
                    let item = item.unwrap_or_else(|error| panic!("{case}: {error}"));
                    let item = item.unwrap_or_else(|| panic!("{case}: a miss"));
                    assert!(item.value == value(0, bytes), "{case}");
                }
            }
        }
    }
}

#[test]
fn a_change_begins_with_the_value_that_is_read() {
    let fleet = Fleet::start(SERVERS, Keeps::Nothing, &[]);
    let client = fleet.client(POLICY);
    let mut expected = value(0, LENGTHS[0]);
    client.set("k", &expected[..], 0).expect("all are there");
    // After a change all servers have the same again.
    for more in [&b"more"[..], b"and more"] {
        write_another(&client);
        leave_parts(&fleet, "k");
        client.append("k", more).expect("something is there");
        expected.extend_from_slice(more);
        let item = client.get("k").expect("an answer").expect("a value");
        assert!(item.value == expected);
    }
}
