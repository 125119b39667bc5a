//! Clients that go by the map of their servers' cluster, whichever servers they were told of.

#[path = "../repair/fleet.rs"]
mod fleet;
#[path = "../support/mod.rs"]
mod support;

use farcache_client::{
    Client, ClientConfig, ConnectStage, Delivery, Error, Operation, ReceiveBytes, Reply, Request,
    Route, Store, Transport, VersionTerms,
};
use fleet::{Fleet, Keeps, config};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::Duration;
use support::wait_for;

const TRANSPORTS: [Transport; 2] = [Transport::Tcp, Transport::Fabric];

/// As clients are made by those who know of one server only, and of no placement.
fn plain(addresses: &str, transport: Transport) -> ClientConfig {
    ClientConfig {
        transport,
        ..ClientConfig::new(addresses).expect("addresses")
    }
}

fn keys(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("key-{number}"))
}

/// How many requests the servers have passed on to one another.
fn passed_on(fleet: &Fleet, servers: impl Iterator<Item = usize>) -> u64 {
    let of_server = |server| {
        let lines = fleet.command(server, "stats", &["END"]);
        let mut told = lines.iter();
        let told = told.find_map(|line| line.strip_prefix("STAT forwarded "));
        told.expect("a figure").parse::<u64>().expect("a number")
    };
    servers.map(of_server).sum()
}

/// Writes and reads keys; whether that needed no help of another server.
fn goes_straight(fleet: &Fleet, client: &Client, servers: &[usize]) -> bool {
    let before = passed_on(fleet, servers.iter().copied());
    for key in keys(100) {
        client.set(&key, key.as_str(), 0).expect("stored");
        let item = client.get(&key).expect("an answer").expect("an item");
        assert_eq!(item.value, key.as_bytes());
    }
    passed_on(fleet, servers.iter().copied()) == before
}

#[test]
fn a_client_of_one_server_goes_straight_to_each_of_its_cluster() {
    for transport in TRANSPORTS {
        let fleet = Fleet::start(3, Keeps::Nothing, &["--fabric", "auto"]);
        let seed = fleet.addresses_without(&[1, 2]);
        let client = Client::new(&plain(&seed, transport)).expect("a client");
        assert_eq!((client.map_epoch(), client.servers().len()), (None, 1));
        client.set("first", "value", 0).expect("stored");
        assert_eq!((client.map_epoch(), client.servers().len()), (Some(1), 3));
        assert!(goes_straight(&fleet, &client, &[0, 1, 2]), "{transport:?}");
        assert_eq!(client.versions().len(), 3);

        let mut by_list = plain(&seed, transport);
        by_list.follows_map = false;
        let by_list = Client::new(&by_list).expect("a client");
        assert!(
            !goes_straight(&fleet, &by_list, &[0, 1, 2]),
            "{transport:?}"
        );
        assert_eq!((by_list.map_epoch(), by_list.servers().len()), (None, 1));
    }
}

#[test]
fn a_newer_map_is_followed_without_a_word_of_the_program() {
    for transport in TRANSPORTS {
        let fleet = Fleet::start(4, Keeps::Nothing, &["--fabric", "auto"]);
        fleet.publish_without(2, &[3]);
        (0..4).for_each(|server| fleet.await_epoch(server, 2));
        let seed = fleet.addresses_without(&[1, 2, 3]);
        let client = Client::new(&plain(&seed, transport)).expect("a client");
        client.set("first", "value", 0).expect("stored");
        assert_eq!((client.map_epoch(), client.servers().len()), (Some(2), 3));

        fleet.publish_without(3, &[1]);
        wait_for("the client to hear of the map", || {
            client.get("first").expect("an answer");
            (client.map_epoch() == Some(3)).then_some(())
        });
        (0..4).for_each(|server| fleet.await_epoch(server, 3));
        assert!(goes_straight(&fleet, &client, &[0, 2, 3]), "{transport:?}");
        // Who has left keeps its number, and is asked for nothing that is asked of all.
        assert_eq!((client.servers().len(), client.versions().len()), (4, 3));
        let left = fleet.addresses_without(&[0, 2, 3]);
        assert!(client.server_named(&left).is_some());
    }
}

/// Answers text at once and packets never, as a server may seem to do that stands still now and
/// then.
fn answers_text_only(listener: TcpListener) {
    for stream in listener.incoming() {
        let stream = stream.expect("a client");
        let mut lines = BufReader::new(stream.try_clone().expect("a descriptor"));
        let (mut stream, mut line) = (stream, Vec::new());
        while lines
            .read_until(b'\n', &mut line)
            .is_ok_and(|count| count > 0)
        {
            if line == b"version\r\n" && stream.write_all(b"VERSION 1.6.45\r\n").is_err() {
                break;
            }
            line.clear();
        }
    }
}

#[test]
fn a_server_of_the_map_is_never_taken_for_one_that_speaks_text_only() {
    let mut fleet = Fleet::start(2, Keeps::Nothing, &[]);
    let mut config = plain(&fleet.addresses(), Transport::Tcp);
    config.connect_timeout = Duration::from_secs(2);
    config.timeout = Duration::from_secs(5);
    let client = Client::new(&config).expect("a client");
    let of_second = |key: &String| client.server_of_key(key.as_bytes()) == Some(1);
    client.set("first", "value", 0).expect("stored");
    let key = keys(100).find(of_second).expect("it has keys");
    client.set(&key, "value", 0).expect("stored");
    fleet.kill(1);
    let address = client.servers()[1].to_string();
    let listener = TcpListener::bind(address).expect("its port");
    std::thread::spawn(move || answers_text_only(listener));
    wait_for("the client to wait for a silent server", || {
        match client.get(&key) {
            Err(Error::Connect(why)) if why.stage == ConnectStage::Silent => Some(()),
            // That the connection has ended, or that it is left alone for a moment.
            Err(error) if error.is_connection() => None,
            other => panic!("{other:?}"),
        }
    });
}

