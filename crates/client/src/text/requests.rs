//! Packets of requests as text.

use super::Dialect;
use super::meta;
use super::pending::{Count, Kind, Meta, Pending};
use farcache_base::limits::KEY_BYTES_MAX;
use farcache_proto::binary::{
    ArithmeticExtras, HEADER_BYTES, Head, Header, MAGIC_REQUEST, NO_CREATE, Opcode, SetExtras,
    Status, decode_u32,
};
use std::collections::VecDeque;
use std::io::Write;

/// Not a request.
const NO_REQUEST: &str = "a packet that is no request";

/// Cuts what the engine sends into requests.
#[derive(Debug, Default)]
pub(super) struct Requests {
    dialect: Dialect,
    /// The beginning of a packet whose key is not there whole.
    head: Vec<u8>,
    /// Bytes of a value that are still to come.
    value_left: usize,
    /// The value's bytes are not sent: the server does not get their request.
    is_dropped: bool,
}

impl Requests {
    pub(super) fn new(dialect: Dialect) -> Self {
        Requests {
            dialect,
            ..Requests::default()
        }
    }

    pub(super) fn take(
        &mut self,
        mut packets: &[u8],
        pending: &mut VecDeque<Pending>,
        text: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        while !packets.is_empty() {
            packets = match self.value_left {
                0 => self.take_head(packets, pending, text)?,
                _ => self.take_value(packets, text),
            };
        }
        Ok(())
    }

    fn take_value<'a>(&mut self, packets: &'a [u8], text: &mut Vec<u8>) -> &'a [u8] {
        let (value, rest) = packets.split_at(self.value_left.min(packets.len()));
        self.value_left -= value.len();
        if !self.is_dropped {
            text.extend_from_slice(value);
            if self.value_left == 0 {
                text.extend_from_slice(b"\r\n");
            }
        }
        rest
    }

    fn take_head<'a>(
        &mut self,
        packets: &'a [u8],
        pending: &mut VecDeque<Pending>,
        text: &mut Vec<u8>,
    ) -> Result<&'a [u8], &'static str> {
        let wanted = self.wanted_bytes();
        let (more, rest) = packets.split_at((wanted - self.head.len()).min(packets.len()));
        self.head.extend_from_slice(more);
        if self.head.len() < wanted || self.wanted_bytes() > wanted {
            return Ok(rest);
        }
        let bytes = std::mem::take(&mut self.head);
        let head = Head::decode(&bytes).map_err(|_| NO_REQUEST)?;
        let head = head.ok_or(NO_REQUEST)?;
        self.begin(&head, pending, text)?;
        self.head = bytes;
        self.head.clear();
        Ok(rest)
    }

    /// Bytes of a packet's head, as far as is known.
    fn wanted_bytes(&self) -> usize {
        match self.head.first_chunk::<HEADER_BYTES>() {
            None => HEADER_BYTES,
            Some(header) => {
                let header = Header::decode(header);
                HEADER_BYTES + usize::from(header.extras_len) + usize::from(header.key_len)
            }
        }
    }

    fn write(&self, opcode: Opcode, head: &Head<'_>, text: &mut Vec<u8>) -> Result<Kind, Status> {
        let written = match self.dialect {
            Dialect::Classic => None,
            Dialect::Meta => meta::write_command(opcode, head, text),
        };
        written.unwrap_or_else(|| write_command(opcode, head, text))
    }

    /// Writes a request up to its value.
    fn begin(
        &mut self,
        head: &Head<'_>,
        pending: &mut VecDeque<Pending>,
        text: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        let opcode = Opcode::from_byte(head.header.opcode);
        let opcode = opcode.filter(|_| head.header.magic == MAGIC_REQUEST);
        let opcode = opcode.ok_or(NO_REQUEST)?;
        self.value_left = head.value_len;
        let at = text.len();
        let kind = self
            .write(opcode.loud(), head, text)
            .unwrap_or_else(|status| {
                text.truncate(at);
                // Answered in its turn.
                let (command, kind) = self.dialect.placeholder(status);
                text.extend_from_slice(command);
                kind
            });
        self.is_dropped = !kind.sends_value();
        if !self.is_dropped && head.value_len == 0 {
            text.extend_from_slice(b"\r\n");
        }
        let opaque = head.header.opaque;
        pending.push_back(Pending {
            opcode,
            opaque,
            kind,
        });
        Ok(())
    }
}

impl Dialect {
    /// What is asked in the place of a request that cannot be said.
    fn placeholder(self, status: Status) -> (&'static [u8], Kind) {
        match self {
            Dialect::Classic => (b"version\r\n", Kind::Refused(status)),
            Dialect::Meta => (meta::NOOP, Kind::Meta(Meta::Refused(status))),
        }
    }
}

