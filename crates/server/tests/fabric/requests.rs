//! Requests over the fabric and over sockets, from the same data at the same time.

use crate::client::{get, set, set_head};
use crate::{Client, figure, over_each, wait_until_clean};
use farcache_fabric::ucx::{Network, Settings};

fn value(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|place| (place % 251) as u8).collect()
}

#[test]
fn values_of_all_sizes_go_there_and_back() {
    over_each(&["-m", "256", "-I", "64m"], |server, network, transport| {
        let mut client = Client::connect(server, network);
        for bytes in [0, 1, 64, 4096, 8192, 8193, 60_000] {
            let value = value(bytes);
            assert_eq!(client.ask(&set(b"key", &value), 1)[0].0, 0);
            assert_eq!(client.ask(&get(b"key"), 1), [(0, value)]);
        }
        for bytes in [1, 9000, 100_000, 1 << 20, 33 << 20] {
            client.send_large(&set_head(b"key", bytes), value(bytes));
            assert_eq!(client.answers(1)[0].0, 0, "{} of {bytes}", transport.tls);
            let found = client.ask(&get(b"key"), 1);
            assert!(found == [(0, value(bytes))], "{} of {bytes}", transport.tls);
        }
        assert_eq!(figure(server, "sessions"), "1");
        if std::env::var_os("UCX_TLS").is_none() {
            let lanes = figure(server, "lanes:0:networks");
            assert!(lanes.contains(transport.lane), "{lanes}");
        }
        drop(client);
        wait_until_clean(server);
    });
}

#[test]
fn a_batch_is_answered_whole() {
    over_each(&[], |server, network, _| {
        let mut client = Client::connect(server, network);
        let keys: Vec<Vec<u8>> = (0..48).map(|n| format!("key{n}").into_bytes()).collect();
        let sets: Vec<u8> = keys.iter().flat_map(|key| set(key, key)).collect();
        let gets: Vec<u8> = keys.iter().flat_map(|key| get(key)).collect();
        assert_eq!(client.ask(&sets, 48).len(), 48);
        let found = client.ask(&gets, 48);
        assert!(found.iter().map(|(_, value)| value).eq(&keys));
    });
}

#[test]
fn sockets_and_fabric_see_the_same_data() {
    over_each(&[], |server, network, transport| {
        let mut client = Client::connect(server, network);
        let mut socket = server.connect();
        socket.set("from-socket", b"s");
        assert_eq!(client.ask(&get(b"from-socket"), 1), [(0, b"s".to_vec())]);
        client.ask(&set(b"from-fabric", &value(50_000)), 1);
        assert_eq!(socket.get("from-fabric"), Some(value(50_000)));
        socket.exercise();
        let mut conns = server.connect();
        conns.send(b"stats conns\r\n");
        let mut lines = Vec::new();
        while let Some(line) = conns.line().filter(|line| line != "END") {
            lines.push(line);
        }
        let is_shown =
            |line: &String| line.contains(":fabric ucx") && line.contains(transport.lane);
        let is_users = std::env::var_os("UCX_TLS").is_some();
        assert!(is_users || lines.iter().any(is_shown), "{lines:?}");
    });
}

#[test]
fn a_client_of_sockets_is_served_while_the_fabric_is_busy() {
    over_each(&["-t", "1"], |server, network, _| {
        let mut client = Client::connect(server, network);
        client.ask(&set(b"key", b"value"), 1);
        let address = server.address();
        let socket = std::thread::spawn(move || {
            let mut socket = crate::support::Client::over(crate::support::tcp(address));
            for number in 0..100 {
                socket.set("socket", format!("{number}").as_bytes());
                assert_eq!(socket.get("socket"), Some(format!("{number}").into_bytes()));
            }
        });
        while !socket.is_finished() {
            let found = client.ask(&[get(b"key"), get(b"key")].concat(), 2);
            assert_eq!(found[1].1, b"value");
        }
        socket.join().expect("the client of sockets was served");
    });
}

/// UCX can be told never to offer a value, but to send it along with its packet however long it is.
#[test]
fn long_values_that_are_not_offered_are_stored_or_refused() {
    over_each(&[], |server, _, transport| {
        let tls = std::env::var("UCX_TLS").unwrap_or_else(|_| transport.tls.to_owned());
        let eager = Settings::new(&[("TLS", &tls), ("RNDV_THRESH", "inf")]);
        let network = Network::open(eager).expect("a network");
        let mut client = Client::connect(server, &network);
        let value = vec![b'v'; 300_000];
        client.send_large(&set_head(b"key", value.len()), value.clone());
        assert_eq!(client.answers(1)[0].0, 0);
        client.send_large(&set_head(b"long", 2 << 20), vec![b'w'; 2 << 20]);
        assert_eq!(client.answers(1)[0].0, 3, "too large");
        assert_eq!(figure(server, "rendezvous_in_total"), "0");
        assert_eq!(client.ask(&get(b"key"), 1)[0], (0, value));
        assert_eq!(client.ask(&get(b"long"), 1)[0].0, 1);
    });
}
