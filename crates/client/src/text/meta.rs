//! Meta commands: requests as lines, and what the lines of replies say.
//!
//! Unlike the classic text commands they tell CAS tokens of what they have stored, delete by token,
//! and create an absent number by themselves. Source: memcached's `doc/protocol.txt`, "Meta
//! Commands"; the flags used are known to memcached 1.6.18.

use super::pending::{Kind, Meta, Pending};
use super::replies::{Turn, UNEXPECTED, not_stored, number};
use super::requests::{expiry, key, number_of, write};
use farcache_base::limits::VALUE_BYTES_MAX;
use farcache_proto::binary::{ArithmeticExtras, Head, NO_CREATE, Opcode, SetExtras, Status};

/// Asks nothing, and is answered in its turn.
pub(super) const NOOP: &[u8] = b"mn\r\n";

/// Writes the line of a command, or says why there is none; `None` where the command is the classic
/// one.
pub(super) fn write_command(
    opcode: Opcode,
    head: &Head<'_>,
    text: &mut Vec<u8>,
) -> Option<Result<Kind, Status>> {
    let written = match opcode {
        Opcode::Get => write_get(head, text),
        Opcode::Gat => write_get_and_touch(head, text),
        Opcode::Set | Opcode::Add | Opcode::Replace | Opcode::Append | Opcode::Prepend => {
            write_store(opcode, head, text)
        }
        Opcode::Delete => write_delete(head, text),
        Opcode::Touch => write_touch(head, text),
        Opcode::Increment | Opcode::Decrement => write_count(opcode, head, text),
        Opcode::Noop => {
            text.extend_from_slice(NOOP);
            Ok(Meta::Noop)
        }
        _ => return None,
    };
    Some(written.map(Kind::Meta))
}

fn write_get(head: &Head<'_>, text: &mut Vec<u8>) -> Result<Meta, Status> {
    write(text, &[b"mg ", key(head)?, b" f c v"]);
    Ok(Meta::Value)
}

fn write_get_and_touch(head: &Head<'_>, text: &mut Vec<u8>) -> Result<Meta, Status> {
    let expiry = expiry(number_of(head)?);
    write(text, &[b"mg ", key(head)?, b" f c v T", expiry.as_bytes()]);
    Ok(Meta::Value)
}

fn write_touch(head: &Head<'_>, text: &mut Vec<u8>) -> Result<Meta, Status> {
    let expiry = expiry(number_of(head)?);
    write(text, &[b"mg ", key(head)?, b" T", expiry.as_bytes()]);
    Ok(Meta::Touch)
}

fn write_delete(head: &Head<'_>, text: &mut Vec<u8>) -> Result<Meta, Status> {
    write(text, &[b"md ", key(head)?, token(head).as_bytes()]);
    Ok(Meta::Delete)
}

/// The flag by which a command is carried out only where the item has this token.
fn token(head: &Head<'_>) -> String {
    match head.header.cas {
        0 => String::new(),
        cas => format!(" C{cas}"),
    }
}

fn write_store(opcode: Opcode, head: &Head<'_>, text: &mut Vec<u8>) -> Result<Meta, Status> {
    let key = key(head)?;
    let mode = match (opcode, head.header.cas) {
        (Opcode::Set | Opcode::Replace, 1..) | (Opcode::Set, 0) => "S",
        (_, 1..) => return Err(Status::InvalidArguments),
        (Opcode::Add, _) => "E",
        (Opcode::Replace, _) => "R",
        (Opcode::Append, _) => "A",
        _ => "P",
    };
    let settings = match mode {
        "A" | "P" => String::new(),
        _ => {
            let extras = SetExtras::decode(head.extras).ok_or(Status::InvalidArguments)?;
            format!(" F{} T{}", extras.flags, expiry(extras.expiration))
        }
    };
    let rest = format!(" {} c M{mode}{settings}{}", head.value_len, token(head));
    write(text, &[b"ms ", key, rest.as_bytes()]);
    Ok(Meta::Store)
}

fn write_count(opcode: Opcode, head: &Head<'_>, text: &mut Vec<u8>) -> Result<Meta, Status> {
    let extras = ArithmeticExtras::decode(head.extras).ok_or(Status::InvalidArguments)?;
    let mode = match opcode {
        Opcode::Increment => "I",
        _ => "D",
    };
    let (delta, initial) = (extras.delta, extras.initial);
    let creation = match extras.expiration {
        NO_CREATE => String::new(),
        expiry_s => format!(" N{} J{initial}", expiry(expiry_s)),
    };
    let rest = format!(" c v M{mode} D{delta}{creation}");
    write(text, &[b"ma ", key(head)?, rest.as_bytes()]);
    Ok(Meta::Count)
}

/// What a line says that tells of no failure. Returns besides how many bytes of a value follow,
/// with the end of their line.
pub(super) fn reply(
    asked: &mut Pending,
    kind: Meta,
    line: &[u8],
    packets: &mut Vec<u8>,
) -> Result<(Turn, usize), &'static str> {
    let mut words = line
        .split(|&byte| byte == b' ')
        .filter(|word| !word.is_empty());
    let code = words.next().unwrap_or_default();
    let status = match (kind, code) {
        (Meta::Value, b"VA") => {
            let bytes = value_bytes(words.next())?;
            let flags = flag(words.clone(), b'f').unwrap_or(0);
            let cas = flag(words, b'c').unwrap_or(0);
            asked.begin_value(
                u32::try_from(flags).map_err(|_| UNEXPECTED)?,
                cas,
                bytes,
                packets,
            );
            return Ok((Turn::Ends, bytes + 2));
        }
        (Meta::Count, b"VA") => {
            value_bytes(words.next())?;
            let cas = flag(words, b'c').unwrap_or(0);
            asked.kind = Kind::Meta(Meta::Number { cas });
            return Ok((Turn::Goes, 0));
        }
        (Meta::Number { cas }, digits) => {
            let number: u64 = number(Some(digits)).ok_or(UNEXPECTED)?;
            asked.succeed(cas, &number.to_be_bytes(), packets);
            return Ok((Turn::Ends, 0));
        }
        (Meta::Store, b"HD") => {
            asked.succeed(flag(words, b'c').unwrap_or(0), &[], packets);
            return Ok((Turn::Ends, 0));
        }
        (Meta::Delete | Meta::Touch, b"HD") | (Meta::Noop, b"MN") => {
            asked.succeed(0, &[], packets);
            return Ok((Turn::Ends, 0));
        }
        (Meta::Store, b"NS") => not_stored(asked.opcode),
        (Meta::Store | Meta::Delete, b"EX") => Status::Exists,
        (Meta::Store | Meta::Delete | Meta::Count, b"NF") => Status::NotFound,
        (Meta::Value | Meta::Touch, b"EN") => Status::NotFound,
        (Meta::Refused(status), b"MN") => status,
        _ => return Err(UNEXPECTED),
    };
    asked.refuse(status, packets);
    Ok((Turn::Ends, 0))
}

fn value_bytes(word: Option<&[u8]>) -> Result<usize, &'static str> {
    let bytes = number(word).filter(|&bytes| bytes <= VALUE_BYTES_MAX);
    bytes.ok_or("a value larger than there are")
}

/// The number behind a flag.
fn flag<'a>(mut words: impl Iterator<Item = &'a [u8]>, name: u8) -> Option<u64> {
    let word = words.find(|word| word.first() == Some(&name))?;
    number(word.get(1..))
}
