//! How a part of a value lies in a server: a header of 32 bytes, then the bytes of a copy or shard,
//! or nothing where the server is a witness.
//!
//! | offset | bytes | field |
//! |-------:|------:|-------|
//! | 0 | 4 | `0xfa`, `F`, `C`, and 1 for this format |
//! | 4 | 1 | data shards; 1 for a copy, 0 for a witness |
//! | 5 | 1 | parity shards; 0 for a copy or witness |
//! | 6 | 1 | number of the shard; else how many owners have a copy, 0 where all of them have |
//! | 7 | 1 | of a copy or witness: how many owners there are; 0 where nobody told, and of a shard |
//! | 8 | 4 | bytes of the whole value |
//! | 12 | 4 | when the value expires: Unix time in seconds, 0 for never |
//! | 16 | 8 | version |
//! | 24 | 4 | CRC-32C of what follows the header |
//! | 28 | 4 | CRC-32C of the 28 bytes above |
//!
//! Numbers are big-endian, as in the protocol that carries them. The version stands in the item
//! too; here it binds the bytes to it, so that shards of two writes are never decoded together.

use crate::{Holders, Version};
use farcache_base::crc32c;
use farcache_base::limits::VALUE_BYTES_MAX;
use farcache_cluster::OWNERS_MAX;
use farcache_erasure::Scheme;
use std::error::Error;
use std::fmt;
use std::ops::Range;

/// Size of the header.
pub const HEADER_BYTES: usize = 32;

const MAGIC: [u8; 4] = [0xfa, b'F', b'C', 1];

/// Which part of a value it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// All of it, as these owners have it.
    Copy(Holders),
    /// Its version alone: these owners have copies.
    Witness(Holders),
    /// A shard.
    Shard {
        /// How the value was coded.
        scheme: Scheme,
        /// The shard's number.
        shard: u8,
    },
}

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Which part of the value it is.
    pub piece: Piece,
    /// How many owners a value that is copied has, so that a server which lacks its part knows that
    /// it should have one. 0 where the writer did not tell, and of a shard, whose scheme tells.
    pub owners: u8,
    /// Length of the whole value.
    pub value_bytes: u32,
    /// When the value expires: Unix time in seconds, 0 for never.
    pub expiry_unix: u32,
    /// The version of the value.
    pub version: Version,
    /// CRC-32C of the part's bytes.
    pub checksum: u32,
}

/// Bytes that are no part of a value, or are damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPart;

impl fmt::Display for NoPart {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("bytes that are no part of a value, or are damaged")
    }
}

impl Error for NoPart {}

impl Piece {
    /// Length of this part of a value of so many bytes.
    pub fn bytes(self, value_bytes: usize) -> usize {
        match self {
            Piece::Shard { scheme, shard } if usize::from(shard) >= scheme.data_shards() => {
                scheme.shard_bytes(value_bytes)
            }
            _ => self.range(value_bytes).len(),
        }
    }

    /// Which bytes of a value of so many are this part; none of parity.
    pub fn range(self, value_bytes: usize) -> Range<usize> {
        match self {
            Piece::Copy(_) => 0..value_bytes,
            Piece::Witness(_) => 0..0,
            Piece::Shard { scheme, shard } => {
                let shard_bytes = scheme.shard_bytes(value_bytes);
                let is_data = usize::from(shard) < scheme.data_shards();
                // The last data shards may be shorter, down to nothing.
                let start = (usize::from(shard) * shard_bytes).min(value_bytes);
                let end = (start + shard_bytes).min(value_bytes);
                start..if is_data { end } else { start }
            }
        }
    }

    /// The piece of these numbers, if there is one.
    pub fn from_numbers([data, parity, shard]: [u8; 3]) -> Option<Piece> {
        match (data, parity, shard) {
            (1, 0, holders) => Some(Piece::Copy(Holders::from_number(holders)?)),
            // Where all owners have a copy there is no witness.
            (0, 0, 1..) => Some(Piece::Witness(Holders::from_number(shard)?)),
            _ => {
                let scheme = Scheme::new(data.into(), parity.into()).ok()?;
                let is_one = usize::from(shard) < scheme.shards();
                is_one.then_some(Piece::Shard { scheme, shard })
            }
        }
    }

    /// Its data and parity shards, and its number, as the header has them.
    pub fn numbers(self) -> [u8; 3] {
        match self {
            Piece::Copy(holders) => [1, 0, holders.number()],
            Piece::Witness(holders) => [0, 0, holders.number()],
            Piece::Shard { scheme, shard } => {
                let (data, parity) = (scheme.data_shards(), scheme.parity_shards());
                [data as u8, parity as u8, shard]
            }
        }
    }
}

