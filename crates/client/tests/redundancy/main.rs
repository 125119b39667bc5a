//! Values on several servers, with servers that are killed: real processes, over sockets and the
//! fabric.

#[path = "../support/parts.rs"]
mod parts;
#[path = "../support/mod.rs"]
mod support;

mod begun;
mod beside;
mod changes;
mod complete;
mod following;
mod refusals;
mod survival;

use farcache_client::{Client, ClientConfig, Transport};
use support::{PATIENCE, Product, Server};
use tempfile::TempDir;

/// Both ways to a server of ours.
const WAYS: [Transport; 2] = [Transport::Tcp, Transport::Fabric];

/// Servers at addresses of their own, which keep them when they start again.
struct Fleet {
    servers: Vec<Server>,
    arguments: Vec<Vec<String>>,
    _disks: TempDir,
}

impl Fleet {
    /// Servers that hold what they have in memory.
    fn start(count: usize) -> Fleet {
        Fleet::with(count, |_| Vec::new())
    }

    /// Servers that hold what they have on a device too, before they answer.
    fn with_disks(count: usize) -> Fleet {
        Fleet::with(count, |device| {
            let device = format!("{device}:64m");
            ["--ssd", &device, "--durability", "sync"]
                .map(str::to_owned)
                .into()
        })
    }

    fn with(count: usize, more: impl Fn(&str) -> Vec<String>) -> Fleet {
        let disks = tempfile::tempdir().expect("a directory");
        let device = |number| disks.path().join(format!("device-{number}"));
        let arguments = (0..count).map(|number| {
            let fixed = ["-m", "64", "--fabric", "auto"].map(str::to_owned);
            let more = more(&device(number).to_string_lossy());
            fixed.into_iter().chain(more).collect::<Vec<String>>()
        });
        let arguments: Vec<Vec<String>> = arguments.collect();
        let servers = arguments.iter().map(|arguments| start_at(0, arguments));
        Fleet {
            servers: servers.collect(),
            arguments,
            _disks: disks,
        }
    }

    /// Ends a server as nothing else can.
    fn kill(&mut self, server: usize) {
        self.servers[server].kill();
    }

    /// Starts a killed one again, at its address.
    fn start_again(&mut self, server: usize) {
        let port = self.servers[server].port;
        self.servers[server] = start_at(port, &self.arguments[server]);
    }

    fn config(&self, policy: &str, transport: Transport) -> ClientConfig {
        let addresses: Vec<_> = self.servers.iter().map(Server::address).collect();
        let mut config = ClientConfig::new(&addresses.join(",")).expect("addresses");
        config.transport = transport;
        config.timeout = PATIENCE;
        config.connect_timeout = PATIENCE;
        config.redundancy = Some(policy.parse().expect("a policy"));
        config
    }

    fn client(&self, policy: &str, transport: Transport) -> Client {
        Client::new(&self.config(policy, transport)).expect("a client")
    }
}

fn start_at(port: u16, arguments: &[String]) -> Server {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Server::start_at(Product::Farcached, port, &arguments)
}

/// Keys with values of many lengths, on both sides of the threshold, of one generation.
fn values(generation: u8) -> impl Iterator<Item = (String, Vec<u8>)> {
    let lengths = [
        0, 1, 5, 100, 3_000, 4_095, 4_096, 4_097, 9_000, 50_000, 131_075, 300_001,
    ];
    lengths.into_iter().enumerate().map(move |(number, bytes)| {
        let value = (0..bytes).map(|at| (at * 31 + number * 7) as u8 ^ generation.wrapping_mul(91));
        (format!("key-{number}"), value.collect())
    })
}

fn set_all(client: &Client, generation: u8) {
    for (key, value) in values(generation) {
        let stored = client.set(&key, value, 0);
        assert!(stored.is_ok(), "{key}: {stored:?}");
    }
}

/// Every key has the value of this generation, byte by byte.
fn assert_all(client: &Client, generation: u8, when: &str) {
    for (key, value) in values(generation) {
        let item = client.get(&key);
        let item = item.unwrap_or_else(|error| panic!("{when}, {key}: {error}"));
        let item = item.unwrap_or_else(|| panic!("{when}, {key} is lost"));
        assert!(item.value == value, "{when}, {key} has another value");
    }
}
