//! Servers of one cluster, and what they tell of it.

use crate::node::Etcd;
use crate::support::{Client, Server, wait_for};
use std::net::TcpStream;
use std::path::PathBuf;

/// How a server takes part.
#[derive(Clone, Copy)]
pub struct Times {
    pub ttl: u64,
    pub grace: u64,
}

/// Deaths are noticed soon.
pub const SHORT: Times = Times { ttl: 2, grace: 1 };

/// Nobody is given up by mistake, however slow the machine.
pub const LONG: Times = Times {
    ttl: 60,
    grace: 600,
};

/// A server of the cluster `orders`.
pub struct Member {
    pub server: Server,
}

/// The arguments of a server of this cluster.
pub fn arguments(etcd: &Etcd, times: Times, more: &[&str]) -> Vec<String> {
    arguments_by(&etcd.endpoints(), times, more)
}

fn arguments_by(endpoints: &str, times: Times, more: &[&str]) -> Vec<String> {
    let times = [times.ttl.to_string(), times.grace.to_string()];
    let own = [
        "--cluster-etcd",
        endpoints,
        "--cluster-name",
        "orders",
        "--cluster-ttl",
        &times[0],
        "--cluster-grace",
        &times[1],
        "--fabric",
        "off",
        "-t",
        "1",
    ];
    own.iter()
        .chain(more)
        .map(|word| (*word).to_owned())
        .collect()
}

impl Member {
    pub fn start(etcd: &Etcd, times: Times, more: &[&str]) -> Member {
        Member::start_by(&etcd.endpoints(), times, more)
    }

    /// Starts one that reaches etcd at these addresses.
    pub fn start_by(endpoints: &str, times: Times, more: &[&str]) -> Member {
        let arguments = arguments_by(endpoints, times, more);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Member {
            server: Server::start_quiet(&arguments),
        }
    }

    /// Starts a server where this one was, once it has ended.
    pub fn start_again(&self, etcd: &Etcd, times: Times, more: &[&str]) -> Member {
        let arguments = arguments(etcd, times, more);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let port = self.server.port.to_string();
        let place = ["-l", "127.0.0.1", "-p", &port];
        Member {
            server: Server::start_in(&place, &arguments, &[]),
        }
    }

    /// As the map names it.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.server.port)
    }

    fn client(&self) -> Client<TcpStream> {
        self.server.connect()
    }

    /// The version and the servers that clients are told of, sorted; none before there is a map.
    pub fn told(&self) -> Option<(u64, Vec<String>)> {
        let mut client = self.client();
        let head = client.ask("config get cluster").expect("an answer");
        if head == "ERROR" {
            return None;
        }
        let version = client.line()?.parse().expect("a version");
        let line = client.line().expect("servers");
        let servers = line.split_whitespace().map(|server| {
            let words: Vec<&str> = server.split('|').collect();
            format!("{}:{}", words[0], words[2])
        });
        let mut servers: Vec<String> = servers.collect();
        servers.sort();
        Some((version, servers))
    }

    /// A line of `stats cluster`.
    pub fn stat(&self, name: &str) -> String {
        let mut client = self.client();
        client.send(b"stats cluster\r\n");
        let lines = std::iter::from_fn(|| client.line().filter(|line| line != "END"));
        let lines: Vec<String> = lines.collect();
        let head = format!("STAT {name} ");
        let found = lines.iter().find_map(|line| line.strip_prefix(&head));
        found
            .unwrap_or_else(|| panic!("no {name} in {lines:?}"))
            .to_owned()
    }

    pub fn wait_for_stat(&self, name: &str, value: &str) {
        wait_for(&format!("{name} to be {value}"), || {
            (self.stat(name) == value).then_some(())
        });
    }

    /// Waits until clients of this server are told of exactly these, and returns the epoch.
    pub fn wait_for_servers(&self, servers: &[&Member]) -> u64 {
        let mut wanted: Vec<String> = servers.iter().map(|server| server.address()).collect();
        wanted.sort();
        wait_for("the servers of the map", || {
            let (epoch, servers) = self.told()?;
            (servers == wanted).then_some(epoch)
        })
    }
}

/// Waits until all of them tell of all of them, with one epoch.
pub fn wait_for_agreement(members: &[&Member]) -> u64 {
    wait_for("one map at all servers", || {
        let epochs: Vec<u64> = members
            .iter()
            .map(|it| it.wait_for_servers(members))
            .collect();
        epochs
            .iter()
            .all(|epoch| *epoch == epochs[0])
            .then_some(epochs[0])
    })
}

/// The one that publishes, and the others.
pub fn split_publisher(members: Vec<Member>) -> (Member, Vec<Member>) {
    let (mut publishers, others) = wait_for("a publisher", || {
        let words: Vec<String> = members.iter().map(|it| it.stat("publisher")).collect();
        (words.iter().filter(|word| *word == "yes").count() == 1).then_some(words)
    })
    .into_iter()
    .zip(members)
    .partition::<Vec<_>, _>(|(word, _)| word == "yes");
    let publisher = publishers.pop().expect("one").1;
    (
        publisher,
        others.into_iter().map(|(_, member)| member).collect(),
    )
}

/// A file in which a server keeps its map, and the directory that it stands in.
pub fn state_file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("state");
    (directory, path)
}
