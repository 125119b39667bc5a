//! Servers that do not code for a client say why.

use crate::fleet::{Fleet, Keeps};
use crate::support::{PATIENCE, Product, Server};
use crate::{clients, told, value};
use farcache_client::{Client, ClientConfig, Error, Transport};

const NOT_SUPPORTED: u16 = 0x83;
const OTHER_OWNERS: u16 = 0xf3;

const WITHOUT_PEERS: (u16, &str) = (NOT_SUPPORTED, "--cluster-self");
const ELSEWHERE: (u16, &str) = (OTHER_OWNERS, "gives the key to other servers");

fn config(addresses: &str, transport: Transport, policy: &str) -> ClientConfig {
    let mut config = ClientConfig::new(addresses).expect("addresses");
    config.transport = transport;
    (config.timeout, config.connect_timeout) = (PATIENCE, PATIENCE);
    config.redundancy = Some(policy.parse().expect("a policy"));
    config
}

fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, Error>, (with, why): (u16, &str)) {
    match outcome {
        Err(Error::Server { status, message }) if status == with => {
            assert!(message.contains(why), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn servers_without_peers_say_that_they_do_not_code() {
    let servers = [0; 3].map(|_| Server::start(Product::Farcached, &["--fabric", "auto"]));
    let addresses = servers.each_ref().map(Server::address).join(",");
    for transport in [Transport::Tcp, Transport::Fabric] {
        let policy = "ec:2,1;encode=server;decode=server";
        let client = Client::new(&config(&addresses, transport, policy)).expect("a client");
        for bytes in [10, 100_000] {
            assert_refused(client.set("key", vec![1; bytes], 0), WITHOUT_PEERS);
        }
        assert_refused(client.get("key"), WITHOUT_PEERS);
        // What needs no coding for the client goes on.
        assert_eq!(client.delete("key"), Err(Error::NotFound));
    }
}

#[test]
fn a_client_that_places_keys_elsewhere_is_told_so() {
    let fleet = Fleet::start(3, Keeps::Nothing, &[]);
    let policy = "replicate:2;encode=server;decode=server";
    let mut config = config(&fleet.addresses(), Transport::Tcp, policy);
    config.follows_map = false;
    let elsewhere = Client::new(&config).expect("a client");
    let keys = (0..20).map(|number| format!("key-{number}"));
    let mut refused = 0;
    for key in keys {
        match elsewhere.set(&key, "value", 0) {
            // By chance both place it alike.
            Ok(_) => assert!(elsewhere.get(&key).expect("an answer").is_some()),
            outcome => {
                assert_refused(outcome, ELSEWHERE);
                assert_refused(elsewhere.get(&key), ELSEWHERE);
                refused += 1;
            }
        }
    }
    assert!(refused > 10, "{refused} of 20");
    let told = |name| told(&fleet, 0..3, name);
    assert_eq!(told("coding_stores_refused"), refused);
}

/// A server that tells of nothing before it is durable stores its own part so too.
#[test]
fn what_a_server_has_coded_is_durable_where_all_is() {
    let mut fleet = Fleet::start(3, Keeps::Device, &[]);
    let clients = clients(&fleet, "ec:2,1");
    for (name, client) in &clients {
        client.set(name, value(1, 100_000), 0).expect("stored");
    }
    for number in 0..3 {
        fleet.kill(number);
    }
    for number in 0..3 {
        fleet.start_again(number);
    }
    (0..3).for_each(|number| fleet.await_repair(number));
    for (key, _) in &clients {
        for (name, client) in &clients {
            let item = client.get(key).expect("an answer").expect("an item");
            assert!(item.value == value(1, 100_000), "{key} by {name}");
        }
    }
}
