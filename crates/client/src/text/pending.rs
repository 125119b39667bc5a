//! What has been asked and not answered.

use farcache_proto::binary::{
    HEADER_BYTES, Header, MAGIC_RESPONSE, Opcode, Packet, Status, encode_head, encode_u32,
};

/// How the answer is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A value, or none.
    Value { key: Vec<u8>, is_found: bool },
    /// `STORED` and its like.
    Store,
    /// `DELETED`.
    Delete,
    /// `TOUCHED`.
    Touch,
    /// A number.
    Count { command: Count, may_create: bool },
    /// `STORED`, by a count that creates its number.
    Create { command: Count },
    /// `OK`.
    Done,
    /// `VERSION`, which is wanted.
    Version,
    /// `VERSION`, which shows that the server is there.
    Noop,
    /// `VERSION`, in the place of a request that text cannot say.
    Refused(Status),
    /// Lines of `STAT`, then `END`.
    Statistics,
    /// A meta command's answer.
    Meta(Meta),
}

/// How the answer to a meta command is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meta {
    /// `VA` and a value, or `EN`.
    Value,
    /// `HD`, `NS`, `EX` or `NF`, by a command with a value.
    Store,
    /// `HD`, `EX` or `NF`.
    Delete,
    /// `HD` or `EN`.
    Touch,
    /// `VA`, whose value is a number, or `NF`.
    Count,
    /// `VA` and the number that a count was asked for.
    Number { cas: u64 },
    /// `MN`, which shows that the server is there.
    Noop,
    /// `MN`, in the place of a request that meta commands cannot say.
    Refused(Status),
}

impl Kind {
    /// Whether the request's value goes to the server.
    pub(super) fn sends_value(&self) -> bool {
        matches!(self, Kind::Store | Kind::Meta(Meta::Store))
    }
}

/// A command that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// `incr` or `decr`.
    pub(super) name: &'static str,
    pub(super) key: Vec<u8>,
    pub(super) delta: u64,
    pub(super) initial: u64,
    pub(super) expiry_s: u32,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    /// As it was sent.
    pub(super) opcode: Opcode,
    pub(super) opaque: u32,
    pub(super) kind: Kind,
}

impl Pending {
    fn header(&self, status: Status, cas: u64) -> Header {
        Header {
            magic: MAGIC_RESPONSE,
            opcode: self.opcode as u8,
            status: status as u16,
            opaque: self.opaque,
            cas,
            ..Header::default()
        }
    }

    /// Answers; a quiet request only with what is not to be expected.
    pub(super) fn answer(&self, status: Status, value: &[u8], packets: &mut Vec<u8>) {
        if self.opcode.is_quiet() && status == Status::Success {
            return;
        }
        encode(self.header(status, 0), value, packets);
    }

    /// Answers with a success and the CAS token that came of it.
    pub(super) fn succeed(&self, cas: u64, value: &[u8], packets: &mut Vec<u8>) {
        if !self.opcode.is_quiet() {
            encode(self.header(Status::Success, cas), value, packets);
        }
    }

    /// Answers with a failure that has the status's own text.
    pub(super) fn refuse(&self, status: Status, packets: &mut Vec<u8>) {
        self.answer(status, status.text().as_bytes(), packets);
    }

    /// Answers with a failure that has no status of its own.
    pub(super) fn fail(&self, text: &str, packets: &mut Vec<u8>) {
        let mut header = self.header(Status::Success, 0);
        header.status = STATUS_INTERNAL;
        encode(header, text.as_bytes(), packets);
    }

    /// Answers with a value up to its bytes, which follow.
    pub(super) fn begin_value(&self, flags: u32, cas: u64, bytes: usize, packets: &mut Vec<u8>) {
        let header = self.header(Status::Success, cas);
        encode_head(header, &encode_u32(flags), &[], bytes, packets);
    }

    /// One statistic.
    pub(super) fn statistic(&self, name: &[u8], value: &[u8], packets: &mut Vec<u8>) {
        let header = self.header(Status::Success, 0);
        let extras = &[][..];
        Packet {
            header,
            extras,
            key: name,
            value,
        }
        .encode(packets);
    }
}

/// "Internal error" of the binary protocol.
const STATUS_INTERNAL: u16 = 0x84;

const _: () = assert!(HEADER_BYTES == 24);

/// A packet with nothing but a value.
fn encode(header: Header, value: &[u8], packets: &mut Vec<u8>) {
    let (extras, key) = (&[][..], &[][..]);
    Packet {
        header,
        extras,
        key,
        value,
    }
    .encode(packets);
}
