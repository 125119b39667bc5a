//! A port's address. UCX reads its own part by the lengths that stand in it, and ends the process over one that makes no
//! sense to it; so what is in front tells whether this is an address of ours, and whole.
//!
//! | offset | bytes | field |
//! |---:|---:|---|
//! | 0 | 4 | [`MAGIC`], whose last byte is the format's version |
//! | 4 | 4 | checksum of all that follows, little-endian |
//! | 8 | 40 | [`Process`] |
//! | 48 | rest | UCX's address |
//!
//! It guards against mistakes, not against malice: see [`crate::Port::connect`].

use super::process::Process;
use crate::error::Error;

/// The first bytes.
const MAGIC: [u8; 4] = *b"FcU\x01";

/// Longest address of UCX's, in bytes. A worker with dozens of devices has less.
const UCX_BYTES_MAX: usize = 16 << 10;

/// FNV-1a of 32 bits. Source: <http://www.isthe.com/chongo/tech/comp/fnv/>.
const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;

/// The address of a port of this process whose worker has this address.
pub(super) fn encode(process: &Process, ucx: &[u8]) -> Vec<u8> {
    let rest = [&process.encode()[..], ucx].concat();
    let checksum = checksum(&rest).to_le_bytes();
    [&MAGIC[..], &checksum, &rest].concat()
}

/// Splits an address into the process and UCX's part.
///
/// # Errors
/// [`Error::Malformed`]: it is not one, or of another version.
pub(super) fn decode(address: &[u8]) -> Result<(Process, &[u8]), Error> {
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
    Process::decode(rest)
        .filter(|(_, ucx)| (1..=UCX_BYTES_MAX).contains(&ucx.len()))
        .ok_or(Error::Malformed("an address that cannot be one"))
}

fn checksum(bytes: &[u8]) -> u32 {
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(FNV_PRIME);
    bytes.iter().fold(FNV_OFFSET, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_comes_back_as_it_was() {
        let process = Process::this();
        let address = encode(&process, b"ucx");
        assert_eq!(decode(&address), Ok((process, &b"ucx"[..])));
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
        let process = Process::this();
        let address = encode(&process, b"ucx");
        for end in 0..address.len() {
            assert!(decode(&address[..end]).is_err(), "{end} bytes");
        }
        for place in 0..address.len() {
            let mut altered = address.clone();
            altered[place] ^= 1;
            assert!(decode(&altered).is_err(), "byte {place}");
        }
        assert!(decode(&encode(&process, b"")).is_err());
        assert!(decode(&encode(&process, &vec![0; UCX_BYTES_MAX + 1])).is_err());
        // As before there was a format: the process comes first.
        assert!(decode(&[&process.encode()[..], b"ucx"].concat()).is_err());
    }
}
