//! A server that stands still.

use crate::fleet::{Fleet, Keeps};
use crate::parts::is_incomplete;
use crate::support::wait_for;
use crate::{clients, value};
use farcache_client::{Client, Operation, Request, Store, Transport};
use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

const SILENT: usize = 2;

/// Keys that each of the other servers codes for, six for each: where the servers lie on the ring
/// depends on their ports.
fn keys(client: &Client, servers: usize) -> Vec<String> {
    let keys_of = |coder: usize| {
        let keys = (0..).map(|number| format!("key-{number}"));
        let is_coded = move |key: &String| client.server_of_key(key.as_bytes()) == Some(coder);
        keys.filter(is_coded).take(6)
    };
    let others = (0..servers).filter(|server| *server != SILENT);
    others.flat_map(keys_of).collect()
}

#[test]
fn sessions_that_wait_for_a_silent_peer_hold_up_nobody() {
    let fleet = Fleet::start(5, Keeps::Nothing, &["--forward-timeout-ms", "60000"]);
    let client = &clients(&fleet, "ec:3,2")[3].1;
    let keys = keys(client, 5);
    for key in &keys {
        client.set(key, value(1, 50_000), 0).expect("stored");
    }
    fleet.pause(SILENT);
    let set = |key: &String| {
        let written = value(2, 50_000);
        client.submit(Operation::Store(Store::set(key.as_bytes(), written)))
    };
    let requests: Vec<Request> = keys.iter().map(set).collect();
    client.flush();
    // More connections than a server has workers: none of these may wait.
    for number in (0..5).filter(|number| *number != SILENT) {
        let mut keys = (0..).map(|key| format!("plain-{key}"));
        // Not one that is passed on to the silent server.
        let own = keys.find(|key| client.server_of_key(key.as_bytes()) == Some(number));
        let own = own.expect("every server has keys");
        let asked = format!("set {own} 0 0 1\r\nv\r\nget {own}\r\n");
        let answer = format!("VALUE {own} 0 1");
        let streams: Vec<_> = (0..8).map(|_| fleet.connection(number)).collect();
        for mut stream in streams {
            stream.write_all(asked.as_bytes()).expect("sent");
            let lines = BufReader::new(stream).lines().take(4);
            let lines: Vec<_> = lines.map(|line| line.expect("an answer")).collect();
            assert_eq!(lines, ["STORED", answer.as_str(), "v", "END"]);
        }
    }
    let is_waiting = |request: &&Request| !client.test(request);
    let waiting = requests.iter().filter(is_waiting).count();
    assert_eq!(waiting, keys.len(), "all need the silent server");
    fleet.resume(SILENT);
    for (request, key) in requests.into_iter().zip(&keys) {
        let written = client.wait(request);
        assert!(written.is_ok(), "{key}: {written:?}");
        let item = client.get(key).expect("an answer").expect("an item");
        assert!(item.value == value(2, 50_000), "{key}");
    }
}

/// Without `delta` a read that has asked the silent server waits for a quarter of its time, which
/// is a minute here.
#[test]
fn reads_that_ask_one_more_do_not_wait_for_a_silent_server() {
    let fleet = Fleet::start(5, Keeps::Nothing, &["--forward-timeout-ms", "60000"]);
    let clients = clients(&fleet, "ec:3,2;delta=1");
    let keys = keys(&clients[0].1, 5);
    for key in &keys {
        clients[0].1.set(key, value(1, 50_000), 0).expect("stored");
    }
    for (_, client) in &clients {
        client.get(&keys[0]).expect("an answer");
    }
    fleet.pause(SILENT);
    let began = Instant::now();
    for (name, client) in &clients {
        for key in &keys {
            let item = client.get(key).expect("an answer").expect("an item");
            assert!(item.value == value(1, 50_000), "{name}, {key}");
        }
    }
    let took = began.elapsed();
    fleet.resume(SILENT);
    assert!(
        took < Duration::from_secs(10),
        "all reads together took {took:?}"
    );
}

/// Servers tell one another what they have coded last, and no request of theirs has told.
#[test]
fn what_servers_have_coded_is_read_while_a_server_is_silent() {
    for policy in ["ec:3,2", "replicate:3"] {
        let fleet = Fleet::start(5, Keeps::Nothing, &[]);
        let clients = clients(&fleet, policy);
        let plain = fleet.client("none");
        for (name, writer) in &clients {
            let key = format!("{policy};{name}");
            writer.set(&key, value(1, 50_000), 0).expect("stored");
            let owners = writer.servers_of_key(key.as_bytes());
            let is_told = || !owners.iter().any(|at| is_incomplete(&plain, *at, &key));
            wait_for("servers to be told", || is_told().then_some(()));
        }
        fleet.pause(SILENT);
        let patience = Duration::from_secs(10);
        let reader = fleet.client_for(patience, Transport::Tcp, policy);
        for (name, _) in &clients {
            let key = format!("{policy};{name}");
            let item = reader.get(&key).expect("an answer").expect("an item");
            assert!(item.value == value(1, 50_000), "{key}");
        }
        fleet.resume(SILENT);
    }
}
