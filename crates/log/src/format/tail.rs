//! What follows the records of a segment.
//!
//! | part | content |
//! |---|---|
//! | item table | an entry for each item |
//! | tombstones | |
//! | echoes | tombstones of the segment written before |
//! | tombstones | once more: whatever single part is damaged, none of them is lost |
//!
//! The header has the sizes, and a checksum of each.

use super::*;
use farcache_base::crc32c;

/// How often the tombstones stand in a tail.
pub(crate) const TOMBSTONE_COPIES: usize = 2;

/// The checksums of a tail's parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TailChecksums {
    pub table: u32,
    pub tombstones: u32,
    pub echoes: u32,
}

/// A tail as it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail<'a> {
    /// The item table; none if it is damaged.
    pub table: Option<&'a [u8]>,
    /// From one that is whole; empty if none is.
    pub tombstones: &'a [u8],
    /// Empty if they are damaged.
    pub echoes: &'a [u8],
    /// Nothing is damaged.
    pub is_whole: bool,
}

/// Item table, tombstones, echoes, and the tombstones once more.
fn parts<'a>(header: &SegmentHeader, bytes: &'a [u8]) -> [&'a [u8]; 4] {
    let (table, rest) = bytes.split_at(header.items as usize * ENTRY_BYTES);
    let (tombstones, rest) = rest.split_at(header.tombstones as usize * TOMBSTONE_BYTES);
    let (echoes, again) = rest.split_at(header.echoes as usize * TOMBSTONE_BYTES);
    [table, tombstones, echoes, again]
}

/// The names of the parts of a tail that are damaged; `bytes` must be as many as the header says.
pub(crate) fn damaged_parts(header: &SegmentHeader, bytes: &[u8]) -> Vec<&'static str> {
    let [table, tombstones, echoes, again] = parts(header, bytes);
    let checksums = &header.tail;
    let is_table = whole(table, checksums.table).is_some() && is_in_order(header, table);
    let is_whole = [
        (is_table, "item table"),
        (
            whole(tombstones, checksums.tombstones).is_some(),
            "tombstones",
        ),
        (whole(echoes, checksums.echoes).is_some(), "echoes"),
        (
            whole(again, checksums.tombstones).is_some(),
            "second copy of the tombstones",
        ),
    ];
    let damaged = is_whole.into_iter().filter(|(is_whole, _)| !is_whole);
    damaged.map(|(_, name)| name).collect()
}

impl<'a> Tail<'a> {
    /// The parts of `bytes`, which must be as many as the header says.
    pub fn parse(header: &SegmentHeader, bytes: &'a [u8]) -> Tail<'a> {
        let [table, tombstones, echoes, again] = parts(header, bytes);
        let checksums = &header.tail;
        let [first, second] = [tombstones, again].map(|part| whole(part, checksums.tombstones));
        let table = whole(table, checksums.table).filter(|table| is_in_order(header, table));
        let echoes = whole(echoes, checksums.echoes);
        Tail {
            table,
            tombstones: first.or(second).unwrap_or_default(),
            echoes: echoes.unwrap_or_default(),
            is_whole: table.and(first).and(second).and(echoes).is_some(),
        }
    }
}

fn whole(part: &[u8], checksum: u32) -> Option<&[u8]> {
    (crc32c::crc32c(part) == checksum).then_some(part)
}

/// Whether the entries can be those of the segment's records.
fn is_in_order(header: &SegmentHeader, table: &[u8]) -> bool {
    let mut end = HEADER_BYTES as u64;
    let fits = |entry: TableEntry| {
        let follows = entry.offset >= end;
        end = entry.offset + RECORD_HEADER_BYTES as u64;
        follows
    };
    parse_entries(table).all(fits) && end <= header.table_offset
}

/// The bytes of a tail.
pub(crate) fn encode_tail(
    items: &[TableEntry],
    tombstones: &[Tombstone],
    echoes: &[Tombstone],
) -> (Vec<u8>, TailChecksums) {
    let mut table = vec![0; items.len() * ENTRY_BYTES];
    let (places, _) = table.as_chunks_mut::<ENTRY_BYTES>();
    for (place, item) in places.iter_mut().zip(items) {
        item.encode(place);
    }
    let [tombstones, echoes] = [tombstones, echoes].map(encode_tombstones);
    let checksums = TailChecksums {
        table: crc32c::crc32c(&table),
        tombstones: crc32c::crc32c(&tombstones),
        echoes: crc32c::crc32c(&echoes),
    };
    (
        [&table[..], &tombstones, &echoes, &tombstones].concat(),
        checksums,
    )
}

fn encode_tombstones(tombstones: &[Tombstone]) -> Vec<u8> {
    let mut bytes = vec![0; tombstones.len() * TOMBSTONE_BYTES];
    let (places, _) = bytes.as_chunks_mut::<TOMBSTONE_BYTES>();
    for (place, tombstone) in places.iter_mut().zip(tombstones) {
        tombstone.encode(place);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tombstone(item: u32) -> Tombstone {
        Tombstone {
            write_number: 3,
            item,
        }
    }

    fn example() -> (SegmentHeader, Vec<u8>) {
        let entry = |offset| TableEntry {
            hash: 1,
            fingerprint: 2,
            offset,
            expiry: 0,
        };
        let first = HEADER_BYTES as u64;
        let items = [entry(first), entry(first + 100)];
        let tombstones = [tombstone(7), tombstone(8), tombstone(9)];
        let (bytes, tail) = encode_tail(&items, &tombstones, &[tombstone(5)]);
        let header = SegmentHeader {
            items: 2,
            tombstones: 3,
            echoes: 1,
            table_offset: first + 200,
            tail,
            ..SegmentHeader::default()
        };
        (header, bytes)
    }

    #[test]
    fn its_parts_follow_one_another() {
        let (header, bytes) = example();
        // Two entries of 24 bytes, three tombstones of 16, an echo, and the tombstones again.
        assert_eq!((bytes.len(), header.tail_bytes()), (160, 160));
        assert_eq!(bytes[48..96], bytes[112..]);
        let tail = Tail::parse(&header, &bytes);
        assert!(tail.is_whole);
        assert_eq!(tail.table, Some(&bytes[..48]));
        let numbers =
            |tombstones| -> Vec<u32> { parse_tombstones(tombstones).map(|one| one.item).collect() };
        assert_eq!(numbers(tail.tombstones), [7, 8, 9]);
        assert_eq!(numbers(tail.echoes), [5]);
    }

    #[test]
    fn a_flipped_bit_is_noticed_and_costs_no_tombstone() {
        let (header, mut bytes) = example();
        let tombstones = bytes[48..96].to_vec();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let tail = Tail::parse(&header, &bytes);
            assert!(!tail.is_whole, "bit {bit}");
            assert_eq!(damaged_parts(&header, &bytes).len(), 1, "bit {bit}");
            assert_eq!(tail.table.is_none(), bit < 48 * 8, "bit {bit}");
            assert_eq!(tail.tombstones, tombstones, "bit {bit}");
            let is_echo = (96..112).contains(&(bit / 8));
            assert_eq!(tail.echoes.is_empty(), is_echo, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn entries_out_of_order_are_no_table() {
        let (header, bytes) = example();
        let header = SegmentHeader {
            table_offset: HEADER_BYTES as u64 + 100,
            ..header
        };
        assert!(Tail::parse(&header, &bytes).table.is_none());
    }
}
