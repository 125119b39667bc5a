//! What a segment holds and whose end it tells.
//!
//! An entry of the item table:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | hash of the key, as the index uses it |
//! | 8 | 8 | fingerprint: a second, independent hash of the key |
//! | 16 | 4 | where its record begins, in units of 4 bytes from the segment's start |
//! | 20 | 4 | expiry |
//!
//! A tombstone:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | write number of a segment |
//! | 8 | 4 | number of the item in it that died, or 2^32 - 1 for all of them |
//! | 12 | 4 | 0 |

use super::{Reader, Writer};
use farcache_base::time::Seconds;

/// Size of an entry of the item table.
pub(crate) const ENTRY_BYTES: usize = 24;
/// Size of a tombstone.
pub(crate) const TOMBSTONE_BYTES: usize = 16;
/// Item number that stands for all items of a segment.
pub(crate) const WHOLE_SEGMENT: u32 = u32::MAX;

/// One item of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableEntry {
    pub hash: u64,
    pub fingerprint: u64,
    /// Where its record begins, in bytes from the segment's start; a multiple of 4.
    pub offset: u64,
    pub expiry: Seconds,
}

/// A copy of an item, or a whole segment, that nobody may find again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tombstone {
    pub write_number: u64,
    pub item: u32,
}

impl TableEntry {
    pub fn encode(&self, out: &mut [u8]) {
        let mut writer = Writer(&mut out[..ENTRY_BYTES]);
        writer.u64(0, self.hash);
        writer.u64(8, self.fingerprint);
        writer.u32(16, (self.offset / 4) as u32);
        writer.u32(20, self.expiry);
    }

    fn decode(bytes: &[u8]) -> TableEntry {
        let reader = Reader(bytes);
        TableEntry {
            hash: reader.u64(0),
            fingerprint: reader.u64(8),
            offset: u64::from(reader.u32(16)) * 4,
            expiry: reader.u32(20),
        }
    }
}

impl Tombstone {
    pub fn encode(&self, out: &mut [u8]) {
        let mut writer = Writer(&mut out[..TOMBSTONE_BYTES]);
        writer.u64(0, self.write_number);
        writer.u32(8, self.item);
        writer.u32(12, 0);
    }

    fn decode(bytes: &[u8]) -> Tombstone {
        let reader = Reader(bytes);
        Tombstone {
            write_number: reader.u64(0),
            item: reader.u32(8),
        }
    }
}

/// The entries of an item table.
pub(crate) fn parse_entries(table: &[u8]) -> impl Iterator<Item = TableEntry> + '_ {
    let (entries, _) = table.as_chunks::<ENTRY_BYTES>();
    entries.iter().map(|entry| TableEntry::decode(entry))
}

/// The tombstones that follow an item table.
pub(crate) fn parse_tombstones(tombstones: &[u8]) -> impl Iterator<Item = Tombstone> + '_ {
    let (tombstones, _) = tombstones.as_chunks::<TOMBSTONE_BYTES>();
    tombstones
        .iter()
        .map(|tombstone| Tombstone::decode(tombstone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_these_bytes() {
        let entry = TableEntry {
            hash: 0x0102,
            fingerprint: 3,
            offset: 0x404,
            expiry: 5,
        };
        let mut bytes = [0xff; ENTRY_BYTES];
        entry.encode(&mut bytes);
        let expected = [
            2, 1, 0, 0, 0, 0, 0, 0, // hash
            3, 0, 0, 0, 0, 0, 0, 0, // fingerprint
            1, 1, 0, 0, // 0x404 / 4 = 0x101
            5, 0, 0, 0,
        ];
        assert_eq!(bytes, expected);
        assert_eq!(parse_entries(&bytes).collect::<Vec<_>>(), [entry]);
    }

    #[test]
    fn a_tombstone_has_these_bytes() {
        let tombstone = Tombstone {
            write_number: 0x0a0b,
            item: WHOLE_SEGMENT,
        };
        let mut bytes = [0xff; TOMBSTONE_BYTES];
        tombstone.encode(&mut bytes);
        let expected = [
            0x0b, 0x0a, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0,
        ];
        assert_eq!(bytes, expected);
        assert_eq!(parse_tombstones(&bytes).collect::<Vec<_>>(), [tombstone]);
    }
}
