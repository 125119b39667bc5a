//! etcd on this machine: one node, or several.

use crate::fleet::wait_for;
use farcache_harness::etcd::{Member, is_leader, page};
use farcache_harness::server_process::{kill_on_signals, spare_on_signals};
use rustix::process::Pid;
use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

/// Nodes, which end with this.
pub struct Etcd {
    nodes: Vec<Node>,
    directory: PathBuf,
}

struct Node {
    member: Member,
    process: Option<Child>,
}

impl Etcd {
    /// Starts so many nodes, and waits until all serve.
    ///
    /// # Errors
    /// One does not start.
    pub fn start(count: usize) -> io::Result<Etcd> {
        let directory = std::env::temp_dir().join(format!("farcache-etcd-{}", std::process::id()));
        fs::create_dir_all(&directory)?;
        let listeners = (0..2 * count).map(|_| TcpListener::bind("127.0.0.1:0"));
        let listeners = listeners.collect::<io::Result<Vec<_>>>()?;
        let places = listeners.iter().map(TcpListener::local_addr);
        let places = places.collect::<io::Result<Vec<_>>>()?;
        drop(listeners);
        let nodes = places.chunks(2).enumerate().map(|(index, pair)| Node {
            member: Member {
                name: format!("node-{index}"),
                clients: pair[0],
                peers: pair[1],
            },
            process: None,
        });
        let mut etcd = Etcd {
            nodes: nodes.collect(),
            directory,
        };
        etcd.start_again()?;
        Ok(etcd)
    }

    /// What `--cluster-etcd` takes.
    pub fn endpoints(&self) -> String {
        let clients = self
            .nodes
            .iter()
            .map(|node| node.member.clients.to_string());
        clients.collect::<Vec<_>>().join(",")
    }

    /// Starts the nodes that are down, with what they have on disk.
    ///
    /// # Errors
    /// One does not start.
    pub fn start_again(&mut self) -> io::Result<()> {
        for at in 0..self.nodes.len() {
            if self.nodes[at].process.is_none() {
                let child = self.spawn(at)?;
                kill_on_signals(Pid::from_child(&child));
                self.nodes[at].process = Some(child);
            }
        }
        wait_for("etcd to serve", || {
            let serves = |node: &Node| node.page("health").contains("\"true\"");
            Ok(self.nodes.iter().all(serves))
        })
    }

    fn spawn(&self, at: usize) -> io::Result<Child> {
        let member = &self.nodes[at].member;
        let mut command = Command::new("etcd");
        let members = self.nodes.iter().map(|node| &node.member);
        member.complete(&mut command, &self.directory.join(&member.name), members)?;
        command.spawn()
    }

    /// Time of processors that the nodes which run have taken.
    ///
    /// # Errors
    /// The system's.
    pub fn processor_time(&self) -> io::Result<Duration> {
        let running = self.nodes.iter().filter_map(|node| node.process.as_ref());
        running.map(|process| processor_time(process.id())).sum()
    }

    /// Kills the node that leads, as a crash would.
    ///
    /// # Errors
    /// None leads.
    pub fn kill_leader(&mut self) -> io::Result<()> {
        let leads = |node: &Node| is_leader(&node.page("metrics"));
        let leader = self.nodes.iter_mut().find(|node| leads(node));
        leader
            .ok_or_else(|| io::Error::other("no node of etcd leads"))?
            .kill()
    }
}

impl Node {
    fn kill(&mut self) -> io::Result<()> {
        if let Some(mut child) = self.process.take() {
            spare_on_signals(Pid::from_child(&child));
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    fn page(&self, name: &str) -> String {
        page(TcpStream::connect(self.member.clients).ok(), name)
    }
}

/// Time of processors that the threads of a process have taken. Source: Linux,
/// `Documentation/scheduler/sched-stats.rst`, the first number of a thread's `schedstat`.
fn processor_time(process: u32) -> io::Result<Duration> {
    let threads = fs::read_dir(format!("/proc/{process}/task"))?;
    let of_thread = |thread: io::Result<fs::DirEntry>| {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        let nanoseconds = text.split(' ').next().unwrap_or_default();
        let nanoseconds = nanoseconds.parse().map_err(io::Error::other)?;
        Ok(Duration::from_nanos(nanoseconds))
    };
    threads.map(of_thread).sum()
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            // It may have ended already.
            _ = node.kill();
        }
        // What is left there is small.
        _ = fs::remove_dir_all(&self.directory);
    }
}