/// Whether all owners of the key by the map have it.
fn lies_at_its_owners(of_map: &Client, key: &str, owners: usize) -> bool {
    let has = |server: &usize| {
        let get = Operation::GetVersioned {
            key: key.as_bytes(),
            terms: VersionTerms::Newest,
            bytes_max: 0,
            into: ReceiveBytes::default(),
        };
        let delivery = Delivery {
            route: Route::Server(*server),
            timeout: None,
        };
        let request = of_map.submit_to(get, delivery);
        matches!(of_map.wait(request), Ok(Reply::Value { .. }))
    };
    let located = of_map.servers_of_key(key.as_bytes());
    assert_eq!(located.len(), owners);
    located.iter().all(has)
}

/// It has heard of a new map when the first server refuses it, not when it next asks for one; and
/// whoever codes, what it writes lies where others look for it.
#[test]
fn what_a_client_writes_by_an_older_map_lies_where_the_newer_says() {
    for sides in ["", ";encode=server;decode=server"] {
        let policy = format!("replicate:2{sides}");
        let fleet = Fleet::start(4, Keeps::Nothing, &[]);
        let client = fleet.client(&policy);
        client.set("first", "value", 0).expect("stored");
        assert_eq!(client.map_epoch(), Some(1));
        fleet.publish_without(2, &[3]);
        (0..4).for_each(|server| fleet.await_epoch(server, 2));
        let of_map = fleet.client_without(&[3], "replicate:2");
        for key in keys(50) {
            client.set(&key, key.as_str(), 0).expect("stored");
            assert!(lies_at_its_owners(&of_map, &key, 2), "{key} {policy}");
            let item = client.get(&key).expect("an answer").expect("an item");
            assert_eq!(item.value, key.as_bytes());
            let sum = client.increment(format!("{key}-number"), 1, Some(ONE));
            assert_eq!(sum, Ok(1));
        }
        assert_eq!(client.map_epoch(), Some(2));
    }
}

/// A server that codes has heard of no newer map when its client asks, but of those whom it asks
/// some have.
#[test]
fn what_a_server_codes_by_an_older_map_lies_where_the_newer_says() {
    let fleet = Fleet::start(4, Keeps::Nothing, &[]);
    let client = fleet.client("replicate:3;encode=server");
    client.set("first", "value", 0).expect("stored");
    let of_coder = |key: &String| client.server_of_key(key.as_bytes()) == Some(0);
    let keys: Vec<String> = keys(1000).filter(of_coder).take(50).collect();
    client.noop(0).expect("a connection");
    fleet.pause(0);
    let set = |key: &String| {
        let store = Store::set(key.as_bytes(), key.as_bytes());
        client.submit(Operation::Store(store))
    };
    let under_way: Vec<Request> = keys.iter().map(set).collect();
    client.flush();
    fleet.publish_without(2, &[3]);
    (1..4).for_each(|server| fleet.await_epoch(server, 2));
    fleet.resume(0);
    let of_map = fleet.client_without(&[3], "replicate:3");
    for (key, request) in keys.iter().zip(under_way) {
        client.wait(request).expect("stored");
        assert!(lies_at_its_owners(&of_map, key, 3), "{key}");
        let item = of_map.get(key).expect("an answer").expect("an item");
        assert_eq!(item.value, key.as_bytes());
    }
}

const ONE: farcache_client::Initial = farcache_client::Initial {
    number: 1,
    expiry_s: 0,
};

/// Large values are offered before they are sent, and begin to arrive before they are there.
#[test]
fn large_values_are_refused_and_sent_again_where_their_key_has_moved() {
    for transport in TRANSPORTS {
        let fleet = Fleet::start(4, Keeps::Nothing, &["--fabric", "auto"]);
        let client = fleet.client_over(transport, "replicate:2");
        let value = |number: usize| vec![number as u8; 300_000];
        client.set("first", value(0), 0).expect("stored");
        fleet.publish_without(2, &[3]);
        (0..4).for_each(|server| fleet.await_epoch(server, 2));
        let of_map = fleet.client_without(&[3], "replicate:2");
        for (number, key) in keys(20).enumerate() {
            client.set(&key, value(number), 0).expect("stored");
            assert!(lies_at_its_owners(&of_map, &key, 2), "{key} {transport:?}");
            let item = client.get(&key).expect("an answer").expect("an item");
            assert_eq!(item.value, value(number));
        }
        assert_eq!(client.map_epoch(), Some(2));
    }
}

#[test]
fn one_server_is_enough_to_find_the_others_that_a_policy_needs() {
    let fleet = Fleet::start(3, Keeps::Nothing, &[]);
    let seed = fleet.addresses_without(&[0, 1]);
    for policy in ["replicate:3", "ec:2,1;encode=server;decode=server"] {
        let mut config = config(&seed, Transport::Tcp, policy);
        let client = Client::new(&config).expect("a client");
        client.set(policy, vec![7; 50_000], 0).expect("stored");
        let item = client.get(policy).expect("an answer").expect("an item");
        assert_eq!(item.value, vec![7; 50_000]);
        config.follows_map = false;
        let refused = Client::new(&config);
        assert!(
            matches!(refused, Err(Error::Configuration(_))),
            "{refused:?}"
        );
    }
}
