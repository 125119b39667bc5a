//! Servers of one cluster, at ports that they keep, with a map that lists all of them.
#![allow(dead_code)] // Each test program uses its own part of this.

use crate::support::{PATIENCE, Product, Server, program, wait_for};
use farcache_client::distribution::Distribution;
use farcache_client::hash::HashAlgorithm;
use farcache_client::{Client, ClientConfig, Transport};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;
use tempfile::TempDir;

/// Where what servers have survives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// Nowhere: servers return empty.
    Nothing,
    /// On a device, before they answer.
    Device,
}

/// The servers, numbered from 0; in the map they are called 1 and up.
pub struct Fleet {
    servers: Vec<Server>,
    ports: Vec<u16>,
    keeps: Keeps,
    options: Vec<String>,
    directory: TempDir,
}

impl Fleet {
    /// Starts so many, with these further options, and waits until none has to catch up.
    pub fn start(count: usize, keeps: Keeps, options: &[&str]) -> Fleet {
        let mut fleet = Fleet {
            servers: Vec::new(),
            ports: free_ports(count),
            keeps,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            directory: tempfile::tempdir().expect("a directory"),
        };
        std::fs::write(fleet.path("secret"), "a secret of the test").expect("written");
        fleet.publish(1);
        for number in 0..count {
            let server = fleet.start_one(number);
            fleet.servers.push(server);
        }
        (0..count).for_each(|number| fleet.await_repair(number));
        fleet
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.ports.len()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Gives all servers the map of this epoch.
    pub fn publish(&self, epoch: u64) {
        self.publish_without(epoch, &[]);
    }

    /// Gives all servers the map of this epoch, of which some are no members any more.
    pub fn publish_without(&self, epoch: u64, left_out: &[usize]) {
        self.publish_with(epoch, |number| {
            (!left_out.contains(&number)).then_some("serving")
        });
    }

    /// Gives all servers the map of this epoch, in which each has this state, if it is a member.
    pub fn publish_with(&self, epoch: u64, state: impl Fn(usize) -> Option<&'static str>) {
        let mut text = format!("farcache-cluster-map 1\ncluster c\nepoch {epoch}\n");
        text += "placement ketama\n";
        for (number, port) in self.ports.iter().enumerate() {
            let Some(state) = state(number) else {
                continue;
            };
            let id = number + 1;
            writeln!(
                text,
                "server {id} incarnation=1 weight=1 zone=- state={state} addresses=127.0.0.1:{port}"
            )
            .expect("text");
        }
        text += "end\n";
        std::fs::write(self.path("new"), text).expect("written");
        std::fs::rename(self.path("new"), self.path("map")).expect("renamed");
    }

    fn start_one(&self, number: usize) -> Server {
        let (map, secret) = (self.path("map"), self.path("secret"));
        let device = format!("{}:256m", self.path(&format!("device-{number}")).display());
        let id = (number + 1).to_string();
        let mut arguments = vec!["-m", "256", "--cluster-self", &id, "--cluster-file"];
        arguments.push(map.to_str().expect("a plain path"));
        arguments.push("--cluster-secret-file");
        arguments.push(secret.to_str().expect("a plain path"));
        if self.keeps == Keeps::Device {
            arguments.extend(["--ssd", &device, "--durability", "sync"]);
        }
        arguments.extend(self.options.iter().map(String::as_str));
        Server::start_at(Product::Farcached, self.ports[number], &arguments)
    }

    /// Ends a server as nothing else can.
    pub fn kill(&mut self, number: usize) {
        self.servers[number].kill();
    }

    /// Starts a killed one again, at its address.
    pub fn start_again(&mut self, number: usize) {
        self.servers[number] = self.start_one(number);
    }

    /// Has a server stand still, as if its machine did.
    pub fn pause(&self, number: usize) {
        self.signal(number, "-STOP");
        // Told when all of its threads stand still; the signal alone is not felt at once.
        let process = Pid::from_child(&self.servers[number].child);
        let stopped = waitpid(Some(process), WaitOptions::UNTRACED).expect("a child");
        assert!(stopped.is_some_and(|(_, status)| status.stopped()));
    }

    /// Has it go on.
    pub fn resume(&self, number: usize) {
        self.signal(number, "-CONT");
    }

    fn signal(&self, number: usize, signal: &str) {
        let process = self.servers[number].child.id().to_string();
        let sent = std::process::Command::new("kill")
            .args([signal, &process])
            .status();
        assert!(sent.expect("kill runs").success(), "{signal} of a server");
    }

    /// What is started from now on gets these further options.
    pub fn set_options(&mut self, options: &[&str]) {
        self.options = options.iter().map(|option| (*option).to_owned()).collect();
    }

    /// A connection of a client to a server.
    pub fn connection(&self, number: usize) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.ports[number])).expect("it accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("settable");
        stream
    }

    /// Answers of a server to a command in text, up to one of these lines.
    pub fn command(&self, number: usize, command: &str, ends: &[&str]) -> Vec<String> {
        let mut stream = self.connection(number);
        stream
            .write_all(format!("{command}\r\n").as_bytes())
            .expect("sent");
        let lines = BufReader::new(stream).lines();
        let mut told = Vec::new();
        for line in lines {
            let line = line.expect("an answer");
            let is_end = ends.contains(&line.as_str());
            told.push(line);
            if is_end {
                break;
            }
        }
        told
    }

    /// `stats redundancy` of a server.
    pub fn stats(&self, number: usize) -> BTreeMap<String, u64> {
        let lines = self.command(number, "stats redundancy", &["END"]);
        let stat = |line: &String| {
            let mut words = line.strip_prefix("STAT ")?.split(' ');
            let name = words.next()?.to_owned();
            Some((name, words.next()?.parse().ok()?))
        };
        lines.iter().filter_map(stat).collect()
    }

    /// Waits until a server has what it should have.
    pub fn await_repair(&self, number: usize) {
        wait_for("a server to be repaired", || {
            let stats = self.stats(number);
            let is_done = stats["repair_catching_up"] == 0 && stats["repair_running"] == 0;
            (is_done && stats["repair_passes"] > 0).then_some(())
        });
    }

    /// Has an operator drain a server.
    pub fn drain(&self, number: usize) {
        let farcache = program(Product::Farcached).with_file_name("farcache");
        let map = self.path("map");
        let drained = std::process::Command::new(farcache)
            .args(["cluster", "--file"])
            .arg(&map)
            .args(["drain", &(number + 1).to_string(), "--yes"])
            .output()
            .expect("farcache runs");
        assert!(drained.status.success(), "{drained:?}");
    }

    /// Waits until a server goes by the map of this epoch, and has seen what that asks of it.
    pub fn await_epoch(&self, number: usize, epoch: u64) {
        let wanted = format!("STAT epoch {epoch}");
        wait_for("a server to go by a map", || {
            let lines = self.command(number, "stats cluster", &["END"]);
            lines.contains(&wanted).then_some(())
        });
    }

    /// Has a server look for what it lacks, and waits until it has.
    pub fn repair(&self, number: usize) -> BTreeMap<String, u64> {
        let passes = self.stats(number)["repair_passes"];
        assert_eq!(self.command(number, "redundancy repair", &["OK"]), ["OK"]);
        wait_for("a pass", || {
            let stats = self.stats(number);
            (stats["repair_passes"] > passes).then_some(stats)
        })
    }

    /// The servers, as a client is given them.
    pub fn addresses(&self) -> String {
        self.addresses_without(&[])
    }

    /// The same without some of them.
    pub fn addresses_without(&self, left_out: &[usize]) -> String {
        let servers = self.servers.iter().enumerate();
        let members = servers.filter(|(number, _)| !left_out.contains(number));
        let addresses: Vec<_> = members.map(|(_, server)| server.address()).collect();
        addresses.join(",")
    }

    /// A client that places keys as the map does.
    pub fn client(&self, policy: &str) -> Client {
        self.client_over(Transport::Tcp, policy)
    }

    /// A client over this transport that places keys as the map does.
    pub fn client_over(&self, transport: Transport, policy: &str) -> Client {
        self.client_of(&self.addresses(), transport, policy)
    }

    /// A client of all servers but some.
    pub fn client_without(&self, left_out: &[usize], policy: &str) -> Client {
        let addresses = self.addresses_without(left_out);
        self.client_of(&addresses, Transport::Tcp, policy)
    }

    fn client_of(&self, addresses: &str, transport: Transport, policy: &str) -> Client {
        Client::new(&config(addresses, transport, policy)).expect("a client")
    }

    /// A client that places keys as the map does, and gives up after so long.
    pub fn client_for(&self, timeout: Duration, transport: Transport, policy: &str) -> Client {
        let mut config = config(&self.addresses(), transport, policy);
        config.timeout = timeout;
        Client::new(&config).expect("a client")
    }
}

/// Of a client that places keys as the map does.
pub fn config(addresses: &str, transport: Transport, policy: &str) -> ClientConfig {
    let mut config = ClientConfig::new(addresses).expect("addresses");
    config.placement.distribution = Distribution::KetamaWeighted;
    config.placement.key_hash = HashAlgorithm::Md5;
    config.transport = transport;
    config.timeout = PATIENCE;
    config.connect_timeout = PATIENCE;
    config.redundancy = Some(policy.parse().expect("a policy"));
    config
}

/// Ports that nobody listens at now, below those that the system gives to connections, which could
/// take one before its server does.
fn free_ports(count: usize) -> Vec<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(97);
    let next = || 10_000 + (first.wrapping_add(NEXT.fetch_add(1, Relaxed)) % 20_000) as u16;
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let ports = std::iter::repeat_with(next).filter(is_free);
    ports.take(count).collect()
}
