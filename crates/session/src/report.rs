//! The form of statistics: lines of the text protocol or packets of the binary one.

use farcache_proto::binary::{HEADER_BYTES, Header, MAGIC_RESPONSE, Opcode, encode_head};
use std::fmt::Display;
use std::io::Write;

/// How statistics are sent.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// `STAT name value` lines.
    Text,
    /// One packet each, with the request's opaque.
    Packets { opaque: u32 },
}

/// Statistics on their way into a reply.
pub struct Report<'a> {
    out: &'a mut Vec<u8>,
    form: Form,
}

impl<'a> Report<'a> {
    /// Nothing so far.
    pub(crate) fn new(out: &'a mut Vec<u8>, form: Form) -> Self {
        Report { out, form }
    }

    /// Adds one. Writing to a vector does not fail.
    pub fn stat(&mut self, name: impl Display, value: impl Display) {
        match self.form {
            Form::Text => {
                let _ = write!(self.out, "STAT {name} {value}\r\n");
            }
            Form::Packets { opaque } => self.packet(opaque, name, value),
        }
    }

    /// Adds all of a list.
    pub fn stats(&mut self, list: &[(&str, u64)]) {
        list.iter().for_each(|(name, value)| self.stat(name, value));
    }

    /// Adds one that is on or off.
    pub fn yes_no(&mut self, name: &str, value: bool) {
        self.stat(name, if value { "yes" } else { "no" });
    }

    /// Says that there are no more.
    pub(crate) fn end(self) {
        match self.form {
            Form::Text => self.out.extend_from_slice(b"END\r\n"),
            Form::Packets { opaque } => encode_head(header(opaque), &[], &[], 0, self.out),
        }
    }

    fn packet(&mut self, opaque: u32, name: impl Display, value: impl Display) {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; HEADER_BYTES]);
        let key_start = self.out.len();
        let _ = write!(self.out, "{name}");
        let value_start = self.out.len();
        let _ = write!(self.out, "{value}");
        let header = Header {
            key_len: (value_start - key_start) as u16,
            body_len: (self.out.len() - key_start) as u32,
            ..header(opaque)
        };
        self.out[start..key_start].copy_from_slice(&header.encode());
    }
}

fn header(opaque: u32) -> Header {
    Header {
        magic: MAGIC_RESPONSE,
        opcode: Opcode::Stat as u8,
        opaque,
        ..Header::default()
    }
}
