//! What an owner is asked about its part, and what it has answered: packets of the binary protocol.

use crate::parts::replies::Reply;
use farcache_base::version::Keeping;
use farcache_proto::binary::{
    ABOUT_OLDER, Header, MAGIC_REQUEST, Opcode, SetExtras, Status, Told, encode_head_telling,
    encode_u32, keeping_bits,
};
use farcache_redundancy::Version;
use farcache_redundancy::coding::Parts;
use farcache_redundancy::plan::{self, Part, Question};

/// What a server has answered.
pub enum Answered<'a> {
    /// To a write, or that it has promised something else: the plan is told just this.
    Plain(plan::Reply),
    /// To a read: what it has of the key, or the beginning of that.
    Has(Reply<'a>),
    /// It has not taken the value, and will not the next time either.
    Refused(Status),
    /// It gives the key to others, and has done nothing.
    Elsewhere,
    /// Nothing that helps.
    Nothing,
}

/// The beginning of a request, which tells this besides.
fn head(
    (opcode, cas, data_type): (Opcode, u64, u8),
    (extras, told): (&[u8], Told),
    key: &[u8],
    value_bytes: usize,
) -> Vec<u8> {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: opcode as u8,
        cas,
        data_type,
        ..Header::default()
    };
    let mut packet = Vec::new();
    encode_head_telling(header, (extras, told), key, value_bytes, &mut packet);
    packet
}

/// Tells of a version that it is complete; it has no answer.
pub fn complete(version: Version) -> Vec<u8> {
    head(
        (Opcode::TellComplete, 0, 0),
        (&[], Told::complete(version.bits())),
        &[],
        0,
    )
}

/// Tells of a key that it is in use; it has no answer.
pub fn used(key: &[u8]) -> Vec<u8> {
    head((Opcode::TellUsed, 0, 0), (&[], Told::default()), key, 0)
}

/// Stores so many bytes of a part under a version; the part comes behind it.
pub fn store(
    key: &[u8],
    (version, keeping): (Version, Keeping),
    (parts, part_bytes): (&Parts, usize),
    told: Told,
) -> Vec<u8> {
    let extras = SetExtras {
        flags: parts.flags,
        expiration: parts.expiry_unix,
    };
    let what = (Opcode::SetVersioned, version.bits(), keeping_bits(keeping));
    head(what, (&extras.encode(), told), key, part_bytes)
}

/// Stores the deletion under a version, for as long as memory suffices.
pub fn delete(key: &[u8], (version, keeping): (Version, Keeping), told: Told) -> Vec<u8> {
    let (bits, keep_s) = (keeping_bits(keeping), encode_u32(0));
    let what = (Opcode::DeleteVersioned, version.bits(), bits);
    head(what, (&keep_s, told), key, 0)
}

/// Reads what a server has of a key, so many bytes of it at most; or what lies beneath a version
/// there.
pub fn get(key: &[u8], beneath: Option<Version>, bytes_max: u32, told: Told) -> Vec<u8> {
    let what = match beneath {
        Some(version) => (Opcode::GetVersioned, version.bits(), ABOUT_OLDER),
        None => (Opcode::GetVersioned, 0, 0),
    };
    head(what, (&encode_u32(bytes_max), told), key, 0)
}

/// Takes the answer to a question apart.
pub fn read<'a>(question: Question, answer: &'a [u8]) -> Answered<'a> {
    let Ok(reply) = Reply::read(answer) else {
        return Answered::Nothing;
    };
    let (status, version) = (
        Status::from_code(reply.status),
        Version::from_bits(reply.cas),
    );
    let is_read = question.is_read();
    let is_first = matches!(
        question,
        Question::Accept(..) | Question::AcceptPromised(..)
    );
    let stored = plan::Reply::Stored { was_present: false };
    let is_deletion = matches!(
        question,
        Question::Accept(_, Part::Tombstone) | Question::Store(_, Part::Tombstone)
    );
    match (status, version) {
        (Some(Status::OtherOwners), _) => Answered::Elsewhere,
        (Some(Status::Promised), Some(current)) => Answered::Plain(plan::Reply::Promised {
            current,
            has_newer: !reply.is_only_promised,
        }),
        (Some(Status::Success | Status::Deleted | Status::NotFound), _) if is_read => {
            Answered::Has(reply)
        }
        (Some(Status::Success), _) => Answered::Plain(stored),
        // There was nothing to delete; the tombstone stands.
        (Some(Status::NotFound), _) if is_deletion => Answered::Plain(stored),
        (Some(Status::Exists), Some(current)) if !is_read => {
            Answered::Plain(plan::Reply::Refused { current })
        }
        (Some(Status::InDoubt), Some(current)) if !is_read => {
            Answered::Plain(plan::Reply::Unsure { current })
        }
        (Some(status @ (Status::TooLarge | Status::OutOfMemory)), _) if is_first => {
            Answered::Refused(status)
        }
        _ => Answered::Nothing,
    }
}

/// What the plan is told of an owner that has nothing, or a tombstone.
pub fn without_value(reply: &Reply<'_>) -> plan::Answer {
    let version = Version::from_bits(reply.cas);
    let mut answer = plan::Answer::default();
    match version.filter(|_| reply.status == Status::Deleted as u16) {
        Some(version) => {
            let part = Part::Tombstone;
            answer.held.push(plan::Held { version, part });
        }
        None => answer.dropped = version,
    }
    answer.marked(reply.is_incomplete)
}
