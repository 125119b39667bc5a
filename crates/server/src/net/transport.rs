//! One connection's bytes, whatever carries them.

use super::tls::TlsStream;
use rustix::net::{RecvFlags, SendFlags};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A non-blocking stream to one client.
pub enum Transport {
    /// A TCP or unix socket.
    Plain(OwnedFd),
    /// An encrypted TCP or unix socket.
    Tls(Box<TlsStream>),
}

impl Transport {
    /// Whether what it carries is encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Transport::Tls(_))
    }

    /// Reads what is there; 0 at the end of the stream.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when nothing is there; anything else ends the connection.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => {
                Ok(rustix::net::recv(socket, buffer, RecvFlags::empty())?.0)
            }
            Transport::Tls(stream) => stream.read(buffer),
        }
    }

    /// Reads into `first` and, when that is full, perhaps on into `second`; returns the bytes read
    /// in all.
    ///
    /// # Errors
    /// As [`Transport::read`].
    pub fn read_two(&mut self, first: &mut [u8], second: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => {
                let mut slices = [IoSliceMut::new(first), IoSliceMut::new(second)];
                Ok(rustix::io::readv(socket, &mut slices)?)
            }
            Transport::Tls(stream) => stream.read(first),
        }
    }

    /// Writes as much of `bytes` as the socket takes.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when it takes nothing; anything else ends the connection.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => Ok(rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)?),
            Transport::Tls(stream) => stream.write_slices(&[IoSlice::new(bytes)]),
        }
    }

    /// Writes as much of `slices` as the socket takes.
    ///
    /// # Errors
    /// As [`Transport::write`].
    pub fn write_slices(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            // The Rust runtime ignores SIGPIPE, so a closed peer is an error here too.
            Transport::Plain(socket) => Ok(rustix::io::writev(socket, slices)?),
            Transport::Tls(stream) => stream.write_slices(slices),
        }
    }

    /// Sends what has been written but held back.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Transport::Plain(_) => Ok(()),
            Transport::Tls(stream) => stream.flush(),
        }
    }

    /// Whether bytes are held back until the socket takes them.
    pub fn has_unsent(&self) -> bool {
        match self {
            Transport::Plain(_) => false,
            Transport::Tls(stream) => stream.has_unsent(),
        }
    }

    /// Whether input is there that epoll does not know of.
    pub fn has_buffered_input(&self) -> bool {
        match self {
            Transport::Plain(_) => false,
            Transport::Tls(stream) => stream.has_buffered_input(),
        }
    }

    /// Tells the client that no more will come, where the transport has a way to.
    pub fn say_goodbye(&mut self) {
        if let Transport::Tls(stream) = self {
            stream.say_goodbye();
        }
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Transport::Plain(socket) => socket.as_fd(),
            Transport::Tls(stream) => stream.as_fd(),
        }
    }
}
