//! One question and its answer over a stream that nobody else uses yet.

use crate::{ConnectError, ConnectStage, Error};
use farcache_fabric::tcp::Stream;
use farcache_proto::binary::{
    HEADER_BYTES, Header, MAGIC_REQUEST, MAGIC_RESPONSE, Opcode, Packet, Status,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, IoSlice};
use std::time::Instant;

/// Most bytes of an answer to a question of this kind: the map of a cluster of thousands of servers
/// takes some hundred kilobytes.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Most bytes of a line that answers a question in text.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The opaque number of every question. To a server that speaks text only it is the end of a line,
/// which it answers at once, instead of waiting for one.
const LINE_END: u32 = u32::from_be_bytes(*b"  \r\n");

/// A question without extras.
#[derive(Clone, Copy, Default)]
pub(super) struct Question<'a> {
    pub(super) opcode: u8,
    pub(super) key: &'a [u8],
    pub(super) value: &'a [u8],
    pub(super) cas: u64,
}

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) value: Vec<u8>,
}

impl Answer {
    pub(super) fn is(&self, status: Status) -> bool {
        self.status == status as u16
    }

    /// Whether the server wants no password before it answers.
    ///
    /// # Errors
    /// [`Error::AuthFailed`]: it does.
    pub(super) fn check_let_in(&self) -> Result<(), Error> {
        match self.is(Status::AuthenticationError) {
            true => Err(Error::AuthFailed(self.text().into())),
            false => Ok(()),
        }
    }

    /// The value as text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.value).into_owned()
    }
}

/// Why an attempt ends at its deadline.
pub(super) const NO_ANSWER: &str = "no answer in time";

const NOT_BINARY: &str = "the server does not speak the binary protocol";

/// Asks; ends by `deadline`.
pub(super) fn ask(
    stream: &mut Stream,
    question: Question<'_>,
    deadline: Instant,
) -> Result<Answer, Error> {
    let Question {
        opcode,
        key,
        value,
        cas,
    } = question;
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode,
        cas,
        opaque: LINE_END,
        ..Header::default()
    };
    let mut packet = Vec::new();
    Packet {
        header,
        extras: &[],
        key,
        value,
    }
    .encode(&mut packet);
    write(stream, &packet, deadline)?;
    let mut header = [0; HEADER_BYTES];
    // A line of text may be shorter than a header.
    read(stream, &mut header[..1], deadline)?;
    if header[0] != MAGIC_RESPONSE {
        return Err(Error::Protocol(NOT_BINARY));
    }
    read(stream, &mut header[1..], deadline)?;
    let header = Header::decode(&header);
    let body_bytes = header.body_len as usize;
    if header.opcode != opcode || body_bytes > ANSWER_BYTES_MAX {
        return Err(Error::Protocol(NOT_BINARY));
    }
    let head_bytes = usize::from(header.extras_len) + usize::from(header.key_len);
    let mut body = vec![0; body_bytes];
    read(stream, &mut body, deadline)?;
    if head_bytes > body.len() {
        return Err(Error::Protocol("lengths that contradict each other"));
    }
    let value = body.split_off(head_bytes);
    let status = header.status;
    Ok(Answer { status, value })
}

/// Asks for any answer at all: the connection and its encryption work, and no password is wanted.
pub(super) fn ask_noop(stream: &mut Stream, deadline: Instant) -> Result<(), Error> {
    let question = Question {
        opcode: Opcode::Noop as u8,
        ..Question::default()
    };
    ask(stream, question, deadline)?.check_let_in()
}

/// Asks in text; the first line of the answer.
pub(super) fn ask_text(
    stream: &mut Stream,
    question: &str,
    deadline: Instant,
) -> Result<String, Error> {
    write(stream, question.as_bytes(), deadline)?;
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        if line.len() > LINE_BYTES_MAX {
            return Err(Error::Protocol("a line that does not end"));
        }
        let mut byte = [0];
        read(stream, &mut byte, deadline)?;
        line.extend_from_slice(&byte);
    }
    Ok(String::from_utf8_lossy(line.trim_ascii_end()).into_owned())
}

fn write(stream: &mut Stream, mut bytes: &[u8], deadline: Instant) -> Result<(), Error> {
    while !bytes.is_empty() {
        match stream.write(&[IoSlice::new(bytes)]) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) => wait(stream, &error, PollFlags::OUT, deadline)?,
        }
    }
    while stream.has_unsent() {
        stream.flush().map_err(|error| broken(&error))?;
        if stream.has_unsent() {
            let blocked = io::ErrorKind::WouldBlock.into();
            wait(stream, &blocked, PollFlags::OUT, deadline)?;
        }
    }
    Ok(())
}

fn read(stream: &mut Stream, bytes: &mut [u8], deadline: Instant) -> Result<(), Error> {
    let mut filled = 0;
    while filled < bytes.len() {
        match stream.read(&mut bytes[filled..]) {
            Ok(0) => return Err(ended("the server closed the connection")),
            Ok(count) => filled += count,
            Err(error) => wait(stream, &error, PollFlags::IN, deadline)?,
        }
    }
    Ok(())
}

/// Waits for a stream that would block.
fn wait(
    stream: &Stream,
    error: &io::Error,
    flags: PollFlags,
    deadline: Instant,
) -> Result<(), Error> {
    match error.kind() {
        io::ErrorKind::Interrupted => return Ok(()),
        io::ErrorKind::WouldBlock => {}
        _ => return Err(broken(error)),
    }
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        let silence = ConnectError::new(ConnectStage::Silent, NO_ANSWER);
        return Err(Error::Connect(silence));
    }
    let left = Timespec::try_from(left).ok();
    // Interrupted or not, the caller tries again.
    let _ = poll(&mut [PollFd::new(stream, flags)], left.as_ref());
    Ok(())
}

fn broken(error: &io::Error) -> Error {
    Error::Connect(ConnectError::of(ConnectStage::Ended, error))
}

fn ended(reason: &str) -> Error {
    Error::Connect(ConnectError::new(ConnectStage::Ended, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    #[test]
    fn a_server_that_waits_for_the_end_of_a_line_is_found_out_without_a_wait() {
        let (here, mut there) = UnixStream::pair().expect("sockets");
        let server = std::thread::spawn(move || {
            let mut lines = BufReader::new(there.try_clone().expect("a second handle"));
            lines.read_until(b'\n', &mut Vec::new()).expect("a line");
            there.write_all(b"ERROR\r\n").expect("an answer");
            // It stays open until the other end has what it wants, which is not all of the answer.
            let _ = lines.read_until(0xff, &mut Vec::new());
        });
        let mut stream = Stream::plain(here).expect("a stream");
        let deadline = Instant::now() + Duration::from_secs(60);
        let question = Question {
            opcode: Opcode::Version as u8,
            ..Question::default()
        };
        let answer = ask(&mut stream, question, deadline);
        assert!(matches!(answer, Err(Error::Protocol(NOT_BINARY))));
        drop(stream);
        server.join().expect("the server's part is played");
    }
}
