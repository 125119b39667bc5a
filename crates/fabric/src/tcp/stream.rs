//! A connected, non-blocking stream socket, encrypted or not.

use rustix::net::{RecvFlags, SendFlags};
use rustls::ClientConnection;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Encrypted bytes that may be held back before no more are taken.
const UNSENT_BYTES_MAX: usize = 64 << 10;

/// A client's end of a stream: TCP or a unix socket, with TLS if wanted. Its socket is non-blocking.
pub struct Stream {
    socket: OwnedFd,
    tls: Option<Tls>,
}

struct Tls {
    connection: Box<ClientConnection>,
    /// More has been decrypted than the reader had room for.
    plaintext_waiting: bool,
}

impl Stream {
    /// Takes a connected socket.
    ///
    /// # Errors
    /// The socket cannot be made non-blocking.
    pub fn plain(socket: impl Into<OwnedFd>) -> io::Result<Stream> {
        let socket = socket.into();
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Stream { socket, tls: None })
    }

    /// The same, encrypted from its first byte on; the handshake is part of reading and writing.
    ///
    /// # Errors
    /// The socket cannot be made non-blocking.
    pub fn encrypted(
        socket: impl Into<OwnedFd>,
        mut connection: ClientConnection,
    ) -> io::Result<Stream> {
        connection.set_buffer_limit(Some(UNSENT_BYTES_MAX));
        let plain = Stream::plain(socket)?;
        let tls = Some(Tls {
            connection: Box::new(connection),
            plaintext_waiting: false,
        });
        Ok(Stream { tls, ..plain })
    }

    /// Reads what is there; 0 bytes mean the end, [`io::ErrorKind::WouldBlock`] that nothing is there.
    ///
    /// # Errors
    /// The connection is broken, or the other end does not speak TLS.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => Ok(rustix::net::recv(&self.socket, buffer, RecvFlags::empty())?.0),
            Some(tls) => tls.read(&self.socket, buffer),
        }
    }

    /// Writes as much as is taken, in one system call where nothing is encrypted.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when nothing is taken; any other error breaks the connection.
    pub fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.tls {
            None => send(&self.socket, slices),
            Some(tls) => tls.write(&self.socket, slices),
        }
    }

    /// Sends what has been encrypted, as far as the socket takes it.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.flush(&self.socket),
        }
    }

    /// Whether encrypted bytes wait for the socket to take them.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.tls
            .as_ref()
            .is_some_and(|tls| tls.connection.wants_write())
    }

    /// Whether there is input that the socket does not report.
    #[must_use]
    pub fn has_buffered_input(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.plaintext_waiting)
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Tls {
    fn read(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => {
                    self.plaintext_waiting = matches!(other, Ok(count) if count == buffer.len());
                    return other;
                }
            }
            self.plaintext_waiting = false;
            if self.connection.read_tls(&mut Encrypted(socket))? == 0 {
                return Ok(0);
            }
            let processed = self.connection.process_new_packets();
            // Also tells the server what it did wrong.
            self.flush(socket)?;
            processed.map_err(io::Error::other)?;
        }
    }

    fn write(&mut self, socket: &OwnedFd, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut taken = 0;
        for slice in slices {
            let count = self.write_slice(socket, slice)?;
            taken += count;
            if count < slice.len() {
                break;
            }
        }
        match taken {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            taken => Ok(taken),
        }
    }

    fn write_slice(&mut self, socket: &OwnedFd, slice: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        while taken < slice.len() {
            let count = self.connection.writer().write(&slice[taken..])?;
            taken += count;
            self.flush(socket)?;
            if count == 0 {
                break;
            }
        }
        Ok(taken)
    }

    fn flush(&mut self, socket: &OwnedFd) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Encrypted(socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Sends without a signal when the other end is gone, whatever the program does with signals.
fn send(socket: &OwnedFd, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let mut no_control = rustix::net::SendAncillaryBuffer::default();
    let sent = rustix::net::sendmsg(socket, slices, &mut no_control, SendFlags::NOSIGNAL)?;
    Ok(sent)
}

/// The encrypted side, as rustls wants it.
struct Encrypted<'a>(&'a OwnedFd);

impl Read for Encrypted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(self.0, buffer, RecvFlags::empty())?.0)
    }
}

impl Write for Encrypted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send(self.0, &[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        send(self.0, slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
