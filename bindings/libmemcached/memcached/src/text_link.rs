//! A short text connection for what only the text protocol can ask: verbosity, and which keys there
//! are.

use crate::context::Context;
use farcache_libmemcached_abi::Connection;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Longest line that an answer may have: a key of 250 bytes, three characters each, and some
/// numbers.
const LINE_BYTES_MAX: u64 = 4096;

/// Either kind of connection.
trait Link: Read + Write {}

impl<L: Read + Write> Link for L {}

impl Context<'_> {
    /// Asks a server; tells each line of its answer before the last, which is `OK` or `END`.
    pub(crate) fn ask_text(
        &mut self,
        server: usize,
        question: &str,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let mut link = BufReader::new(self.open_link(server)?);
        link.get_mut().write_all(question.as_bytes())?;
        let mut line = Vec::new();
        loop {
            line.clear();
            (&mut link)
                .take(LINE_BYTES_MAX)
                .read_until(b'\n', &mut line)?;
            let text = String::from_utf8_lossy(&line);
            // The keys' lines end with a line feed alone.
            let text = text.strip_suffix('\n').ok_or(ErrorKind::UnexpectedEof)?;
            let text = text.strip_suffix('\r').unwrap_or(text);
            match text {
                "OK" | "END" => return Ok(()),
                "ERROR" | "BUSY" => return Err(Error::new(ErrorKind::InvalidData, text)),
                _ if text.starts_with("CLIENT_ERROR") || text.starts_with("SERVER_ERROR") => {
                    return Err(Error::new(ErrorKind::InvalidData, text));
                }
                _ => tell(text),
            }
        }
    }

    fn open_link(&self, server: usize) -> Result<Box<dyn Link>, Error> {
        let limit = |number: i32| {
            u64::try_from(number)
                .ok()
                .filter(|&number| number > 0)
                .map(Duration::from_millis)
        };
        let timeout = limit(self.handle.poll_timeout);
        let server = &self.state.servers[server];
        let host = server.hostname.to_string_lossy();
        if server.kind == Connection::UNIX_SOCKET {
            let link = UnixStream::connect(&*host)?;
            link.set_read_timeout(timeout)?;
            return Ok(Box::new(link));
        }
        let mut last = Error::from(ErrorKind::NotFound);
        for address in (&*host, server.port).to_socket_addrs()? {
            let opened = match limit(self.handle.connect_timeout) {
                Some(timeout) => TcpStream::connect_timeout(&address, timeout),
                None => TcpStream::connect(address),
            };
            match opened {
                Ok(link) => {
                    link.set_read_timeout(timeout)?;
                    return Ok(Box::new(link));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}
