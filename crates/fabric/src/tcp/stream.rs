//! A connected, non-blocking stream socket, encrypted or not.

use rustix::net::{RecvFlags, SendFlags};
use rustls::ClientConnection;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Most bytes that are taken from a server at once where they are translated.
const RECEIVED_BYTES: usize = 64 << 10;

/// Encrypted or translated bytes that may be held back before no more are taken.
const UNSENT_BYTES_MAX: usize = 64 << 10;

/// A client's end of a stream: TCP or a unix socket, with TLS if wanted. Its socket is
/// non-blocking.
pub struct Stream {
    socket: OwnedFd,
    tls: Option<Tls>,
    translated: Option<Box<Translated>>,
}

/// Stands between packets and a server that speaks another protocol.
pub trait Translator: Send {
    /// Takes a piece of what is written; appends what is sent instead.
    ///
    /// # Errors
    /// It cannot be translated: the connection is broken.
    fn requests(&mut self, packets: &[u8], sent: &mut Vec<u8>) -> Result<(), &'static str>;

    /// Takes a piece of what the server sent; appends what is read instead, and what is to be sent
    /// on its account.
    ///
    /// # Errors
    /// As for requests.
    fn replies(
        &mut self,
        received: &[u8],
        packets: &mut Vec<u8>,
        sent: &mut Vec<u8>,
    ) -> Result<(), &'static str>;
}

struct Translated {
    translator: Box<dyn Translator>,
    /// What the server sent, one piece at a time.
    received: Vec<u8>,
    /// Packets that have not been read.
    packets: Vec<u8>,
    packets_read: usize,
    /// What has not been sent.
    unsent: Vec<u8>,
    unsent_begin: usize,
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
        Ok(Stream {
            socket,
            tls: None,
            translated: None,
        })
    }

    /// Takes a connected socket that is encrypted from its first byte on; the handshake is part of
    /// reading and writing.
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

    /// The stream of a server that does not speak in packets.
    #[must_use]
    pub fn translated(self, translator: Box<dyn Translator>) -> Stream {
        let translated = Some(Box::new(Translated {
            translator,
            received: vec![0; RECEIVED_BYTES],
            packets: Vec::new(),
            packets_read: 0,
            unsent: Vec::new(),
            unsent_begin: 0,
        }));
        Stream { translated, ..self }
    }

    /// Reads what is there; 0 bytes mean the end, [`io::ErrorKind::WouldBlock`] that nothing is
    /// there.
    ///
    /// # Errors
    /// The connection is broken, or the other end does not speak TLS.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(mut translated) = self.translated.take() else {
            return self.read_bytes(buffer);
        };
        let outcome = translated.read(self, buffer);
        self.translated = Some(translated);
        outcome
    }

    fn read_bytes(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
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
        let Some(mut translated) = self.translated.take() else {
            return self.write_bytes(slices);
        };
        let outcome = translated.write(self, slices);
        self.translated = Some(translated);
        outcome
    }

    fn write_bytes(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.tls {
            None => send(&self.socket, slices),
            Some(tls) => tls.write(&self.socket, slices),
        }
    }

    /// Sends what has been encrypted or translated, as far as the socket takes it.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(mut translated) = self.translated.take() {
            let outcome = translated.flush(self);
            self.translated = Some(translated);
            outcome?;
        }
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.flush(&self.socket),
        }
    }

    /// Whether encrypted or translated bytes wait for the socket to take them.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        let is_untranslated = self
            .translated
            .as_ref()
            .is_none_or(|translated| translated.unsent.is_empty());
        !is_untranslated
            || self
                .tls
                .as_ref()
                .is_some_and(|tls| tls.connection.wants_write())
    }

    /// Whether there is input that the socket does not report.
    #[must_use]
    pub fn has_buffered_input(&self) -> bool {
        self.translated
            .as_ref()
            .is_some_and(|translated| !translated.packets.is_empty())
            || self.tls.as_ref().is_some_and(|tls| tls.plaintext_waiting)
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Translated {
    fn read(&mut self, from: &mut Stream, buffer: &mut [u8]) -> io::Result<usize> {
        while self.packets.is_empty() {
            let count = from.read_bytes(&mut self.received)?;
            if count == 0 {
                return Ok(0);
            }
            let received = &self.received[..count];
            let (packets, unsent) = (&mut self.packets, &mut self.unsent);
            let translated = self.translator.replies(received, packets, unsent);
            translated.map_err(malformed)?;
            self.flush(from)?;
        }
        let waiting = &self.packets[self.packets_read..];
        let count = waiting.len().min(buffer.len());
        buffer[..count].copy_from_slice(&waiting[..count]);
        self.packets_read += count;
        if self.packets_read == self.packets.len() {
            self.packets.clear();
            self.packets_read = 0;
        }
        Ok(count)
    }

    fn write(&mut self, to: &mut Stream, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut taken = 0;
        for slice in slices {
            for piece in slice.chunks(UNSENT_BYTES_MAX) {
                if self.unsent.len() - self.unsent_begin >= UNSENT_BYTES_MAX {
                    self.flush(to)?;
                }
                if self.unsent.len() - self.unsent_begin >= UNSENT_BYTES_MAX {
                    return match taken {
                        0 => Err(io::ErrorKind::WouldBlock.into()),
                        taken => Ok(taken),
                    };
                }
                let translated = self.translator.requests(piece, &mut self.unsent);
                translated.map_err(malformed)?;
                taken += piece.len();
            }
        }
        self.flush(to)?;
        Ok(taken)
    }

    fn flush(&mut self, to: &mut Stream) -> io::Result<()> {
        while self.unsent_begin < self.unsent.len() {
            let waiting = IoSlice::new(&self.unsent[self.unsent_begin..]);
            match to.write_bytes(&[waiting]) {
                Ok(count) => self.unsent_begin += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.unsent.clear();
        self.unsent_begin = 0;
        Ok(())
    }
}

fn malformed(rule: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, rule)
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
