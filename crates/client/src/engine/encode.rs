//! Operations as packets.

use crate::operation::{Direction, Operation, VersionTerms};
use crate::store::StoreMode;
use farcache_proto::binary::{
    ABOUT_OLDER, ArithmeticExtras, HEADER_BYTES, Header, MAGIC_REQUEST, NO_CREATE, Opcode,
    SetExtras, Told, VersionedGetExtras, encode_head, encode_head_telling, encode_u32,
    keeping_bits,
};
use farcache_redundancy::{Version, stored};

/// The bit of a token that no version has: the write stands on the promise of its version.
const PROMISED: u64 = 1 << 63;

/// The opcode of an operation that is answered.
pub(super) fn opcode(operation: &Operation<'_>) -> Opcode {
    match operation {
        Operation::Get { .. } => Opcode::Get,
        Operation::GetAndTouch { .. } => Opcode::Gat,
        Operation::Touch { .. } => Opcode::Touch,
        Operation::Store(store) => match store.mode {
            StoreMode::Set => Opcode::Set,
            StoreMode::Add => Opcode::Add,
            StoreMode::Replace => Opcode::Replace,
            StoreMode::Append => Opcode::Append,
            StoreMode::Prepend => Opcode::Prepend,
            StoreMode::IfNewer(_) | StoreMode::IfNewerBehind(..) | StoreMode::IfPromised(_) => {
                Opcode::SetVersioned
            }
            StoreMode::Spread(_) => Opcode::SetSpread,
        },
        Operation::GetVersioned { .. } | Operation::GetPart { .. } => Opcode::GetVersioned,
        Operation::GetSpread { .. } => Opcode::GetSpread,
        Operation::DeleteIfNewer { .. } => Opcode::DeleteVersioned,
        Operation::Delete { .. } => Opcode::Delete,
        Operation::Arithmetic { direction, .. } => match direction {
            Direction::Increment => Opcode::Increment,
            Direction::Decrement => Opcode::Decrement,
        },
        Operation::Flush { .. } => Opcode::Flush,
        Operation::Version => Opcode::Version,
        Operation::Noop => Opcode::Noop,
        Operation::Statistics { .. } => Opcode::Stat,
        Operation::Verbosity { .. } => Opcode::Verbosity,
        Operation::ClusterMap { .. } => Opcode::ClusterMap,
    }
}

/// The form of a command that is not answered when it succeeds, if there is one.
pub(super) fn quiet(opcode: Opcode) -> Option<Opcode> {
    Some(match opcode {
        Opcode::Set => Opcode::SetQ,
        Opcode::Add => Opcode::AddQ,
        Opcode::Replace => Opcode::ReplaceQ,
        Opcode::Append => Opcode::AppendQ,
        Opcode::Prepend => Opcode::PrependQ,
        Opcode::Delete => Opcode::DeleteQ,
        Opcode::Increment => Opcode::IncrementQ,
        Opcode::Decrement => Opcode::DecrementQ,
        Opcode::Flush => Opcode::FlushQ,
        _ => return None,
    })
}

/// The key that an operation is about; none where it is about a whole server.
pub(crate) fn key<'a>(operation: &Operation<'a>) -> Option<&'a [u8]> {
    match *operation {
        Operation::Get { key, .. }
        | Operation::GetAndTouch { key, .. }
        | Operation::Touch { key, .. }
        | Operation::Delete { key, .. }
        | Operation::GetVersioned { key, .. }
        | Operation::GetPart { key, .. }
        | Operation::GetSpread { key, .. }
        | Operation::DeleteIfNewer { key, .. }
        | Operation::Arithmetic { key, .. } => Some(key),
        Operation::Store(ref store) => Some(store.key),
        Operation::Flush { .. }
        | Operation::Version
        | Operation::Noop
        | Operation::Statistics { .. }
        | Operation::Verbosity { .. }
        | Operation::ClusterMap { .. } => None,
    }
}

/// Whether a request can tell of a version that is complete.
pub(super) fn tells_of_versions(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::SetVersioned | Opcode::DeleteVersioned | Opcode::GetVersioned
    )
}

