//! A port's address. UCX reads its own part by the lengths that stand in it, and ends the process
//! over one that makes no sense to it; so what is in front tells whether this is an address of
//! ours, and whole.
//!
//! | offset | bytes | field |
//! |---:|---:|---|
//! | 0 | 4 | [`MAGIC`], whose last byte is the format's version |
//! | 4 | 4 | checksum of all that follows, little-endian |
//! | 8 | 40 | [`Process`] |
//! | 48 | 4 | the layout of its shared queues ([`super::layout`]), little-endian |
//! | 52 | rest | UCX's address |
//!
//! It guards against mistakes, not against malice: see [`crate::Port::connect`].

use super::process::{PROCESS_BYTES, Process};
use crate::error::Error;

/// The first bytes.
const MAGIC: [u8; 4] = *b"FcU\x02";

/// Longest address of UCX's, in bytes. A worker with dozens of devices has less.
const UCX_BYTES_MAX: usize = 16 << 10;

/// FNV-1a of 32 bits. Source: <http://www.isthe.com/chongo/tech/comp/fnv/>.
const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;

/// What an address says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address<'a> {
    /// The port's process.
    pub process: Process,
    /// Stands for the layout of its shared queues, if it has any.
    pub layout: u32,
    /// UCX's part.
    pub ucx: &'a [u8],
}

/// An address as bytes.
pub(super) fn encode(address: &Address<'_>) -> Vec<u8> {
    let layout = address.layout.to_le_bytes();
    let rest = [&address.process.encode()[..], &layout, address.ucx].concat();
    let checksum = checksum(&rest).to_le_bytes();
    [&MAGIC[..], &checksum, &rest].concat()
}

/// Whether so many bytes may be an address; looks at nothing else.
pub(super) fn may_be_one(address: &[u8]) -> bool {
    let front = MAGIC.len() + size_of::<u32>() + PROCESS_BYTES + size_of::<u32>();
    (front + 1..=front + UCX_BYTES_MAX).contains(&address.len())
}

/// Reads an address.
///
/// # Errors
/// [`Error::Malformed`]: it is not one, or of another version.
pub(super) fn decode(address: &[u8]) -> Result<Address<'_>, Error> {
    let (magic, rest) = address
        .split_first_chunk()
        .ok_or(Error::Malformed("an address that is cut off"))?;
    if *magic != MAGIC {
        return Err(Error::Malformed("an address of another version"));
    }
    let (said, rest) = rest
        .split_first_chunk()
        .ok_or(Error::Malformed("an address that is cut off"))?;
    if u32::from_le_bytes(*said) != checksum(rest) {
        return Err(Error::Malformed("an address that has been altered"));
    }
    split(rest)
        .filter(|address| (1..=UCX_BYTES_MAX).contains(&address.ucx.len()))
        .ok_or(Error::Malformed("an address that cannot be one"))
}

fn split(bytes: &[u8]) -> Option<Address<'_>> {
    let (process, rest) = Process::decode(bytes)?;
    let (layout, ucx) = rest.split_first_chunk()?;
    let layout = u32::from_le_bytes(*layout);
    Some(Address {
        process,
        layout,
        ucx,
    })
}

/// A number that stands for these bytes.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(FNV_PRIME);
    bytes.iter().fold(FNV_OFFSET, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(ucx: &[u8]) -> Address<'_> {
        Address {
            process: Process::this(),
            layout: 0x0102_0304,
            ucx,
        }
    }

    #[test]
    fn an_address_comes_back_as_it_was() {
        assert_eq!(decode(&encode(&with(b"ucx"))), Ok(with(b"ucx")));
    }

    #[test]
    fn the_parts_lie_where_the_table_says() {
        let bytes = encode(&with(b"ucx"));
        assert_eq!(bytes[8..48], Process::this().encode());
        assert_eq!(bytes[48..52], [4, 3, 2, 1]);
        assert_eq!(&bytes[52..], b"ucx");
    }

    #[test]
    fn the_checksum_is_fnv() {
        // Published values of FNV-1a.
        assert_eq!(checksum(b""), 0x811c_9dc5);
        assert_eq!(checksum(b"a"), 0xe40c_292c);
        assert_eq!(checksum(b"foobar"), 0xbf9c_f968);
    }

    #[test]
    fn what_is_cut_off_altered_or_of_another_version_is_refused() {
        let address = encode(&with(b"ucx"));
        for end in 0..address.len() {
            assert!(decode(&address[..end]).is_err(), "{end} bytes");
        }
        for place in 0..address.len() {
            let mut altered = address.clone();
            altered[place] ^= 1;
            assert!(decode(&altered).is_err(), "byte {place}");
        }
        assert!(decode(&encode(&with(b""))).is_err());
        assert!(decode(&encode(&with(&vec![0; UCX_BYTES_MAX + 1]))).is_err());
        // As before there was a format: the process comes first.
        assert!(decode(&[&Process::this().encode()[..], b"ucx"].concat()).is_err());
    }
}
