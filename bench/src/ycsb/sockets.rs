//! Clients that do the least that a client of memcached can do: meta commands, pipelined, each
//! client's over a connection to each server; the calls of many connections are made together.

use super::clients::{Asked, Clients, Ended};
use super::records::{Records, Seen};
use crate::load::connection::{Connection, Pending, Received};
use crate::load::fleet::chosen;
use crate::load::measurement::Stopwatch;
use crate::load::meta::{Answer, Judge, MetaReplies};
use crate::load::poller::Poller;
use farcache_client::distribution::{Placement, PlacementSettings, Server};
use farcache_harness::target::Target;
use farcache_sockets::Batch;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::sync::Arc;

/// Connections that are served together.
const TOGETHER_MAX: usize = 32;
/// How often readiness is looked for before the thread sleeps for it.
const LOOKS_MAX: usize = 100;
/// How long it sleeps at most, in nanoseconds.
const SLEEP_NS_MAX: u64 = 10_000_000;

/// Looks at records, for requests with such tags.
struct Look<T> {
    records: Arc<Records>,
    tag: PhantomData<T>,
}

impl<T: Copy> Judge for Look<T> {
    type Asked = Asked<T>;
    type Seen = Seen;

    fn look(&self, asked: Asked<T>, value: &[u8]) -> Seen {
        self.records.look(asked.number, value)
    }
}

fn end_of(answer: Answer<Seen>) -> Ended {
    match answer {
        Answer::Value(seen) => Ended::Read(seen),
        Answer::Absent => Ended::Read(Seen::Absent),
        Answer::Done => Ended::Written,
        Answer::Error => Ended::Failed,
    }
}

/// Clients over sockets.
pub struct SocketClients<T: Copy> {
    /// The connections of each client, one for each server.
    connections: Vec<Connection<MetaReplies<Look<T>>>>,
    servers: usize,
    placement: Placement,
    poller: Poller,
    ready: Vec<usize>,
    /// Connections with something to send, once each.
    to_send: Vec<usize>,
    batch: Option<Box<Batch>>,
    results: Vec<io::Result<usize>>,
    clock: Stopwatch,
}

impl<T: Copy> SocketClients<T> {
    /// So many, connected to every server.
    ///
    /// # Errors
    /// If a server cannot be connected to.
    pub fn connect(targets: &[Target], clients: usize, records: Records) -> io::Result<Self> {
        let poller = Poller::new()?;
        let records = Arc::new(records);
        let mut connections = Vec::with_capacity(clients * targets.len());
        for _ in 0..clients {
            for target in targets {
                let socket = target.connect()?;
                rustix::io::ioctl_fionbio(&socket, true)?;
                let look = Look {
                    records: Arc::clone(&records),
                    tag: PhantomData,
                };
                let replies = MetaReplies::new(look);
                let connection = Connection::new(socket, replies);
                poller.add(&connection, connections.len())?;
                connections.push(connection);
            }
        }
        Ok(SocketClients {
            connections,
            servers: targets.len(),
            placement: placement(targets),
            poller,
            ready: Vec::new(),
            to_send: Vec::new(),
            batch: Batch::new(TOGETHER_MAX as u32).ok().map(Box::new),
            results: Vec::new(),
            clock: Stopwatch::start(),
        })
    }

    /// Looks for a while, then sleeps: others may want this processor.
    fn wait(&mut self) -> io::Result<()> {
        for look in 0.. {
            let timeout_ns = if look < LOOKS_MAX { 0 } else { SLEEP_NS_MAX };
            self.poller.wait(timeout_ns, &mut self.ready)?;
            if !self.ready.is_empty() {
                break;
            }
        }
        self.ready.sort_unstable();
        self.ready.dedup();
        Ok(())
    }