/// Appends the packet of an operation up to its value, of which only the length goes in. One that
/// [`tells_of_versions`] tells this besides.
pub(super) fn head(
    operation: &Operation<'_>,
    opcode: Opcode,
    (opaque, told): (u32, Told),
    out: &mut Vec<u8>,
) {
    let mut header = Header {
        magic: MAGIC_REQUEST,
        opcode: opcode as u8,
        opaque,
        ..Header::default()
    };
    let key = key(operation).unwrap_or_default();
    match operation {
        Operation::Get { .. } => get(key, opaque, out),
        Operation::GetAndTouch { expiry_s, .. } | Operation::Touch { expiry_s, .. } => {
            encode_head(header, &encode_u32(*expiry_s), key, 0, out);
        }
        Operation::Store(store) => {
            header.cas = match store.mode {
                StoreMode::IfPromised(_) => store.cas | PROMISED,
                _ => store.cas,
            };
            header.data_type = store.mode.keeping().map_or(0, keeping_bits);
            let value_len = store.value.as_slice().len();
            let extras = SetExtras {
                flags: store.flags,
                expiration: store.expiry_s,
            };
            match store.mode {
                StoreMode::Append | StoreMode::Prepend => {
                    encode_head(header, &[], key, value_len, out);
                }
                StoreMode::Spread(spread) => {
                    let extras = [&extras.encode()[..], &spread].concat();
                    encode_head(header, &extras, key, value_len, out);
                }
                StoreMode::IfNewerBehind(_, front) => {
                    let extras = [&extras.encode()[..], &front].concat();
                    encode_head_telling(header, (&extras, told), key, value_len, out);
                }
                StoreMode::IfNewer(_) | StoreMode::IfPromised(_) => {
                    let extras = extras.encode();
                    encode_head_telling(header, (&extras, told), key, value_len, out);
                }
                _ => encode_head(header, &extras.encode(), key, value_len, out),
            }
        }
        Operation::Delete { cas, .. } => {
            header.cas = *cas;
            encode_head(header, &[], key, 0, out);
        }
        Operation::GetVersioned {
            bytes_max, terms, ..
        } => {
            ask_for(*terms, &mut header);
            let extras = encode_u32(*bytes_max);
            encode_head_telling(header, (&extras, told), key, 0, out);
        }
        Operation::GetPart { terms, .. } => {
            ask_for(*terms, &mut header);
            let extras = VersionedGetExtras {
                bytes_max: u32::MAX,
                front_bytes: stored::HEADER_BYTES as u8,
            };
            encode_head_telling(header, (&extras.encode(), told), key, 0, out);
        }
        Operation::GetSpread { spread, .. } => encode_head(header, spread, key, 0, out),
        Operation::DeleteIfNewer {
            version,
            keep_s,
            is_promised,
            keeping,
            ..
        } => {
            header.cas = *version | if *is_promised { PROMISED } else { 0 };
            header.data_type = keeping_bits(*keeping);
            let extras = encode_u32(*keep_s);
            encode_head_telling(header, (&extras, told), key, 0, out);
        }
        Operation::Arithmetic { delta, initial, .. } => {
            let extras = ArithmeticExtras {
                delta: *delta,
                initial: initial.map_or(0, |initial| initial.number),
                expiration: initial.map_or(NO_CREATE, |initial| initial.expiry_s),
            };
            encode_head(header, &extras.encode(), key, 0, out);
        }
        Operation::Flush { delay_s: 0 } | Operation::Version | Operation::Noop => {
            encode_head(header, &[], &[], 0, out);
        }
        Operation::Flush { delay_s } => encode_head(header, &encode_u32(*delay_s), &[], 0, out),
        Operation::Statistics { group } => encode_head(header, &[], group, 0, out),
        Operation::Verbosity { level } => encode_head(header, &encode_u32(*level), &[], 0, out),
        Operation::ClusterMap { known_edition } => {
            header.cas = *known_edition;
            encode_head(header, &[], &[], 0, out);
        }
    }
}

/// Which version a get is for.
fn ask_for(terms: VersionTerms, header: &mut Header) {
    header.cas = terms.token();
    if let VersionTerms::Beneath(_) = terms {
        header.data_type = ABOUT_OLDER;
    }
}

/// Appends what tells of a version that it is complete.
pub(super) fn complete(version: Version, out: &mut Vec<u8>) {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: Opcode::TellComplete as u8,
        ..Header::default()
    };
    encode_head_telling(header, (&[], Told::complete(version.bits())), &[], 0, out);
}

/// Appends what tells of a key that it is in use.
pub(super) fn used(key: &[u8], out: &mut Vec<u8>) {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: Opcode::TellUsed as u8,
        ..Header::default()
    };
    encode_head(header, &[], key, 0, out);
}

/// Appends a get, the operation that must be cheapest.
pub(super) fn get(key: &[u8], opaque: u32, out: &mut Vec<u8>) {
    let mut header = [0; HEADER_BYTES];
    header[0] = MAGIC_REQUEST;
    header[2..4].copy_from_slice(&(key.len() as u16).to_be_bytes());
    header[8..12].copy_from_slice(&(key.len() as u32).to_be_bytes());
    header[12..16].copy_from_slice(&opaque.to_be_bytes());
    out.reserve(HEADER_BYTES + key.len());
    out.extend_from_slice(&header);
    out.extend_from_slice(key);
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_proto::binary::Packet;

    #[test]
    fn the_short_way_to_write_a_get_is_the_long_one() {
        let (mut short, mut long) = (Vec::new(), Vec::new());
        get(b"key", 0x0102_0304, &mut short);
        let header = Header {
            magic: MAGIC_REQUEST,
            opcode: Opcode::Get as u8,
            opaque: 0x0102_0304,
            ..Header::default()
        };
        Packet {
            header,
            extras: &[],
            key: b"key",
            value: &[],
        }
        .encode(&mut long);
        assert_eq!(short, long);
    }
}
