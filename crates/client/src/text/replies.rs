//! Lines of replies as packets.

use super::meta;
use super::pending::{Kind, Pending};
use super::requests::{write_count, write_create};
use farcache_base::limits::VALUE_BYTES_MAX;
use farcache_proto::binary::{Opcode, Status};
use std::collections::VecDeque;
use std::str::FromStr;

/// Longest line, in bytes: a statistic's may be long.
const LINE_BYTES_MAX: usize = 64 << 10;

const UNASKED: &str = "an answer to no question";
pub(super) const UNEXPECTED: &str = "an answer to another question";

/// Cuts what a server sends into replies.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// The beginning of a line.
    line: Vec<u8>,
    /// Bytes of a value that are still to come, with the end of its line.
    value_left: usize,
}

/// Whether a reply is over.
pub(super) enum Turn {
    Goes,
    Ends,
}

impl Replies {
    pub(super) fn take(
        &mut self,
        mut received: &[u8],
        pending: &mut VecDeque<Pending>,
        packets: &mut Vec<u8>,
        text: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        while !received.is_empty() {
            if self.value_left > 0 {
                received = self.take_value(received, packets)?;
                continue;
            }
            let end = received.iter().position(|&byte| byte == b'\n');
            let (more, rest) = received.split_at(end.map_or(received.len(), |end| end + 1));
            self.line.extend_from_slice(more);
            received = rest;
            if self.line.len() > LINE_BYTES_MAX {
                return Err("a line that does not end");
            }
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                self.take_line(trimmed(&line), pending, packets, text)?;
                self.line = line;
                self.line.clear();
            }
        }
        Ok(())
    }

    /// A value's bytes, then the end of its line.
    fn take_value<'a>(
        &mut self,
        received: &'a [u8],
        packets: &mut Vec<u8>,
    ) -> Result<&'a [u8], &'static str> {
        const END: &[u8] = b"\r\n";
        let value_bytes = self.value_left.saturating_sub(END.len());
        let (value, rest) = received.split_at(value_bytes.min(received.len()));
        packets.extend_from_slice(value);
        self.value_left -= value.len();
        let due = &END[END.len() - self.value_left.min(END.len())..];
        if value.len() < value_bytes || rest.is_empty() {
            return Ok(rest);
        }
        let (end, rest) = rest.split_at(due.len().min(rest.len()));
        if !due.starts_with(end) {
            return Err("a value of another length than said");
        }
        self.value_left -= end.len();
        Ok(rest)
    }

    fn take_line(
        &mut self,
        line: &[u8],
        pending: &mut VecDeque<Pending>,
        packets: &mut Vec<u8>,
        text: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        let mut asked = pending.pop_front().ok_or(UNASKED)?;
        let turn = match failure(line) {
            Some(failure) => failed(&asked, &failure, packets)?,
            None => match &mut asked.kind {
                Kind::Value { .. } => self.value(&mut asked, line, packets)?,
                Kind::Statistics => statistic(&asked, line, packets)?,
                Kind::Count { .. } | Kind::Create { .. } => {
                    return counted(asked, line, pending, packets, text);
                }
                &mut Kind::Meta(kind) => {
                    let (turn, value_left) = meta::reply(&mut asked, kind, line, packets)?;
                    self.value_left = value_left;
                    turn
                }
                _ => single(&asked, line, packets)?,
            },
        };
        if matches!(turn, Turn::Goes) {
            pending.push_front(asked);
        }
        Ok(())
    }

    /// `VALUE key flags bytes cas`, or `END`.
    fn value(
        &mut self,
        asked: &mut Pending,
        line: &[u8],
        packets: &mut Vec<u8>,
    ) -> Result<Turn, &'static str> {
        let Kind::Value { key, is_found } = &mut asked.kind else {
            return Err(UNEXPECTED);
        };
        if line == b"END" {
            if !*is_found {
                asked.refuse(Status::NotFound, packets);
            }
            return Ok(Turn::Ends);
        }
        let mut words = line.split(|&byte| byte == b' ');
        let is_it = words.next() == Some(b"VALUE") && words.next() == Some(&key[..]);
        if !is_it || *is_found {
            return Err(UNEXPECTED);
        }
        *is_found = true;
        let flags = number(words.next()).ok_or(UNEXPECTED)?;
        let bytes = number(words.next()).filter(|&bytes| bytes <= VALUE_BYTES_MAX);
        let bytes: usize = bytes.ok_or("a value larger than there are")?;
        let cas = number(words.next()).unwrap_or(0);
        asked.begin_value(flags, cas, bytes, packets);
        self.value_left = bytes + 2;
        Ok(Turn::Goes)
    }
}

/// A line without its end.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

pub(super) fn number<N: FromStr>(word: Option<&[u8]>) -> Option<N> {
    std::str::from_utf8(word?).ok()?.parse().ok()
}

/// What a line that tells of a failure says.
enum Failure {
    Known(Status),
    Other(String),
}

