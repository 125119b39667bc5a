//! The whole client on a network that loses, holds and breaks what is sent over it.

mod server;

use farcache_client::{Client, ClientConfig, ClientPort, Error, Fabric, Transport};
use farcache_fabric::grant;
use farcache_fabric::memory::{Action, Death, Network, Rule};
use server::FakeServer;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time limit of operations that end by it.
const SHORT: Duration = Duration::from_millis(200);

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

/// A server, the network to it, and a client with this time limit that has used it.
fn connected(timeout: Duration) -> (FakeServer, Network, Client) {
    let network = Network::new();
    let server = FakeServer::start(&network);
    let mut config = config(&server);
    config.timeout = timeout;
    let client = Client::over(&config, Arc::new(Memory(network.clone()))).expect("a client");
    until_it_works(|| client.set("large", vec![1; 100_000], 0));
    assert!(client.lanes(0).is_some());
    (server, network, client)
}

fn config(server: &FakeServer) -> ClientConfig {
    let mut config = ClientConfig::new(&server.address).expect("an address");
    config.transport = Transport::Fabric;
    config.connect_timeout = Duration::from_millis(500);
    config
}

/// Tries until there is no error: on a busy machine, the time limits that the tests want are short.
fn until_it_works<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Ok(outcome) => return outcome,
            Err(error) => {
                assert!(error.is_connection(), "{error}");
                assert!(Instant::now() < deadline, "it does not recover: {error}");
                std::thread::yield_now();
            }
        }
    }
}

/// Uses the client until it works again.
fn recover(client: &Client) {
    let value = until_it_works(|| {
        let mut value = Vec::new();
        client.get("small")?;
        client.set("large", vec![2; 100_000], 0)?;
        client
            .get_into("large", &mut value)?
            .expect("it was stored");
        Ok(value)
    });
    assert_eq!(value, vec![2; 100_000]);
}

#[test]
fn lost_messages_run_into_the_time_limit() {
    let (server, network, client) = connected(SHORT);
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
    let (server, network, client) = connected(SHORT);
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
    let (server, network, client) = connected(PATIENCE);
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
    let (server, network, client) = connected(SHORT);
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
        let (server, network, client) = connected(SHORT);
        network.kill(&server.port, death);
        let error = client.get("large").expect_err("nobody is there");
        assert!(error.is_connection(), "{error}");
    }
}

#[test]
fn a_fabric_that_never_welcomes_is_an_error_where_it_is_demanded() {
    let network = Network::new();
    let server = FakeServer::start(&network);
    network.inject(Rule::all(Action::Drop).from(&server.port));
    let client = Client::over(&config(&server), Arc::new(Memory(network))).expect("a client");
    // On a busy machine not even the grant may come in so short a time.
    until_it_works(|| match client.get("key").expect_err("no welcome") {
        Error::FabricUnavailable(_) => Ok(()),
        other => Err(other),
    });
}
