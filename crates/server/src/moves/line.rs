//! The mover's connection to one old owner: one question at a time, whose answer it waits for.

use crate::dial::{self, Connection};
use farcache_cluster::Address;
use farcache_moving::course::Trouble;
use farcache_peers::frame::Kind;
use farcache_peers::greeting::{Hello, Secret};
use farcache_peers::link::{Answer, Limits, Link};
use farcache_session::FORWARDED_BYTES_MAX;
use std::io::{self, Read, Write};
use std::time::Duration;

/// How long an answer may take, and each step of connecting.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Read at once.
const BUFFER_BYTES: usize = 64 << 10;

/// A connection.
pub struct Line {
    connection: Connection,
    link: Link<()>,
    buffer: Box<[u8]>,
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
                requests_max: 1,
                request_bytes_max: BUFFER_BYTES,
                reply_bytes_max: FORWARDED_BYTES_MAX as usize,
            }),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
        })
    }

    /// Asks, and waits for the answer; after an error the line is of no use.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn ask(&mut self, kind: Kind, epoch: u64, body: &[u8]) -> io::Result<Answer> {
        let asked = self.link.ask(kind, (), epoch, body.len(), u64::MAX);
        let head = asked.map_err(|_| io::Error::other("a question has no answer yet"))?;
        let question = [&head[..], body].concat();
        match &mut self.connection {
            Connection::Tcp(stream) => stream.write_all(&question)?,
            Connection::Unix(stream) => stream.write_all(&question)?,
        }
        let mut answered = None;
        while answered.is_none() {
            let read = match &mut self.connection {
                Connection::Tcp(stream) => stream.read(&mut self.buffer),
                Connection::Unix(stream) => stream.read(&mut self.buffer),
            };
            let count = match read {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let input = &self.buffer[..count];
            let received = self
                .link
                .receive(input, |(), answer| answered = Some(answer));
            received.map_err(|_| io::Error::other("it sends nonsense"))?;
        }
        answered.ok_or_else(|| io::Error::other("no answer"))
    }
}
