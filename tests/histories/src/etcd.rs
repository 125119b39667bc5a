//! etcd itself, which keeps the map of a cluster: nodes on hosts of their own.

use crate::Outcome;
use crate::hosts::{Host, Hosts};
use farcache_harness::etcd::{Member, is_leader, page};
use farcache_harness::server_process::{kill_on_signals, spare_on_signals};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a node may take to serve.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A cluster of etcd, which ends with this.
pub struct Etcd {
    nodes: Vec<Node>,
    directory: TempDir,
}

struct Node {
    member: Member,
    host: Host,
    process: Option<Child>,
}

impl Etcd {
    /// Starts nodes on these hosts, and waits until all serve.
    ///
    /// # Errors
    /// One does not start.
    pub fn start(hosts: &Hosts, on: impl Iterator<Item = Host>) -> Outcome<Etcd> {
        let nodes = on.map(|host| Node {
            member: Member {
                name: format!("n{host}"),
                clients: hosts.address(host),
                peers: hosts.second_address(host),
            },
            host,
            process: None,
        });
        let mut etcd = Etcd {
            nodes: nodes.collect(),
            directory: tempfile::tempdir()?,
        };
        etcd.start_again(hosts)?;
        Ok(etcd)
    }

    /// What `--cluster-etcd` takes.
    #[must_use]
    pub fn endpoints(&self) -> String {
        let endpoints: Vec<String> = self
            .nodes
            .iter()
            .map(|one| one.member.clients.to_string())
            .collect();
        endpoints.join(",")
    }

    /// The host of a node.
    #[must_use]
    pub fn host(&self, node: usize) -> Host {
        self.nodes[node].host
    }

    /// How many nodes there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    fn data(&self, node: usize) -> PathBuf {
        self.directory.path().join(&self.nodes[node].member.name)
    }

    fn older(&self, node: usize) -> PathBuf {
        self.directory
            .path()
            .join(format!("older-{}", self.nodes[node].member.name))
    }

    /// Starts those that are down, with what they have on disk, and waits until all serve.
    ///
    /// # Errors
    /// One does not start.
    pub fn start_again(&mut self, hosts: &Hosts) -> Outcome<()> {
        for at in 0..self.nodes.len() {
            if self.nodes[at].process.is_none() {
                let child = self.spawn(hosts, at)?;
                kill_on_signals(Pid::from_child(&child));
                self.nodes[at].process = Some(child);
            }
        }
        let deadline = Instant::now() + PATIENCE;
        for node in &self.nodes {
            while !node.page(hosts, "health").contains("true") {
                if Instant::now() > deadline {
                    return Err(format!("etcd's {} does not serve", node.member.name).into());
                }
                std::thread::sleep(LOOK_EVERY);
            }
        }
        Ok(())
    }

    fn spawn(&self, hosts: &Hosts, at: usize) -> Outcome<Child> {
        let node = &self.nodes[at];
        let mut command = hosts.command(node.host, Path::new("etcd"));
        let members = self.nodes.iter().map(|node| &node.member);
        node.member
            .complete(&mut command, &self.data(at), members)?;
        // Runs are about what it says, not about disks.
        command.arg("--unsafe-no-fsync");
        Ok(command.spawn()?)
    }

    /// The node that leads, if any says so.
    #[must_use]
    pub fn leader(&self, hosts: &Hosts) -> Option<usize> {
        let leads = |node: &Node| is_leader(&node.page(hosts, "metrics"));
        self.nodes
            .iter()
            .position(|node| node.process.is_some() && leads(node))
    }

    /// Ends a node as a crash would.
    ///
    /// # Errors
    /// It has ended by itself.
    pub fn kill(&mut self, node: usize) -> Outcome<()> {
        self.nodes[node].kill()
    }

    /// Ends all nodes, and keeps a copy of what they have on disk, or puts that of an earlier time
    /// in its place.
    ///
    /// # Errors
    /// A copy cannot be made.
    pub fn lose_all(&mut self, comes_back_older: bool) -> Outcome<()> {
        for node in 0..self.nodes.len() {
            self.kill(node)?;
        }
        for node in 0..self.nodes.len() {
            let (data, older) = (self.data(node), self.older(node));
            match older.exists() {
                true if comes_back_older => {
                    std::fs::remove_dir_all(&data)?;
                    copy(&older, &data)?;
                }
                true => {}
                false => copy(&data, &older)?,
            }
        }
        Ok(())
    }

    /// Stops a node without ending it, or lets it go on.
    ///
    /// # Errors
    /// It has ended by itself.
    pub fn signal(&self, node: usize, signal: Signal) -> Outcome<()> {
        match &self.nodes[node].process {
            Some(child) => Ok(kill_process(Pid::from_child(child), signal)?),
            None => Ok(()),
        }
    }
}

impl Node {
    fn kill(&mut self) -> Outcome<()> {
        if let Some(mut child) = self.process.take() {
            spare_on_signals(Pid::from_child(&child));
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    fn page(&self, hosts: &Hosts, name: &str) -> String {
        page(hosts.connect(self.host, self.member.clients).ok(), name)
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            // It may have ended already.
            _ = node.kill();
        }
    }
}

fn copy(from: &Path, to: &Path) -> Outcome<()> {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("cp: {status}").into()),
    }
}
