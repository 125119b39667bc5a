//! One item on a device.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 4 | checksum of the segment's write number (8 bytes), the item's number in it (4), and the rest of the record |
//! | 4 | 4 | length of the item |
//! | 8 | | the item as in memory (`item::layout`); its token is always written down |
//!
//! Its length is a multiple of 4, because an item's is.

use super::Reader;
use crate::item::Layout;
use farcache_base::crc32c;

/// What precedes the item.
pub(crate) const RECORD_HEADER_BYTES: usize = 8;

/// The checksum that a record must bear. `rest` is the record from its fifth byte on.
pub(crate) fn record_checksum(write_number: u64, item: u32, rest: &[u8]) -> u32 {
    let place = crc32c::crc32c(&write_number.to_le_bytes());
    let place = crc32c::crc32c_append(place, &item.to_le_bytes());
    crc32c::crc32c_append(place, rest)
}

/// The item of a record, which must be whole and the one expected.
pub(crate) fn record_item(record: &[u8], write_number: u64, item: u32) -> Option<&[u8]> {
    let reader = Reader(record.get(..RECORD_HEADER_BYTES)?);
    let bytes = reader.u32(4) as usize;
    let end = RECORD_HEADER_BYTES.checked_add(bytes)?;
    let rest = record.get(4..end)?;
    let is_whole = reader.u32(0) == record_checksum(write_number, item, rest);
    let bytes = &record[RECORD_HEADER_BYTES..end];
    (is_whole && Layout::of_bytes(bytes).is_some()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Key length 1, kind 0, value length 2, state, key, value, padding.
    const ITEM: [u8; 12] = [1, 0, 2, 0, 0, 0, 0, 0, b'k', b'v', b'w', 0];

    /// Write number 1, item 2.
    fn example() -> Vec<u8> {
        let mut record = vec![0; 4];
        record.extend(12u32.to_le_bytes());
        record.extend(ITEM);
        let covered = [
            1, 0, 0, 0, 0, 0, 0, 0, // write number
            2, 0, 0, 0, // item number
            12, 0, 0, 0, // length
            1, 0, 2, 0, 0, 0, 0, 0, b'k', b'v', b'w', 0,
        ];
        record[..4].copy_from_slice(&crc32c::crc32c(&covered).to_le_bytes());
        record
    }

    #[test]
    fn a_record_belongs_to_its_place() {
        let record = example();
        assert_eq!(record_item(&record, 1, 2), Some(&ITEM[..]));
        assert_eq!(record_item(&record, 2, 2), None, "another segment");
        assert_eq!(record_item(&record, 1, 3), None, "another item");
    }

    #[test]
    fn no_flipped_bit_and_no_cut_goes_unnoticed() {
        let mut record = example();
        for bit in 0..record.len() * 8 {
            record[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(record_item(&record, 1, 2), None, "bit {bit}");
            record[bit / 8] ^= 1 << (bit % 8);
        }
        for len in 0..record.len() {
            assert_eq!(record_item(&record[..len], 1, 2), None, "{len} bytes");
        }
    }
}
