//! One connection: requests waiting to be sent, and those waiting for their replies.

use super::measurement::Stopwatch;
use super::protocol::Operation;
use super::scanner::{BadReply, Scanner};
use farcache_sockets::{Receiving, Sending};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::collections::VecDeque;
use std::io;

/// Bytes read at once on a new connection.
const INPUT_BYTES: usize = 16 << 10;

/// Bytes read at once where replies fill more; beyond it grow only values verified whole.
const INPUT_BYTES_MAX: usize = 256 << 10;

/// Reads the replies of one connection.
pub trait Replies {
    /// What a request asks for.
    type Asked: Copy;
    /// What its reply says.
    type Answer;

    /// Reads on in the reply to a request; returns how many bytes it is done with, and the answer
    /// once that is whole.
    ///
    /// # Errors
    /// If the bytes are no reply to it.
    fn read(
        &mut self,
        input: &[u8],
        asked: Self::Asked,
    ) -> Result<(usize, Option<Self::Answer>), BadReply>;
}

/// A request sent or about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Pending<Asked = Operation> {
    /// What it does.
    pub operation: Asked,
    /// When it was sent, or should have been: the start of its latency.
    pub since_ns: u64,
}

/// What a receive did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// All that the kernel had has been taken.
    Drained,
    /// There may be more.
    More,
}

/// A connection and its requests. Works on blocking and on non-blocking sockets alike.
pub struct Connection<R: Replies = Scanner> {
    socket: OwnedFd,
    output: Vec<u8>,
    sent_bytes: usize,
    input: Vec<u8>,
    /// Bytes of `input` read but not understood yet.
    input_from: usize,
    input_to: usize,
    pending: VecDeque<Pending<R::Asked>>,
    replies: R,
}

impl Connection {
    /// The first error that the server answered with.
    pub fn first_error(&self) -> Option<&str> {
        self.replies().first_error()
    }
}

impl<R: Replies> Connection<R> {
    /// A connection over a connected socket.
    pub fn new(socket: OwnedFd, replies: R) -> Self {
        Connection {
            socket,
            output: Vec::new(),
            sent_bytes: 0,
            input: vec![0; INPUT_BYTES],
            input_from: 0,
            input_to: 0,
            pending: VecDeque::new(),
            replies,
        }
    }

    /// What reads the replies.
    pub fn replies(&self) -> &R {
        &self.replies
    }

    /// Adds a request, which `render` appends to the output.
    pub fn queue(&mut self, pending: Pending<R::Asked>, render: impl FnOnce(&mut Vec<u8>)) {
        self.pending.push_back(pending);
        render(&mut self.output);
    }

    /// The latency of the request added last counts from then.
    pub fn count_last_from(&mut self, since_ns: u64) {
        if let Some(last) = self.pending.back_mut() {
            last.since_ns = since_ns;
        }
    }

    /// Requests without a whole reply.
    pub fn outstanding(&self) -> usize {
        self.pending.len()
    }

    /// Whether bytes wait to be sent.
    pub fn has_output(&self) -> bool {
        self.sent_bytes < self.output.len()
    }

    /// Sends until all is sent or the socket takes no more.
    ///
    /// # Errors
    /// Those of the socket; one that takes no more now is none.
    pub fn send(&mut self) -> io::Result<()> {
        while self.has_output() {
            let rest = &self.output[self.sent_bytes..];
            match rustix::net::send(&self.socket, rest, SendFlags::NOSIGNAL) {
                Ok(bytes) => self.sent_bytes += bytes,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.output.clear();
        self.sent_bytes = 0;
        Ok(())
    }

    /// The next bytes to send, for whoever sends those of many connections together.
    pub fn to_send(&self) -> Sending<'_> {
        Sending {
            socket: self.socket.as_fd(),
            bytes: &self.output[self.sent_bytes..],
        }
    }

    /// A send of [`Connection::to_send`] has ended so.
    ///
    /// # Errors
    /// Those of the socket; one that takes no more now is none.
    pub fn sent(&mut self, result: io::Result<usize>) -> io::Result<()> {
        match result {
            Ok(bytes) => self.sent_bytes += bytes,
            Err(error) if is_for_later(&error) => {}
            Err(error) => return Err(error),
        }
        if !self.has_output() {
            self.output.clear();
            self.sent_bytes = 0;
        }
        Ok(())
    }

    /// Receives once, and reports each request answered and its latency in nanoseconds.
    ///
    /// # Errors
    /// Those of the socket, its end, and replies that are wrong.
    pub fn receive(
        &mut self,
        clock: &Stopwatch,
        done: &mut impl FnMut(Pending<R::Asked>, R::Answer, u64),
    ) -> io::Result<Received> {
        let Receiving { socket, room } = self.to_receive();
        let result = match rustix::net::recv(socket, room, RecvFlags::empty()) {
            Ok((bytes, _)) => Ok(bytes),
            Err(error) => Err(error.into()),
        };
        self.received(result, clock.now_ns(), done)
    }

    /// Room for the next bytes, for whoever receives those of many connections together.
    pub fn to_receive(&mut self) -> Receiving<'_> {
        self.make_room();
        Receiving {
            socket: self.socket.as_fd(),
            room: &mut self.input[self.input_to..],
        }
    }

    /// A receive into the room of [`Connection::to_receive`] has ended so, at `now_ns`: reports
    /// each request answered and its latency in nanoseconds.
    ///
    /// # Errors
    /// Those of the socket, its end, and replies that are wrong.
    pub fn received(
        &mut self,
        result: io::Result<usize>,
        now_ns: u64,
        done: &mut impl FnMut(Pending<R::Asked>, R::Answer, u64),
    ) -> io::Result<Received> {
        let room_bytes = self.input.len() - self.input_to;
        let bytes = match result {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Received::Drained);
            }
            Err(error) if is_for_later(&error) => return Ok(Received::More),
            Err(error) => return Err(error),
        };
        self.input_to += bytes;
        self.understand(&mut |pending: Pending<R::Asked>, outcome| {
            done(pending, outcome, now_ns.saturating_sub(pending.since_ns));
        })?;
        if bytes < room_bytes {
            return Ok(Received::Drained);
        }
        if self.input.len() < INPUT_BYTES_MAX {
            self.input.resize(self.input.len() * 2, 0);
        }
        Ok(Received::More)
    }

    /// Moves what is not understood yet to the front; grows where even that fills the input.
    fn make_room(&mut self) {
        if self.input_from == self.input_to {
            (self.input_from, self.input_to) = (0, 0);
        } else if self.input_from > 0 {
            self.input.copy_within(self.input_from..self.input_to, 0);
            self.input_to -= self.input_from;
            self.input_from = 0;
        }
        if self.input_to == self.input.len() {
            self.input.resize(self.input.len() * 2, 0);
        }
    }

    fn understand(
        &mut self,
        done: &mut impl FnMut(Pending<R::Asked>, R::Answer),
    ) -> io::Result<()> {
        while self.input_from < self.input_to {
            let Some(&pending) = self.pending.front() else {
                return Err(io::Error::other("a reply that was not asked for"));
            };
            let unread = &self.input[self.input_from..self.input_to];
            let (used, answer) = self
                .replies
                .read(unread, pending.operation)
                .map_err(io::Error::other)?;
            self.input_from += used;
            let Some(answer) = answer else {
                return Ok(());
            };
            self.pending.pop_front();
            done(pending, answer);
        }
        Ok(())
    }
}

/// Whether the socket is not ready, or the call was interrupted.
fn is_for_later(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted)
}

impl<R: Replies> AsFd for Connection<R> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
