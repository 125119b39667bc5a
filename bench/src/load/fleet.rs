//! The connections of one generator thread, driven by readiness.

use super::connection::{Connection, Pending, Received, Replies};
use super::measurement::{Stopwatch, involuntary_switches};
use super::poller::Poller;
use super::scanner::{Outcome, Scanner};
use farcache_base::polling::PollPermit;
use farcache_harness::target::Target;
use farcache_sockets::Batch;
use std::io;

/// How long a sleeping wait lasts at most, in nanoseconds.
const SLEEP_NS_MAX: u64 = 10_000_000;

/// Connections that are served together: the more, the fewer system calls; but their server waits
/// for all of them.
const TOGETHER_MAX: usize = 32;

/// Connections, and what is ready on them.
pub struct Fleet {
    connections: Vec<Connection>,
    poller: Poller,
    ready: Vec<usize>,
    /// Connections served in a turn at most; the others are next.
    served_max: usize,
    /// Time spent finding nothing ready, in nanoseconds.
    idle_ns: u64,
    spin: bool,
    /// Sleeps instead of spinning where others want this thread's processor.
    gives_way: bool,
    permit: PollPermit,
    /// The permit's time.
    since_connected: Stopwatch,
    /// Serves connections together; none where the system has no io_uring.
    batch: Option<Box<Batch>>,
    /// What became of the calls made together; kept for its memory.
    results: Vec<io::Result<usize>>,
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
            served_max: usize::MAX,
            idle_ns: 0,
            spin,
            gives_way: false,
            permit: PollPermit::default(),
            since_connected: Stopwatch::start(),
            batch: Batch::new(TOGETHER_MAX as u32).ok().map(Box::new),
            results: Vec::new(),
        })
    }

    /// Serves no more than so many connections in a turn, so that the client can do other things in
    /// between.
    pub fn serve_at_most(mut self, served_max: usize) -> Self {
        self.served_max = served_max;
        self
    }

    /// Sleeps instead of spinning where others want this thread's processor. Only for a thread that
    /// has nothing else to do than wait for these connections.
    pub fn give_way(mut self) -> Self {
        self.gives_way = true;
        self
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

    /// Serves what is ready: sends waiting output, receives, reports answers; then offers each such
    /// connection to `next`, with the time, which may queue more. Returns the time of its look.
    ///
    /// # Errors
    /// Those of the connections.
    pub fn turn(
        &mut self,
        clock: &Stopwatch,
        wait_ns_max: u64,
        done: &mut impl FnMut(Pending, Outcome, u64),
        next: &mut impl FnMut(&mut Connection, u64),
    ) -> io::Result<u64> {
        let looked_ns = clock.now_ns();
        let mut now_ns = looked_ns;
        if self.ready.is_empty() {
            let spins = self.spins(clock, looked_ns);
            let timeout_ns = match spins {
                true => 0,
                false => wait_ns_max.min(SLEEP_NS_MAX),
            };
            self.poller.wait(timeout_ns, &mut self.ready)?;
            now_ns = clock.now_ns();
            if !spins {
                let woken = clock.shown_by(&self.since_connected, now_ns);
                self.permit.resume(woken);
            }
            if self.ready.is_empty() {
                self.idle_ns += now_ns - looked_ns;
            }
            self.ready.sort_unstable();
        }
        let mut ready = std::mem::take(&mut self.ready);
        let count = ready.len().min(self.served_max);
        let served = ready[..count].chunks(TOGETHER_MAX).try_for_each(|tokens| {
            if tokens.len() == 1 {
                return self.serve_one(tokens[0], clock, done, next);
            }
            match self.batch.take().filter(|batch| batch.is_usable()) {
                Some(batch) => self.serve_together(tokens, batch, clock, done, next),
                None => tokens
                    .iter()
                    .try_for_each(|&token| self.serve_one(token, clock, done, next)),
            }
        });
        ready.drain(..count);
        self.ready = ready;
        served.map(|()| now_ns)
    }

    /// Whether to look again at once where nothing is ready.
    fn spins(&mut self, clock: &Stopwatch, now_ns: u64) -> bool {
        if !self.spin || !self.gives_way {
            return self.spin;
        }
        let now = clock.shown_by(&self.since_connected, now_ns);
        self.permit.look(now, involuntary_switches)
    }

    fn serve_one(
        &mut self,
        token: usize,
        clock: &Stopwatch,
        done: &mut impl FnMut(Pending, Outcome, u64),
        next: &mut impl FnMut(&mut Connection, u64),
    ) -> io::Result<()> {
        let connection = &mut self.connections[token];
        connection.send()?;
        while connection.receive(clock, done)? == Received::More {}
        next(connection, clock.now_ns());
        connection.send()
    }

    /// Serves several connections, in ascending order, with few system calls.
    fn serve_together(
        &mut self,
        tokens: &[usize],
        mut batch: Box<Batch>,
        clock: &Stopwatch,
        done: &mut impl FnMut(Pending, Outcome, u64),
        next: &mut impl FnMut(&mut Connection, u64),
    ) -> io::Result<()> {
        for connection in chosen(&mut self.connections, tokens) {
            connection.send()?;
        }
        let calls = chosen(&mut self.connections, tokens).map(Connection::to_receive);
        batch.receive(calls, &mut self.results);
        if !batch.is_usable() {
            // Which sockets were read is not known, and they are reported only when they change.
            return Err(io::Error::other("the kernel refuses its io_uring"));
        }
        let now_ns = clock.now_ns();
        let connections = chosen(&mut self.connections, tokens);
        for (connection, result) in connections.zip(self.results.drain(..)) {
            let mut received = connection.received(result, now_ns, done)?;
            while received == Received::More {
                received = connection.receive(clock, done)?;
            }
            next(connection, now_ns);
        }
        let calls = chosen(&mut self.connections, tokens).map(|connection| connection.to_send());
        let calls = calls.filter(|call| !call.bytes.is_empty());
        batch.send(calls, &mut self.results);
        let connections = chosen(&mut self.connections, tokens).filter(|c| c.has_output());
        for (connection, result) in connections.zip(self.results.drain(..)) {
            connection.sent(result)?;
            // What was not taken waits for the socket to say that it has room.
        }
        self.batch = Some(batch);
        Ok(())
    }
}

/// The connections of these tokens, which ascend.
pub(crate) fn chosen<'a, R: Replies>(
    mut connections: &'a mut [Connection<R>],
    tokens: &'a [usize],
) -> impl Iterator<Item = &'a mut Connection<R>> {
    let mut passed = 0;
    tokens.iter().map(move |&token| {
        let rest = std::mem::take(&mut connections);
        let (connection, rest) = rest[token - passed..]
            .split_first_mut()
            .expect("a connection has this token");
        (connections, passed) = (rest, token + 1);
        connection
    })
}
