//! Blobs on several servers, of which some are killed.

use crate::support::{PATIENCE, Product, Server};
use crate::{content, read, settings, statistic, write};
use farcache_blobs::{Blobs, Error, Settings, policy};
use farcache_client::{Client, ClientConfig, Transport};
use std::time::Duration;

/// From here on `ec` makes shards.
const CHUNK_BYTES: u32 = 40_000;
const BYTES: usize = 1_000_000;

/// Servers that evict nothing, at addresses that they keep.
struct Fleet(Vec<Server>);

impl Fleet {
    fn start(count: usize) -> Fleet {
        let start = |_| crate::server(&["-m", "64", "-M"]);
        Fleet((0..count).map(start).collect())
    }

    fn kill(&mut self, server: usize) {
        self.0[server].kill();
    }

    /// Starts it again, with nothing.
    fn start_again(&mut self, server: usize) {
        let port = self.0[server].port;
        self.0[server] = Server::start_at(Product::Farcached, port, &["-m", "64", "-M"]);
    }

    fn client(&self, redundancy: &str, transport: Transport) -> Client {
        let addresses: Vec<String> = self.0.iter().map(Server::address).collect();
        let policy = policy(redundancy, addresses.len()).expect("a redundancy");
        let config = ClientConfig {
            transport,
            timeout: PATIENCE,
            connect_timeout: PATIENCE,
            reconnect_delay_max: Duration::from_millis(50),
            redundancy: Some(policy),
            ..ClientConfig::new(&addresses.join(",")).expect("addresses")
        };
        Client::new(&config).expect("a client")
    }

    fn blobs(&self, redundancy: &str, transport: Transport) -> Blobs {
        let client = self.client(redundancy, transport);
        Blobs::new(client, settings(CHUNK_BYTES)).expect("settings")
    }

    /// Bytes that items of all servers take, with what they remember of deleted ones.
    fn bytes(&self) -> u64 {
        let client = |server: &Server| crate::client(server, Transport::Tcp);
        let bytes = |server| statistic(&client(server), "bytes");
        self.0.iter().map(bytes).sum()
    }
}

const REDUNDANCIES: [&str; 2] = ["replicate:2", "ec:2,1"];
const WAYS: [Transport; 2] = [Transport::Tcp, Transport::Fabric];

#[test]
fn a_blob_is_read_whole_while_any_one_server_is_away() {
    for redundancy in REDUNDANCIES {
        for transport in WAYS {
            for away in 0..3 {
                let mut fleet = Fleet::start(3);
                let blobs = fleet.blobs(redundancy, transport);
                write(&blobs, "b", &content(1, BYTES));
                fleet.kill(away);
                let found = read(&blobs, "b").expect("by who wrote it");
                assert!(found == content(1, BYTES), "{redundancy} without {away}");
                let others = fleet.blobs(redundancy, transport);
                assert!(read(&others, "b").expect("by another") == content(1, BYTES));
            }
        }
    }
}

/// The manifest knows which chunks went elsewhere, and so whoever opens the blob.
#[test]
fn a_reader_tells_which_servers_have_what() {
    let mut fleet = Fleet::start(3);
    fleet.kill(0);
    let length = BYTES as u64;
    for (redundancy, expected) in [
        ("replicate:2", [0, length, length]),
        // A shard more than it takes is left out where its server is away.
        ("ec:2,1", [length, length, length]),
    ] {
        let blobs = fleet.blobs(redundancy, Transport::Tcp);
        let manifest = write(&blobs, redundancy, &content(1, BYTES));
        let moved = (0..manifest.chunks()).any(|it| manifest.place_of(it) > 0);
        assert_eq!(moved, redundancy == "replicate:2");
        let reader = blobs.open(redundancy).expect("a reader");
        assert_eq!(reader.bytes_on_servers(0, u64::MAX), expected);
        // The end of a chunk, the next one, and a byte of the one after.
        let chunk = u64::from(CHUNK_BYTES);
        let told = reader.bytes_on_servers(2 * chunk - 1, chunk + 2);
        assert_eq!(told[1..], [chunk + 2; 2]);
        assert_eq!(reader.bytes_on_servers(length, 1), [0; 3]);
    }
}

/// The server goes while chunks are under way: before some, in the middle of others.
#[test]
fn a_writer_goes_on_when_a_server_is_killed() {
    for redundancy in REDUNDANCIES {
        for transport in WAYS {
            for away in 0..3 {
                let mut fleet = Fleet::start(3);
                let blobs = fleet.blobs(redundancy, transport);
                let bytes = content(2, BYTES);
                let mut writer = blobs.create("b").expect("a writer");
                writer.write(&bytes[..BYTES / 2]).expect("written");
                fleet.kill(away);
                writer
                    .write(&bytes[BYTES / 2..])
                    .expect("written without it");
                let manifest = writer.close().expect("closed without it");
                assert!(read(&blobs, "b").expect("read") == bytes);
                let moved = (0..manifest.chunks()).any(|it| manifest.place_of(it) > 0);
                assert!(moved || redundancy != "replicate:2", "two must be up");
            }
        }
    }
}

