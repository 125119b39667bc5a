//! A connection to another server that is asked.

use farcache_peers::frame::Kind;
use farcache_peers::link::{Answer, Limits, Link};
use socket2::Socket;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Requests that may be on their way to one server.
const REQUESTS_MAX: usize = 4096;

/// Bytes of one reply: the largest value, with what stands around it.
const REPLY_BYTES_MAX: usize = (1 << 30) + (1 << 16);

/// What is asked of one server; `T` is what for.
pub struct Source<T> {
    socket: Socket,
    link: Link<T>,
    unsent: Vec<u8>,
    epoch: u64,
    timeout: Duration,
    /// When it was asked while nothing was on its way, or has sent something.
    heard: Instant,
}

impl<T> Source<T> {
    /// Over a connection that has been greeted, by the map of this epoch. An answer may take
    /// `timeout`.
    ///
    /// # Errors
    /// The system's.
    pub fn new(socket: OwnedFd, epoch: u64, timeout: Duration) -> io::Result<Source<T>> {
        let socket = Socket::from(socket);
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(timeout))?;
        socket.set_write_timeout(Some(timeout))?;
        Ok(Source {
            socket,
            link: Link::new(Limits {
                requests_max: REQUESTS_MAX,
                request_bytes_max: usize::MAX,
                reply_bytes_max: REPLY_BYTES_MAX,
            }),
            unsent: Vec::new(),
            epoch,
            timeout,
            heard: Instant::now(),
        })
    }

    /// Has a request sent with the next [`Source::flush`].
    ///
    /// # Errors
    /// Too many are on their way.
    pub fn ask(&mut self, what_for: T, request: &[u8]) -> io::Result<()> {
        if !self.is_awaited() {
            self.heard = Instant::now();
        }
        // The socket's own limits count here.
        let head = self
            .link
            .ask(Kind::Request, what_for, self.epoch, request.len(), u64::MAX)
            .map_err(|_| io::Error::other("too many requests to one server"))?;
        self.unsent.extend_from_slice(&head);
        self.unsent.extend_from_slice(request);
        Ok(())
    }

    /// Sends what was asked for.
    ///
    /// # Errors
    /// The connection's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.socket.write_all(&self.unsent)?;
        self.unsent.clear();
        Ok(())
    }

    /// Whether answers are on their way.
    pub fn is_awaited(&self) -> bool {
        self.link.outstanding() > 0
    }

    /// Whether its answers take longer than they may.
    pub fn is_late(&self) -> bool {
        self.is_awaited() && self.heard.elapsed() >= self.timeout
    }

    /// Takes what has come, for which it waits if that is nothing; `buffer` is for its bytes.
    ///
    /// # Errors
    /// The connection's, after what has been answered until then.
    pub fn receive(
        &mut self,
        buffer: &mut [u8],
        answered: impl FnMut(T, Answer),
    ) -> io::Result<()> {
        let count = match self.socket.read(buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        };
        self.heard = Instant::now();
        self.link
            .receive(&buffer[..count], answered)
            .map_err(|_| io::Error::other("another server sends nonsense"))
    }
}

impl<T> AsFd for Source<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
