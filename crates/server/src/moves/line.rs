//! The connection of the mover, or of the standoff, to one other server: questions, which are
//! answered in their order.

use crate::dial::{self, Connection};
use farcache_cluster::Address;
use farcache_moving::course::{QUESTIONS_MAX, Trouble};
use farcache_peers::frame::Kind;
use farcache_peers::greeting::{Hello, Secret};
use farcache_peers::link::{Answer, Limits, Link};
use farcache_session::FORWARDED_BYTES_MAX;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// How long the other server may be silent while a question is under way, and each step of
/// connecting may take.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Read at once.
const BUFFER_BYTES: usize = 64 << 10;

/// A connection. After an error it is of no use.
pub struct Line {
    connection: Connection,
    link: Link<()>,
    buffer: Box<[u8]>,
    /// When something came, or was asked while nothing was under way.
    heard: Instant,
}

impl Line {
    /// Connects to the server at these addresses.
    ///
    /// # Errors
    /// What kind of trouble there is, and the reason for the log.
    pub fn connect(
        addresses: &[Address],
        hello: &Hello,
        secret: Option<&Secret>,
    ) -> Result<Line, (Trouble, String)> {
        let connected = dial::open(addresses, TIMEOUT, hello, secret);
        let connection = connected.map_err(|unconnected| match unconnected.is_nobody_there {
            true => (Trouble::NobodyThere, unconnected.reason),
            false => (Trouble::Silent, unconnected.reason),
        })?;
        Ok(Line {
            connection,
            link: Link::new(Limits {
                requests_max: QUESTIONS_MAX,
                request_bytes_max: BUFFER_BYTES,
                reply_bytes_max: FORWARDED_BYTES_MAX as usize,
            }),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            heard: Instant::now(),
        })
    }

    /// Sends a question.
    ///
    /// # Errors
    /// If the connection fails, or as many are under way as may be.
    pub fn send(&mut self, kind: Kind, epoch: u64, body: &[u8]) -> io::Result<()> {
        if !self.awaits_answers() {
            self.heard = Instant::now();
        }
        let asked = self.link.ask(kind, (), epoch, body.len(), u64::MAX);
        let head = asked.map_err(|_| io::Error::other("too many questions have no answer yet"))?;
        self.connection.write_all(&[&head[..], body].concat())
    }

    /// Reads once, and adds what has been answered. Waits where nothing has come.
    ///
    /// # Errors
    /// If the connection fails or ends.
    pub fn receive(&mut self, answers: &mut Vec<Answer>) -> io::Result<()> {
        let count = match self.connection.read(&mut self.buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        };
        self.heard = Instant::now();
        let input = &self.buffer[..count];
        let received = self.link.receive(input, |(), answer| answers.push(answer));
        received.map_err(|_| io::Error::other("it sends nonsense"))
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn ask(&mut self, kind: Kind, epoch: u64, body: &[u8]) -> io::Result<Answer> {
        self.send(kind, epoch, body)?;
        let mut answers = Vec::new();
        while answers.is_empty() {
            self.receive(&mut answers)?;
        }
        answers.pop().ok_or_else(|| io::Error::other("no answer"))
    }

    /// Whether the other server has not ended the connection, on which nothing has been asked.
    pub fn is_open(&self) -> bool {
        let now = Timespec::default();
        let polled = poll(&mut [PollFd::new(self, PollFlags::IN)], Some(&now));
        polled == Ok(0)
    }

    /// Whether a question has no answer yet.
    pub fn awaits_answers(&self) -> bool {
        self.link.outstanding() > 0
    }

    /// Whether a question has had no answer, nor a part of one, for too long.
    pub fn is_silent(&self, now: Instant) -> bool {
        self.awaits_answers() && now.saturating_duration_since(self.heard) >= TIMEOUT
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}