/// Writes the line of a command, or says why text cannot say it.
fn write_command(opcode: Opcode, head: &Head<'_>, text: &mut Vec<u8>) -> Result<Kind, Status> {
    let cas = head.header.cas;
    Ok(match opcode {
        Opcode::Get => {
            write(text, &[b"gets ", key(head)?]);
            value(head)
        }
        Opcode::Gat => {
            let expiry = expiry(number_of(head)?);
            write(text, &[b"gats ", expiry.as_bytes(), b" ", key(head)?]);
            value(head)
        }
        Opcode::Set | Opcode::Add | Opcode::Replace | Opcode::Append | Opcode::Prepend => {
            write_store(opcode, head, text)?;
            Kind::Store
        }
        Opcode::Delete if cas == 0 => {
            write(text, &[b"delete ", key(head)?]);
            Kind::Delete
        }
        Opcode::Touch => {
            let expiry = expiry(number_of(head)?);
            write(text, &[b"touch ", key(head)?, b" ", expiry.as_bytes()]);
            Kind::Touch
        }
        Opcode::Increment | Opcode::Decrement => {
            let (command, may_create) = count(opcode, head)?;
            write_count(&command, text);
            Kind::Count {
                command,
                may_create,
            }
        }
        Opcode::Flush => {
            let delay = decode_u32(head.extras).unwrap_or(0).to_string();
            write(text, &[b"flush_all ", delay.as_bytes()]);
            Kind::Done
        }
        Opcode::Verbosity => {
            write(
                text,
                &[b"verbosity ", number_of(head)?.to_string().as_bytes()],
            );
            Kind::Done
        }
        Opcode::Version => {
            write(text, &[b"version"]);
            Kind::Version
        }
        Opcode::Noop => {
            write(text, &[b"version"]);
            Kind::Noop
        }
        Opcode::Stat => {
            if head.key.iter().any(u8::is_ascii_control) {
                return Err(Status::InvalidArguments);
            }
            let between: &[u8] = if head.key.is_empty() { b"" } else { b" " };
            write(text, &[b"stats", between, head.key]);
            Kind::Statistics
        }
        Opcode::Delete => return Err(Status::InvalidArguments),
        _ => return Err(Status::UnknownCommand),
    })
}

pub(super) fn write(text: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        text.extend_from_slice(part);
    }
    text.extend_from_slice(b"\r\n");
}

fn value(head: &Head<'_>) -> Kind {
    Kind::Value {
        key: head.key.to_vec(),
        is_found: false,
    }
}

/// The key, if it is one in text too.
pub(super) fn key<'a>(head: &Head<'a>) -> Result<&'a [u8], Status> {
    let fits = (1..=KEY_BYTES_MAX).contains(&head.key.len());
    let is_plain = head.key.iter().all(|&byte| byte > b' ' && byte != 0x7f);
    match fits && is_plain {
        true => Ok(head.key),
        false => Err(Status::InvalidArguments),
    }
}

pub(super) fn number_of(head: &Head<'_>) -> Result<u32, Status> {
    decode_u32(head.extras).ok_or(Status::InvalidArguments)
}

/// Text has a signed number of 32 bits: what is larger is as far away as can be.
pub(super) fn expiry(expiry_s: u32) -> String {
    expiry_s.min(i32::MAX.unsigned_abs()).to_string()
}

fn write_store(opcode: Opcode, head: &Head<'_>, text: &mut Vec<u8>) -> Result<(), Status> {
    let (key, cas) = (key(head)?, head.header.cas);
    let extras = match opcode {
        Opcode::Append | Opcode::Prepend => SetExtras::default(),
        _ => SetExtras::decode(head.extras).ok_or(Status::InvalidArguments)?,
    };
    let name: &[u8] = match (opcode, cas) {
        (Opcode::Set | Opcode::Replace, 1..) => b"cas ",
        (_, 1..) => return Err(Status::InvalidArguments),
        (Opcode::Set, _) => b"set ",
        (Opcode::Add, _) => b"add ",
        (Opcode::Replace, _) => b"replace ",
        (Opcode::Append, _) => b"append ",
        _ => b"prepend ",
    };
    text.extend_from_slice(name);
    text.extend_from_slice(key);
    let (flags, expiry, bytes) = (extras.flags, expiry(extras.expiration), head.value_len);
    // Writing into memory does not fail.
    let _ = match cas {
        0 => write!(text, " {flags} {expiry} {bytes}\r\n"),
        _ => write!(text, " {flags} {expiry} {bytes} {cas}\r\n"),
    };
    Ok(())
}

fn count(opcode: Opcode, head: &Head<'_>) -> Result<(Count, bool), Status> {
    let extras = ArithmeticExtras::decode(head.extras).ok_or(Status::InvalidArguments)?;
    let name = match opcode {
        Opcode::Increment => "incr",
        _ => "decr",
    };
    let command = Count {
        name,
        key: key(head)?.to_vec(),
        delta: extras.delta,
        initial: extras.initial,
        expiry_s: extras.expiration,
    };
    Ok((command, extras.expiration != NO_CREATE))
}

/// Writes `incr` or `decr`.
pub(super) fn write_count(command: &Count, text: &mut Vec<u8>) {
    let delta = command.delta.to_string();
    let name = command.name.as_bytes();
    write(text, &[name, b" ", &command.key, b" ", delta.as_bytes()]);
}

/// Writes the `add` by which a count creates its number.
pub(super) fn write_create(command: &Count, text: &mut Vec<u8>) {
    let initial = command.initial.to_string();
    let head = format!(" 0 {} {}\r\n", expiry(command.expiry_s), initial.len());
    write(
        text,
        &[b"add ", &command.key, head.as_bytes(), initial.as_bytes()],
    );
}
