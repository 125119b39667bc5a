//! A connection to another server whose answers are waited for.

use farcache_peers::frame::Kind;
use farcache_peers::link::{Answer, Limits, Link};
use socket2::Socket;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Requests that may be on their way to one server.
const REQUESTS_MAX: usize = 4096;

/// Bytes of one reply: the largest value, with what stands around it.
const REPLY_BYTES_MAX: usize = (1 << 30) + (1 << 16);

/// Bytes read at a time.
const READ_BYTES: usize = 256 << 10;

/// What is asked of one server; `T` is what for.
pub struct Source<T> {
    socket: Socket,
    link: Link<T>,
    unsent: Vec<u8>,
    epoch: u64,
    buffer: Box<[u8]>,
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
            buffer: vec![0; READ_BYTES].into(),
        })
    }

    /// Has a request sent with the next [`Source::flush`].
    ///
    /// # Errors
    /// Too many are on their way.
    pub fn ask(&mut self, what_for: T, request: &[u8]) -> io::Result<()> {
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

    /// Waits until all has been answered that was asked for.
    ///
    /// # Errors
    /// The connection's, after what has been answered until then.
    pub fn receive(&mut self, mut answered: impl FnMut(T, Answer)) -> io::Result<()> {
        while self.link.outstanding() > 0 {
            let count = match self.socket.read(&mut self.buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.link
                .receive(&self.buffer[..count], &mut answered)
                .map_err(|_| io::Error::other("another server sends nonsense"))?;
        }
        Ok(())
    }
}