fn failure(line: &[u8]) -> Option<Failure> {
    let text = String::from_utf8_lossy(line);
    if text == "ERROR" || text.starts_with("ERROR ") {
        return Some(Failure::Known(Status::UnknownCommand));
    }
    let known = |status| Some(Failure::Known(status));
    if let Some(why) = text.strip_prefix("CLIENT_ERROR ") {
        return match why {
            _ if why.contains("non-numeric") => known(Status::NotNumeric),
            _ if why.contains("too large") => known(Status::TooLarge),
            _ if why.contains("unauthenticated") => known(Status::AuthenticationError),
            _ => known(Status::InvalidArguments),
        };
    }
    let why = text.strip_prefix("SERVER_ERROR ")?;
    match why {
        _ if why.contains("too large") => known(Status::TooLarge),
        _ if why.contains("out of memory") => known(Status::OutOfMemory),
        _ => Some(Failure::Other(why.to_owned())),
    }
}

fn failed(asked: &Pending, failure: &Failure, packets: &mut Vec<u8>) -> Result<Turn, &'static str> {
    if matches!(asked.kind, Kind::Value { is_found: true, .. }) {
        return Err("a failure behind a value");
    }
    match failure {
        Failure::Known(status) => asked.refuse(*status, packets),
        Failure::Other(text) => asked.fail(text, packets),
    }
    Ok(Turn::Ends)
}

/// `STAT name value`, or the end.
fn statistic(asked: &Pending, line: &[u8], packets: &mut Vec<u8>) -> Result<Turn, &'static str> {
    let Some(statistic) = line.strip_prefix(b"STAT ") else {
        return match line {
            b"END" | b"RESET" | b"OK" => {
                asked.answer(Status::Success, &[], packets);
                Ok(Turn::Ends)
            }
            _ => Err(UNEXPECTED),
        };
    };
    let at = statistic.iter().position(|&byte| byte == b' ');
    let (name, value) = statistic.split_at(at.unwrap_or(statistic.len()));
    if !name.is_empty() {
        asked.statistic(name, value.strip_prefix(b" ").unwrap_or(value), packets);
    }
    Ok(Turn::Goes)
}

/// Replies of one line.
fn single(asked: &Pending, line: &[u8], packets: &mut Vec<u8>) -> Result<Turn, &'static str> {
    let status = match (&asked.kind, line) {
        (Kind::Store, b"STORED")
        | (Kind::Delete, b"DELETED")
        | (Kind::Touch, b"TOUCHED")
        | (Kind::Done, b"OK") => Status::Success,
        (Kind::Store, b"EXISTS") => Status::Exists,
        (Kind::Store, b"NOT_STORED") => not_stored(asked.opcode),
        (Kind::Store | Kind::Delete | Kind::Touch, b"NOT_FOUND") => Status::NotFound,
        (Kind::Version | Kind::Noop | Kind::Refused(_), line) => {
            return version(asked, line, packets);
        }
        _ => return Err(UNEXPECTED),
    };
    asked.refuse(status, packets);
    Ok(Turn::Ends)
}

/// The binary protocol says why.
pub(super) fn not_stored(opcode: Opcode) -> Status {
    match opcode.loud() {
        Opcode::Add => Status::Exists,
        Opcode::Replace => Status::NotFound,
        _ => Status::NotStored,
    }
}

fn version(asked: &Pending, line: &[u8], packets: &mut Vec<u8>) -> Result<Turn, &'static str> {
    let version = line.strip_prefix(b"VERSION ").ok_or(UNEXPECTED)?;
    match asked.kind {
        Kind::Refused(status) => asked.refuse(status, packets),
        Kind::Version => asked.answer(Status::Success, version, packets),
        _ => asked.answer(Status::Success, &[], packets),
    }
    Ok(Turn::Ends)
}

/// A number; one that is absent may be created, which is asked behind all that has been.
fn counted(
    asked: Pending,
    line: &[u8],
    pending: &mut VecDeque<Pending>,
    packets: &mut Vec<u8>,
    text: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let Pending {
        opcode,
        opaque,
        kind,
    } = &asked;
    let ask = |kind| Pending {
        opcode: *opcode,
        opaque: *opaque,
        kind,
    };
    match (kind, line) {
        (
            Kind::Count {
                command,
                may_create,
            },
            b"NOT_FOUND",
        ) if *may_create => {
            write_create(command, text);
            let command = command.clone();
            pending.push_back(ask(Kind::Create { command }));
        }
        (Kind::Count { .. }, b"NOT_FOUND") => asked.refuse(Status::NotFound, packets),
        (Kind::Count { .. }, line) => {
            let number: u64 = number(Some(line.trim_ascii_end())).ok_or(UNEXPECTED)?;
            asked.answer(Status::Success, &number.to_be_bytes(), packets);
        }
        (Kind::Create { command }, b"STORED") => {
            asked.answer(Status::Success, &command.initial.to_be_bytes(), packets);
        }
        // Somebody else has created it meanwhile.
        (Kind::Create { command }, b"NOT_STORED") => {
            write_count(command, text);
            let (command, may_create) = (command.clone(), false);
            pending.push_back(ask(Kind::Count {
                command,
                may_create,
            }));
        }
        _ => return Err(UNEXPECTED),
    }
    Ok(())
}
