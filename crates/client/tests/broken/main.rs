//! The whole client on a network that loses, holds and breaks what is sent over it.

mod server;

use farcache_client::{Client, ClientConfig, ClientPort, Error, Fabric, Transport};
use farcache_fabric::grant;
use farcache_fabric::memory::{Action, Death, Network, Rule};
use server::FakeServer;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How soon everything must have ended.
const SOON: Duration = Duration::from_secs(2);

/// A network inside this process.
struct Memory(Network);

impl Fabric for Memory {
    fn network(&self) -> grant::Network {
        grant::Network::Memory
    }

    fn open(&self) -> Result<ClientPort, farcache_fabric::Error> {
        Ok(Box::new(self.0.port()))
    }
}

/// A server, the network to it, and a client that has used it.
fn connected() -> (FakeServer, Network, Client) {
    let network = Network::new();
    let server = FakeServer::start(&network);
    let client = client(&server, &network);
    // On a busy machine the time limits that the tests want are short for connecting.
    let deadline = Instant::now() + Duration::from_secs(20);
    while let Err(error) = client.set("large", vec![1; 100_000], 0) {
        assert!(Instant::now() < deadline, "not stored: {error}");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(client.lanes(0).is_some());
    (server, network, client)
}

fn client(server: &FakeServer, network: &Network) -> Client {
    let mut config = ClientConfig::new(&server.address).expect("an address");
    config.transport = Transport::Fabric;
    config.timeout = Duration::from_millis(200);
    config.connect_timeout = Duration::from_millis(500);
    Client::over(&config, Arc::new(Memory(network.clone()))).expect("a client")
}

/// Uses the client until it works again.
fn recover(client: &Client) {
    let begun = Instant::now();
    while let Err(error) = client.get("small") {
        assert!(error.is_connection(), "{error}");
        assert!(begun.elapsed() < SOON, "it does not recover: {error}");
        std::thread::yield_now();
    }
    let mut value = Vec::new();
    client.set("large", vec![2; 100_000], 0).expect("stored");
    client
        .get_into("large", &mut value)
        .expect("an answer")
        .expect("an item");
    assert_eq!(value, vec![2; 100_000]);
}

#[test]
fn lost_messages_run_into_the_time_limit() {
    let (server, network, client) = connected();
    for rule in [
        Rule::all(Action::Drop).to(&server.port),
        Rule::all(Action::Drop).from(&server.port),
        Rule::all(Action::HoldBody),
        Rule::all(Action::Hold),
    ] {
        network.inject(rule);
        let lost = client.get("large").expect_err("it is lost");
        assert!(lost.is_connection(), "{lost}");
        network.heal();
        network.release();
        recover(&client);
    }
}

#[test]
fn values_that_get_stuck_come_back() {
    let (server, network, client) = connected();
    network.inject(Rule::all(Action::HoldBody).to(&server.port));
    let value = Arc::new(vec![3; 100_000]);
    let stuck = client.set("large", Arc::clone(&value), 0);
    assert_eq!(stuck, Err(Error::Timeout));
    assert_eq!(Arc::strong_count(&value), 1);
    network.heal();
    recover(&client);
}

#[test]
fn broken_connections_fail_at_once() {
    let (server, network, client) = connected();
    for rule in [
        Rule::all(Action::Fail).to(&server.port).count(1),
        Rule::all(Action::Fail).from(&server.port).count(1),
    ] {
        network.inject(rule);
        let error = client.get("large").expect_err("the connection breaks");
        assert!(matches!(error, Error::ConnectionLost(_)), "{error}");
        recover(&client);
    }
}

#[test]
fn what_arrives_broken_ends_the_session_or_is_dropped() {
    let (server, network, client) = connected();
    for action in [
        Action::Duplicate,
        Action::TruncateBody(10),
        Action::TruncateBody(0),
        Action::TruncateFront(20),
    ] {
        network.inject(Rule::all(action).from(&server.port).count(1));
        // What has arrived twice has also arrived.
        let _ = client.get("large");
        network.heal();
        recover(&client);
    }
    network.deliver_raw(&server.port, b"nonsense", b"more of it");
    recover(&client);
}

#[test]
fn dead_ports_are_noticed() {
    for death in [Death::Reported, Death::Silent] {
        let (server, network, client) = connected();
        network.kill(&server.port, death);
        let begun = Instant::now();
        let error = client.get("large").expect_err("nobody is there");
        assert!(error.is_connection(), "{error}");
        assert!(begun.elapsed() < SOON);
    }
}

#[test]
fn a_fabric_that_never_welcomes_is_an_error_where_it_is_demanded() {
    let network = Network::new();
    let server = FakeServer::start(&network);
    network.inject(Rule::all(Action::Drop).from(&server.port));
    let mut config = ClientConfig::new(&server.address).expect("an address");
    config.transport = Transport::Fabric;
    config.connect_timeout = Duration::from_millis(100);
    let client = Client::over(&config, Arc::new(Memory(network))).expect("a client");
    let error = client.get("key").expect_err("no welcome");
    assert!(matches!(error, Error::FabricUnavailable(_)), "{error}");
}
