//! etcd itself: one node or several, on ports of their own.

use crate::support::wait_for;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use tempfile::TempDir;

/// Ports that the system gives to nobody by itself: an etcd that was killed finds its port free.
const PORTS: std::ops::Range<u16> = 16_000..30_000;

/// How often other ports are tried where somebody else took them first.
const STARTS: usize = 5;

/// A cluster of etcd whose nodes end with it.
pub struct Etcd {
    nodes: Vec<Node>,
    _directory: TempDir,
}

struct Node {
    name: String,
    client_port: u16,
    peer_port: u16,
    directory: PathBuf,
    initial_cluster: String,
    process: Option<Child>,
}

impl Etcd {
    /// Starts one with this many nodes, and waits until it serves.
    pub fn start(nodes: usize) -> Etcd {
        for _ in 1..STARTS {
            if let Some(etcd) = Etcd::try_start(nodes) {
                return etcd;
            }
        }
        Etcd::try_start(nodes).expect("etcd starts (apt-get install etcd-server)")
    }

    /// None where a node ended, as its ports were taken.
    fn try_start(nodes: usize) -> Option<Etcd> {
        let directory = tempfile::tempdir().expect("a directory");
        let mut nodes: Vec<Node> = (0..nodes)
            .map(|index| Node {
                name: format!("n{index}"),
                client_port: free_port(),
                peer_port: free_port(),
                directory: directory.path().join(format!("n{index}")),
                initial_cluster: String::new(),
                process: None,
            })
            .collect();
        let peers = nodes
            .iter()
            .map(|node| format!("{}=http://127.0.0.1:{}", node.name, node.peer_port));
        let initial_cluster = peers.collect::<Vec<_>>().join(",");
        for node in &mut nodes {
            node.initial_cluster.clone_from(&initial_cluster);
            node.start();
        }
        let is_serving = nodes.iter_mut().all(Node::wait_until_it_serves);
        is_serving.then_some(Etcd {
            nodes,
            _directory: directory,
        })
    }

    /// What `--cluster-etcd` takes.
    pub fn endpoints(&self) -> String {
        let endpoints = self.nodes.iter().map(|node| node.endpoint(""));
        endpoints.collect::<Vec<_>>().join(",")
    }

    /// Ends all nodes as a crash would.
    pub fn kill(&mut self) {
        self.nodes.iter_mut().for_each(Node::kill);
    }

    /// Starts all nodes again with what they have on disk.
    pub fn restart(&mut self) {
        self.nodes.iter_mut().for_each(Node::start);
        for node in &mut self.nodes {
            assert!(node.wait_until_it_serves(), "etcd ended: {}", node.log());
        }
    }

    /// Deletes what the nodes have on disk.
    pub fn wipe(&self) {
        for node in &self.nodes {
            std::fs::remove_dir_all(&node.directory).expect("its data can be deleted");
        }
    }

    /// Copies what the only node has on disk.
    pub fn back_up(&self, to: &Path) {
        copy(&self.nodes[0].directory, to);
    }

    /// Gives the only node what was copied.
    pub fn restore(&self, from: &Path) {
        self.wipe();
        copy(from, &self.nodes[0].directory);
    }

    /// The node that leads.
    pub fn leader(&self) -> usize {
        wait_for("a leader", || self.nodes.iter().position(Node::is_leader))
    }

    /// Stops a node without ending it, or lets it run again.
    pub fn signal(&self, node: usize, signal: Signal) {
        let process = self.nodes[node].process.as_ref().expect("it runs");
        kill_process(Pid::from_child(process), signal).expect("it runs");
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Node {
    fn endpoint(&self, scheme: &str) -> String {
        format!("{scheme}127.0.0.1:{}", self.client_port)
    }

    fn start(&mut self) {
        let clients = self.endpoint("http://");
        let peers = format!("http://127.0.0.1:{}", self.peer_port);
        let log = File::create(self.log_file()).expect("a log");
        let process = Command::new("etcd")
            .args([
                "--name",
                &self.name,
                "--initial-cluster",
                &self.initial_cluster,
            ])
            .arg("--data-dir")
            .arg(&self.directory)
            .args([
                "--listen-client-urls",
                &clients,
                "--advertise-client-urls",
                &clients,
            ])
            .args([
                "--listen-peer-urls",
                &peers,
                "--initial-advertise-peer-urls",
                &peers,
            ])
            // Tests wait for what is published, not for disks.
            .arg("--unsafe-no-fsync")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.process = Some(process.expect("etcd is there (apt-get install etcd-server)"));
    }

    fn log_file(&self) -> PathBuf {
        self.directory.with_extension("log")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// False where it ends instead.
    fn wait_until_it_serves(&mut self) -> bool {
        wait_for("etcd to serve", || {
            let process = self.process.as_mut().expect("it was started");
            match process.try_wait().expect("a child") {
                Some(_) => Some(false),
                None => self.page("health").contains("true").then_some(true),
            }
        })
    }

    fn is_leader(&self) -> bool {
        self.page("metrics").contains("\netcd_server_is_leader 1\n")
    }

    /// A page that the node serves over HTTP; empty where it does not.
    fn page(&self, name: &str) -> String {
        use std::io::{Read, Write};
        let mut answer = String::new();
        let asked = TcpStream::connect((Ipv4Addr::LOCALHOST, self.client_port));
        let read = asked.and_then(|mut stream| {
            stream.set_read_timeout(Some(std::time::Duration::from_secs(2)))?;
            write!(stream, "GET /{name} HTTP/1.0\r\n\r\n")?;
            stream.read_to_string(&mut answer)
        });
        read.map(|_| answer).unwrap_or_default()
    }
}

fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let count = PORTS.end - PORTS.start;
    let first = (std::process::id() as u16).wrapping_mul(97) % count;
    let ports =
        std::iter::repeat_with(|| PORTS.start + (first + NEXT.fetch_add(1, Relaxed)) % count);
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    ports
        .take(usize::from(count))
        .find(is_free)
        .expect("a free port")
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.expect("cp is there").success());
}
