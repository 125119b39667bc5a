//! The connections of one generator thread, driven by readiness.

use super::connection::{Connection, Pending, Received};
use super::measurement::Stopwatch;
use super::poller::Poller;
use super::scanner::{Outcome, Scanner};
use super::target::Target;
use std::io;

/// How long a sleeping wait lasts at most, in nanoseconds.
const SLEEP_NS_MAX: u64 = 10_000_000;

/// Connections, and what is ready on them.
pub struct Fleet {
    connections: Vec<Connection>,
    poller: Poller,
    ready: Vec<usize>,
    /// Time spent finding nothing ready, in nanoseconds.
    idle_ns: u64,
    spin: bool,
}

impl Fleet {
    /// Opens `count` connections. With `spin`, waiting for them takes a core but no wake-up time.
    ///
    /// # Errors
    /// Those of connecting.
    pub fn connect(
        target: &Target,
        count: usize,
        spin: bool,
        scanner: impl Fn() -> Scanner,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        let mut connections = Vec::with_capacity(count);
        for token in 0..count {
            let socket = target.connect()?;
            rustix::io::ioctl_fionbio(&socket, true)?;
            let connection = Connection::new(socket, scanner());
            poller.add(&connection, token)?;
            connections.push(connection);
        }
        Ok(Fleet {
            connections,
            poller,
            ready: Vec::new(),
            idle_ns: 0,
            spin,
        })
    }

    /// The connections.
    pub fn connections(&mut self) -> &mut [Connection] {
        &mut self.connections
    }

    /// Forgets the idle time so far.
    pub fn start_idle_time(&mut self) {
        self.idle_ns = 0;
    }

    /// Nanoseconds in which nothing was ready, since [`Fleet::start_idle_time`].
    pub fn idle_ns(&self) -> u64 {
        self.idle_ns
    }

    /// Requests without a whole reply, on all connections.
    pub fn outstanding(&self) -> usize {
        self.connections.iter().map(Connection::outstanding).sum()
    }

    /// The first error that the server answered with on any connection.
    pub fn first_error(&self) -> Option<String> {
        self.connections
            .iter()
            .find_map(|connection| connection.first_error().map(str::to_owned))
    }

    /// Serves what is ready: sends waiting output, receives, reports answers; then offers each
    /// such connection to `next`, which may queue more. Returns the time of its look.
    ///
    /// # Errors
    /// Those of the connections.
    pub fn turn(
        &mut self,
        clock: &Stopwatch,
        wait_ns_max: u64,
        done: &mut impl FnMut(Pending, Outcome, u64),
        next: &mut impl FnMut(&mut Connection),
    ) -> io::Result<u64> {
        let timeout_ns = if self.spin {
            0
        } else {
            wait_ns_max.min(SLEEP_NS_MAX)
        };
        self.ready.clear();
        let looked_ns = clock.now_ns();
        self.poller.wait(timeout_ns, &mut self.ready)?;
        let now_ns = clock.now_ns();
        if self.ready.is_empty() {
            self.idle_ns += now_ns - looked_ns;
        }
        for &token in &self.ready {
            let connection = &mut self.connections[token];
            connection.send()?;
            while connection.receive(clock, done)? == Received::More {}
            next(connection);
            connection.send()?;
        }
        Ok(now_ns)
    }
}
