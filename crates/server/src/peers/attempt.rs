//! Connecting to a peer for a worker: on a thread of its own, which hands the worker a connection
//! that is ready.

use super::upgrade;
use crate::cluster::Cluster;
use crate::dial::{CallPort, Dialled, Made, Unconnected, open, unblocked};
use crate::mailbox::Mailbox;
use crate::shared::Shared;
use crate::upgrade::registry::Registry;
use farcache_cluster::Address;
use farcache_fabric::Grant;
use farcache_peers::greeting::Hello;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// What is to be connected to.
pub struct Attempt {
    /// The worker's wire to it.
    pub index: usize,
    /// Which attempt of that wire.
    pub attempt: u64,
    /// Where it is reached, the best place first.
    pub addresses: Vec<Address>,
    /// How long each step may take.
    pub timeout: Duration,
    /// The server that asks.
    pub shared: Arc<Shared>,
    /// What it says.
    pub hello: Hello,
    /// Whether a port is to be opened, if the peer grants a session on the fabric.
    pub calls: HasCalls,
}

/// Whether the worker that asks has a port for calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HasCalls {
    /// It has one.
    Yes,
    /// It has none yet.
    No,
}

/// Connects on a thread of its own, and tells the worker.
///
/// # Errors
/// When threads are exhausted.
pub fn start(attempt: Attempt, mailbox: Arc<Mailbox>) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("dial".to_owned());
    thread.spawn(move || {
        let result = attempt.run();
        mailbox.dialled(Dialled {
            index: attempt.index,
            attempt: attempt.attempt,
            result,
        });
    })?;
    Ok(())
}

impl Attempt {
    fn run(&self) -> Result<Made, Unconnected> {
        let secret = self.shared.cluster.as_ref().and_then(Cluster::secret);
        let open = || open(&self.addresses, self.timeout, &self.hello, secret);
        let mut connection = open()?;
        let mut session = None;
        // Its own parts a server asks itself for, where they have to wait.
        let is_other = self.hello.to != self.hello.from;
        if let Some(fabric) = self.shared.fabric.get().filter(|_| is_other) {
            session = match upgrade::ask(&mut connection, fabric, self.hello.epoch) {
                Ok(granted) => granted.and_then(|grant| self.with_port(grant, fabric)),
                // An older server ends the connection on which it is asked for what it does not
                // know.
                Err(_) => {
                    connection = open()?;
                    None
                }
            };
        }
        let (grant, port) = session.unzip();
        Ok(Made {
            socket: unblocked(connection)?,
            grant,
            port: port.flatten(),
        })
    }

    /// The grant, with a port if one is needed; none where there is no port for it.
    fn with_port(&self, grant: Grant, fabric: &Registry) -> Option<(Grant, Option<Box<CallPort>>)> {
        if self.calls == HasCalls::Yes {
            return Some((grant, None));
        }
        match fabric.call_port()? {
            Ok(port) => Some((grant, Some(port))),
            Err(error) => {
                tracing::warn!(%error, "no port for other servers: they are asked over sockets");
                None
            }
        }
    }
}