/// The checksum of a part's bytes.
pub fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// Bytes that are copied, and summed while they are in the nearest cache, at a time.
const COPIED_BYTES: usize = 8 << 10;

/// Copies a part's bytes and tells their checksum: one way through memory instead of two.
///
/// # Panics
/// The lengths differ.
pub fn copy_with_checksum(from: &[u8], to: &mut [u8]) -> u32 {
    assert_eq!(from.len(), to.len(), "room of another length");
    let blocks = from.chunks(COPIED_BYTES).zip(to.chunks_mut(COPIED_BYTES));
    blocks.fold(0, |sum, (from, to)| {
        to.copy_from_slice(from);
        crc32c::crc32c_append(sum, to)
    })
}

impl Header {
    /// As it is stored.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..7].copy_from_slice(&self.piece.numbers());
        bytes[7] = self.owners;
        bytes[8..12].copy_from_slice(&self.value_bytes.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.expiry_unix.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.version.bits().to_be_bytes());
        bytes[24..28].copy_from_slice(&self.checksum.to_be_bytes());
        let sum = checksum(&bytes[..28]);
        bytes[28..].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    /// Reads the header at the start of what a server stores.
    ///
    /// # Errors
    /// [`NoPart`]: too short, of another format, damaged, or of numbers that contradict each other.
    pub fn decode(bytes: &[u8]) -> Result<Header, NoPart> {
        let header: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or(NoPart)?;
        let number = |at: usize| {
            let four = [header[at], header[at + 1], header[at + 2], header[at + 3]];
            u32::from_be_bytes(four)
        };
        if header[..4] != MAGIC || number(28) != checksum(&header[..28]) {
            return Err(NoPart);
        }
        let version = u64::from(number(16)) << 32 | u64::from(number(20));
        let value_bytes = number(8);
        let piece = Piece::from_numbers([header[4], header[5], header[6]]).ok_or(NoPart)?;
        let owners = header[7];
        let is_possible = match piece {
            Piece::Copy(_) | Piece::Witness(_) => usize::from(owners) <= OWNERS_MAX,
            Piece::Shard { .. } => owners == 0,
        };
        if value_bytes as usize > VALUE_BYTES_MAX || !is_possible {
            return Err(NoPart);
        }
        Ok(Header {
            piece,
            owners,
            value_bytes,
            expiry_unix: number(12),
            version: Version::from_bits(version).ok_or(NoPart)?,
            checksum: number(24),
        })
    }

    /// How many owners have a part of the value; 0 where that is not known.
    pub fn owners(&self) -> usize {
        match self.piece {
            Piece::Copy(_) | Piece::Witness(_) => self.owners.into(),
            Piece::Shard { scheme, .. } => scheme.shards(),
        }
    }

    /// Length of the part that follows the header.
    pub fn part_bytes(&self) -> usize {
        self.piece.bytes(self.value_bytes as usize)
    }