    fn receive(
        &mut self,
        tokens: &[usize],
        ended: &mut dyn FnMut(Asked<T>, Ended),
    ) -> io::Result<()> {
        let mut done =
            |pending: Pending<Asked<T>>, answer, _| ended(pending.operation, end_of(answer));
        let Some(batch) = self.batch.as_mut().filter(|_| tokens.len() > 1) else {
            return chosen(&mut self.connections, tokens).try_for_each(|connection| {
                while connection.receive(&self.clock, &mut done)? == Received::More {}
                Ok(())
            });
        };
        let calls = chosen(&mut self.connections, tokens).map(Connection::to_receive);
        batch.receive(calls, &mut self.results);
        if !batch.is_usable() {
            return Err(io::Error::other("the kernel refuses its io_uring"));
        }
        let connections = chosen(&mut self.connections, tokens);
        for (connection, result) in connections.zip(self.results.drain(..)) {
            let mut received = connection.received(result, 0, &mut done)?;
            while received == Received::More {
                received = connection.receive(&self.clock, &mut done)?;
            }
        }
        Ok(())
    }

    fn send_some(&mut self, tokens: &[usize]) -> io::Result<()> {
        let Some(batch) = self.batch.as_mut().filter(|_| tokens.len() > 1) else {
            return chosen(&mut self.connections, tokens).try_for_each(Connection::send);
        };
        let calls = chosen(&mut self.connections, tokens).map(|connection| connection.to_send());
        batch.send(calls, &mut self.results);
        let connections = chosen(&mut self.connections, tokens);
        for (connection, result) in connections.zip(self.results.drain(..)) {
            // What was not taken waits for the socket to say that it has room.
            connection.sent(result)?;
        }
        Ok(())
    }
}

/// Where keys lie: as the client library has it for these servers.
fn placement(targets: &[Target]) -> Placement {
    let server = |target: &Target| match target {
        Target::Tcp(address) => Server::new(address.ip().to_string(), address.port()),
        Target::Unix(path) => Server::unix_socket(path.display().to_string()),
    };
    let servers = targets.iter().map(server).collect();
    Placement::new(PlacementSettings::default(), servers)
}

impl<T: Copy> Clients<T> for SocketClients<T> {
    fn begin(&mut self, asked: Asked<T>, key: &[u8], value: &[u8]) {
        let server = self.placement.server_of_key(key).unwrap_or(0);
        let token = asked.client * self.servers + server;
        let connection = &mut self.connections[token];
        if !connection.has_output() {
            self.to_send.push(token);
        }
        let pending = Pending {
            operation: asked,
            since_ns: 0,
        };
        connection.queue(pending, |output| {
            output.extend_from_slice(if asked.is_write { b"ms " } else { b"mg " });
            output.extend_from_slice(key);
            if asked.is_write {
                // Writing to a vector cannot fail.
                let _ = write!(output, " {}\r\n", value.len());
                output.extend_from_slice(value);
                output.extend_from_slice(b"\r\n");
            } else {
                output.extend_from_slice(b" v\r\n");
            }
        });
    }

    fn send(&mut self) -> io::Result<()> {
        let mut tokens = std::mem::take(&mut self.to_send);
        tokens.sort_unstable();
        tokens
            .chunks(TOGETHER_MAX)
            .try_for_each(|some| self.send_some(some))?;
        tokens.clear();
        self.to_send = tokens;
        Ok(())
    }

    fn serve(&mut self, ended: &mut dyn FnMut(Asked<T>, Ended)) -> io::Result<()> {
        self.wait()?;
        let mut tokens = std::mem::take(&mut self.ready);
        for some in tokens.chunks(TOGETHER_MAX) {
            self.receive(some, ended)?;
            chosen(&mut self.connections, some).try_for_each(Connection::send)?;
        }
        tokens.clear();
        self.ready = tokens;
        Ok(())
    }

    fn first_error(&self) -> Option<String> {
        let mut errors = self.connections.iter().map(Connection::replies);
        errors.find_map(|replies| replies.first_error().map(str::to_owned))
    }
}
