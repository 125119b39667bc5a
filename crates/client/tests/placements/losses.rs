//! Servers that are killed: before, and while others code for clients.

use crate::fleet::{Fleet, Keeps};
use crate::support::wait_for;
use crate::{clients, told, value};
use farcache_client::{Client, ClientConfig, Error, Transport};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

const LENGTHS: [usize; 4] = [10, 40_000, 100_001, 300_000];

#[test]
fn every_placement_reads_and_writes_while_servers_are_away() {
    for (policy, servers, losses) in [("ec:3,2", 5, 2), ("replicate:3", 3, 1)] {
        let mut fleet = Fleet::start(servers, Keeps::Nothing, &[]);
        let clients = clients(&fleet, policy);
        let written = |seed: usize, number: usize| value(seed + 10 * number, LENGTHS[number]);
        let all = |clients: &[(String, Client)], seed: usize, when: &str| {
            for (number, (name, client)) in (0..LENGTHS.len()).flat_map(|number| {
                let clients = clients.iter();
                clients.map(move |client| (number, client))
            }) {
                let item = client.get(format!("key-{number}"));
                let item = item.unwrap_or_else(|error| panic!("{policy} {when}, {name}: {error}"));
                let item = item.unwrap_or_else(|| panic!("{policy} {when}, {name}: a miss"));
                let is_it = item.value == written(seed, number);
                assert!(is_it, "{policy} {when}, {name}: another value");
            }
        };
        let set = |client: &Client, seed: usize| {
            for number in 0..LENGTHS.len() {
                let stored = client.set(format!("key-{number}"), written(seed, number), 0);
                assert!(stored.is_ok(), "{policy}: {stored:?}");
            }
        };
        set(&clients[3].1, 0);
        for lost in 0..losses {
            fleet.kill(lost);
            all(&clients, lost, "read degraded");
            for (_, client) in &clients {
                set(client, lost + 1);
                all(&clients, lost + 1, "written degraded");
            }
        }
        let left = losses..servers;
        assert!(told(&fleet, left.clone(), "coding_stores") > 0, "{policy}");
        assert_eq!(told(&fleet, left, "coding_stores_in_doubt"), 0, "{policy}");
    }
}

/// One key that a thread writes all the time: which of its values is acknowledged, and which it was
/// begun to write at last.
struct Track {
    key: String,
    acknowledged: AtomicUsize,
    begun: AtomicUsize,
}

impl Track {
    fn written(number: usize) -> Vec<u8> {
        let mut value = value(number, 120_000);
        value[..8].copy_from_slice(&number.to_be_bytes());
        value
    }

    /// Writes until it is told to stop; returns how many writes are in doubt.
    fn write(&self, client: &Client, stop: &AtomicBool) -> usize {
        let mut in_doubt = 0;
        for number in 1.. {
            if stop.load(SeqCst) {
                break;
            }
            self.begun.store(number, SeqCst);
            match client.set(&self.key, Track::written(number), 0) {
                Ok(_) => self.acknowledged.store(number, SeqCst),
                Err(Error::ConnectionLost(_) | Error::Timeout) => in_doubt += 1,
                // Nothing was sent, or nobody has it.
                Err(Error::Connect(_) | Error::ServerDead) => {}
                Err(error) => panic!("{}: {error}", self.key),
            }
        }
        in_doubt
    }

    fn check(&self, readers: &[(String, Client)]) {
        let (least, most) = (self.acknowledged.load(SeqCst), self.begun.load(SeqCst));
        for (name, reader) in readers {
            let item = reader.get(&self.key);
            let item = item.unwrap_or_else(|error| panic!("{}, {name}: {error}", self.key));
            let item = item.unwrap_or_else(|| panic!("{}, {name}: {least} is lost", self.key));
            let first = item.value.first_chunk().expect("it has a number");
            let number = usize::from_be_bytes(*first);
            let range = least..=most;
            assert!(
                range.contains(&number),
                "{name}: {number} is none of {range:?}"
            );
            let is_whole = item.value == Track::written(number);
            assert!(is_whole, "{name}: two writes in one value");
        }
    }
}