    /// Takes what a server stores apart.
    ///
    /// # Errors
    /// [`NoPart`], as of [`Header::decode`], or the part has another length or checksum than the
    /// header says.
    pub fn split(bytes: &[u8]) -> Result<(Header, &[u8]), NoPart> {
        let header = Header::decode(bytes)?;
        let part = &bytes[HEADER_BYTES..];
        let is_whole = part.len() == header.part_bytes() && checksum(part) == header.checksum;
        is_whole.then_some((header, part)).ok_or(NoPart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shard(data: usize, parity: usize, shard: u8) -> Piece {
        let scheme = Scheme::new(data, parity).unwrap();
        Piece::Shard { scheme, shard }
    }

    fn stored(piece: Piece, value_bytes: u32, part: &[u8]) -> Vec<u8> {
        let header = Header {
            piece,
            owners: 0,
            value_bytes,
            expiry_unix: 0,
            version: Version::from_bits(0x2_8000_0003).unwrap(),
            checksum: checksum(part),
        };
        [&header.encode()[..], part].concat()
    }

    /// The checksum of "123456789" is the check value of CRC-32C (RFC 3720, B.4, and the catalogue
    /// of CRCs); that of the header was computed by hand-written code that goes bit by bit.
    #[test]
    fn its_bytes_are_these() {
        let mut header = Header::decode(&stored(shard(3, 2, 4), 25, b"123456789")).unwrap();
        header.expiry_unix = 0x6a00_0000;
        let bytes = header.encode();
        #[rustfmt::skip]
        let golden = [
            0xfa, b'F', b'C', 1,        // a part of a value, format 1
            3, 2, 4, 0,                 // shard 4 of ec(3, 2), which is no copy
            0, 0, 0, 25,                // of a value of 25 bytes
            0x6a, 0, 0, 0,              // expires in 2026
            0, 0, 0, 2, 0x80, 0, 0, 3,  // the version
            0xe3, 0x06, 0x92, 0x83,     // checksum of "123456789"
        ];
        assert_eq!(bytes[..28], golden);
        assert_eq!(bytes[28..], bit_by_bit(&golden).to_be_bytes());
        assert_eq!(Header::decode(&bytes), Ok(header));
    }

    fn bit_by_bit(bytes: &[u8]) -> u32 {
        let step = |sum: u32, byte: &u8| {
            (0..8).fold(sum ^ u32::from(*byte), |sum, _| match sum & 1 {
                1 => sum >> 1 ^ 0x82f6_3b78,
                _ => sum >> 1,
            })
        };
        !bytes.iter().fold(u32::MAX, step)
    }

    #[test]
    fn a_copy_tells_how_many_there_are_and_a_shard_does_so_by_its_scheme() {
        let mut header =
            Header::decode(&stored(Piece::Copy(Holders::ALL), 9, b"123456789")).unwrap();
        assert_eq!(header.owners(), 0, "its writer did not tell");
        header.owners = 3;
        assert_eq!(header.encode()[4..8], [1, 0, 0, 3]);
        let read = Header::decode(&header.encode()).unwrap();
        assert_eq!((read, read.owners()), (header, 3));
        let header = Header::decode(&stored(shard(3, 2, 4), 25, b"123456789")).unwrap();
        assert_eq!(header.owners(), 5);
    }

    #[test]
    fn a_part_is_as_long_as_its_shard() {
        let of = |shard_number| shard(4, 2, shard_number).bytes(5);
        assert_eq!([0, 1, 2, 3, 4, 5].map(of), [2, 2, 1, 0, 2, 2]);
        assert_eq!(Piece::Copy(Holders::ALL).bytes(5), 5);
        let ranges = [0, 1, 2, 3, 4].map(|number| shard(4, 2, number).range(5));
        assert_eq!(ranges, [0..2, 2..4, 4..5, 5..5, 5..5]);
        assert_eq!(Piece::Copy(Holders::ALL).range(5), 0..5);
    }

    #[test]
    fn every_change_of_a_byte_is_noticed() {
        let whole = stored(shard(3, 2, 4), 25, b"123456789");
        assert!(Header::split(&whole).is_ok());
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            assert_eq!(Header::split(&changed), Err(NoPart), "byte {at}");
            assert_eq!(Header::split(&whole[..at]), Err(NoPart), "cut at {at}");
        }
        let longer = [&whole[..], b"x"].concat();
        assert_eq!(Header::split(&longer), Err(NoPart));
    }

    #[test]
    fn what_is_copied_has_the_checksum_of_the_whole() {
        for bytes in [0, 1, COPIED_BYTES - 1, COPIED_BYTES, 3 * COPIED_BYTES + 7] {
            let from: Vec<u8> = (0..bytes).map(|at| (at * 31) as u8).collect();
            let mut to = vec![0; bytes];
            assert_eq!(copy_with_checksum(&from, &mut to), checksum(&from));
            assert_eq!(from, to);
        }
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        // Each is sealed with a checksum that is right.
        for (at, byte) in [
            (4, 0),
            (4, 31),
            (5, 0),
            (5, 32),
            (6, 5),
            (7, 1),
            (8, 0x80),
            (16, 0x80),
        ] {
            let mut bytes = stored(shard(3, 2, 4), 25, b"123456789");
            bytes[at] = byte;
            let sum = checksum(&bytes[..28]);
            bytes[28..32].copy_from_slice(&sum.to_be_bytes());
            assert_eq!(Header::decode(&bytes), Err(NoPart), "{byte} at {at}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            owners in 0_u8..=OWNERS_MAX as u8,
            (data, parity) in (1_usize..25, 1_usize..8),
            number in any::<prop::sample::Index>(),
            value in proptest::collection::vec(any::<u8>(), 0..300),
            expiry_unix in any::<u32>(),
            is_copy in any::<bool>(),
        ) {
            let piece = match is_copy {
                true => Piece::Copy(Holders::ALL),
                false => shard(data, parity, number.index(data + parity) as u8),
            };
            let part = &value[..piece.bytes(value.len())];
            let bytes = stored(piece, value.len() as u32, part);
            let mut header = Header::decode(&bytes).unwrap();
            header.expiry_unix = expiry_unix;
            header.owners = if is_copy { owners } else { 0 };
            let bytes = [&header.encode()[..], part].concat();
            prop_assert_eq!(Header::split(&bytes), Ok((header, part)));
        }
    }
}