#[test]
fn a_blob_with_copies_or_shards_that_gets_an_expiry_stays_whole() {
    for redundancy in REDUNDANCIES {
        let mut fleet = Fleet::start(3);
        let blobs = fleet.blobs(redundancy, Transport::Tcp);
        write(&blobs, "b", &content(7, BYTES));
        blobs.expire("b", 1000).expect("expires");
        fleet.kill(1);
        assert!(
            read(&blobs, "b").expect("read") == content(7, BYTES),
            "{redundancy}"
        );
    }
}

/// With copies a chunk has found two servers that are there, so one of them may go as well.
#[test]
fn what_is_written_while_a_server_is_away_has_all_of_its_copies() {
    let mut fleet = Fleet::start(3);
    let blobs = fleet.blobs("replicate:2", Transport::Tcp);
    fleet.kill(0);
    write(&blobs, "b", &content(3, BYTES));
    fleet.start_again(0);
    fleet.kill(1);
    assert!(read(&blobs, "b").expect("read") == content(3, BYTES));
}

#[test]
fn nothing_is_left_of_what_is_removed_while_a_server_is_away() {
    for redundancy in REDUNDANCIES {
        let mut fleet = Fleet::start(3);
        let blobs = fleet.blobs(redundancy, Transport::Tcp);
        write(&blobs, "first", &content(4, BYTES));
        write(&blobs, "replaced", &content(4, BYTES));
        fleet.kill(2);
        write(&blobs, "replaced", &content(5, BYTES));
        write(&blobs, "second", &content(5, BYTES));
        let mut writer = blobs.create("given-up").expect("a writer");
        writer.write(&content(6, BYTES)).expect("written");
        writer.abort();
        for name in ["first", "replaced", "second"] {
            blobs.remove(name).expect("removed");
            assert_eq!(read(&blobs, name), Err(Error::NotFound(name.into())));
        }
        fleet.start_again(2);
        let left = fleet.bytes();
        assert!(left < CHUNK_BYTES.into(), "{redundancy}: {left} bytes");
    }
}

/// Each of them replaces a blob of its own: chunks of the same one are not removed twice, and
/// others left.
#[test]
fn nothing_is_left_of_many_writers_of_one_name() {
    for redundancy in REDUNDANCIES {
        let fleet = Fleet::start(3);
        let blobs = &fleet.blobs(redundancy, Transport::Tcp);
        std::thread::scope(|scope| {
            for writer in 0..4 {
                scope.spawn(move || {
                    (0..10).for_each(|_| drop(write(blobs, "b", &content(writer, 90_000))))
                });
            }
        });
        let last = read(blobs, "b").expect("read");
        assert!((0..4).any(|writer| last == content(writer, 90_000)));
        blobs.remove("b").expect("removed");
        let left = fleet.bytes();
        assert!(left < CHUNK_BYTES.into(), "{redundancy}: {left} bytes");
    }
}

/// Nothing can be promised then, and that is said, within a bounded time.
#[test]
fn a_writer_is_told_when_too_few_servers_are_left() {
    for redundancy in REDUNDANCIES {
        let mut fleet = Fleet::start(3);
        let blobs = fleet.blobs(redundancy, Transport::Tcp);
        fleet.kill(0);
        fleet.kill(1);
        let mut writer = blobs.create("b").expect("a writer");
        let written = writer.write(&content(7, BYTES));
        let refused = written.and_then(|()| writer.close().map(drop));
        let error = refused.expect_err("two of three are away");
        assert!(
            matches!(error, Error::Request { chunk: Some(_), .. }),
            "{error}"
        );
    }
}

/// With patience the same writer waits, and goes on when a server is back.
#[test]
fn a_writer_waits_for_a_server_that_comes_back() {
    let mut fleet = Fleet::start(2);
    let client = fleet.client("replicate:2", Transport::Tcp);
    let patient = Settings {
        patience: PATIENCE,
        ..settings(CHUNK_BYTES)
    };
    let blobs = Blobs::new(client, patient).expect("settings");
    fleet.kill(1);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| write(&blobs, "b", &content(8, BYTES)));
        // It has nowhere to write to, so it is still there when the server comes back.
        fleet.start_again(1);
        writing.join().expect("written");
    });
    assert!(read(&blobs, "b").expect("read") == content(8, BYTES));
}