#[test]
fn no_acknowledged_value_is_lost_when_a_server_dies_that_codes() {
    let mut fleet = Fleet::start(5, Keeps::Nothing, &[]);
    let clients = clients(&fleet, "ec:3,2");
    let tracks: Vec<_> = (0..6)
        .map(|number| Track {
            key: format!("track-{number}"),
            acknowledged: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
        })
        .collect();
    let writer = &clients[3].1;
    // The one that codes for most of them.
    let coder_of = |track: &Track| writer.server_of_key(track.key.as_bytes());
    let count = |number: &usize| {
        tracks
            .iter()
            .filter(|it| coder_of(it) == Some(*number))
            .count()
    };
    let victim = (0..5).max_by_key(count).expect("five servers");
    let stop = AtomicBool::new(false);
    let await_writes = |more: usize| {
        let at = |track: &Track| track.acknowledged.load(SeqCst);
        let before: Vec<_> = tracks.iter().map(at).collect();
        wait_for("writes", || {
            let mut pairs = tracks.iter().zip(&before);
            pairs
                .all(|(track, before)| at(track) >= before + more)
                .then_some(())
        });
    };
    std::thread::scope(|scope| {
        for track in &tracks {
            let (client, stop) = (writer.clone(), &stop);
            scope.spawn(move || track.write(&client, stop));
        }
        await_writes(3);
        fleet.kill(victim);
        // They go on without it, by way of others.
        await_writes(3);
        stop.store(true, SeqCst);
    });
    for track in &tracks {
        track.check(&clients);
    }
}

/// A server that ends each connection by which it is sent a value to be coded, and counts these.
fn server_that_goes(counter: &'static AtomicUsize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            let mut header = [0; 24];
            while stream.read_exact(&mut header).is_ok() && header[1] != 0xf5 {
                // Whether it answers, and whether it has a map, which is empty then.
                assert!([0x0a, 0xf8].contains(&header[1]), "{header:?}");
                header[0] = 0x81;
                stream.write_all(&header).expect("sent");
            }
            counter.fetch_add(usize::from(header[1] == 0xf5), SeqCst);
        }
    });
    address
}

/// The server may have stored it: a second version would be a second write.
#[test]
fn a_value_whose_coder_goes_is_not_sent_to_another_one() {
    static SENT: AtomicUsize = AtomicUsize::new(0);
    let addresses = [0; 3].map(|_| server_that_goes(&SENT)).join(",");
    let mut config = ClientConfig::new(&addresses).expect("addresses");
    config.transport = Transport::Tcp;
    config.redundancy = Some("replicate:3;encode=server".parse().expect("a policy"));
    let client = Client::new(&config).expect("a client");
    let outcome = client.set("key", "value", 0);
    assert!(
        matches!(outcome, Err(Error::ConnectionLost(_))),
        "{outcome:?}"
    );
    assert_eq!(SENT.load(SeqCst), 1);
}

/// Servers that have old content on their devices show none of it before others have confirmed it:
/// neither to clients, nor to servers that ask for clients.
#[test]
fn what_a_server_hides_that_catches_up_is_hidden_from_servers_that_code() {
    let mut fleet = Fleet::start(3, Keeps::Device, &[]);
    let readers = clients(&fleet, "replicate:3");
    let mut keys = (0..).map(|key| format!("key-{key}"));
    // Server 0 codes for it.
    let key = keys.find(|key| readers[0].1.server_of_key(key.as_bytes()) == Some(0));
    let key = key.expect("every server has keys");
    readers[0].1.set(&key, value(1, 1000), 0).expect("stored");
    (0..3).for_each(|server| fleet.kill(server));
    // Nothing is confirmed as long as the third is away, and not soon with that rate.
    fleet.set_options(&["--repair-rate", "1"]);
    [0, 1]
        .into_iter()
        .for_each(|server| fleet.start_again(server));
    for (name, client) in &clients(&fleet, "replicate:3") {
        let catching_up = told(&fleet, [0, 1], "repair_catching_up");
        let shown = client.get(&key).ok().flatten();
        assert!(shown.is_none(), "{name}: unconfirmed content is shown");
        assert_eq!(catching_up, 2, "{name}: too late");
    }
    (0..2).for_each(|server| fleet.kill(server));
    fleet.set_options(&[]);
    (0..3).for_each(|server| fleet.start_again(server));
    (0..3).for_each(|server| fleet.await_repair(server));
    for (name, client) in &clients(&fleet, "replicate:3") {
        let item = client.get(&key).expect("an answer");
        let is_back = item.is_some_and(|item| item.value == value(1, 1000));
        assert!(is_back, "{name}: confirmed by all, and not there");
    }
}
