//! Every byte on a device. All numbers are little-endian; checksums are CRC-32C.
//!
//! A slot holds one segment: [`SegmentHeader`], records, item table ([`TableEntry`]), deaths
//! ([`Death`]), in this order. The first slot of a device holds two [`Superblock`]s.

mod header;
mod record;
mod superblock;
mod table;

pub(crate) use header::{HEADER_BYTES, SegmentHeader};
pub(crate) use record::{RECORD_HEADER_BYTES, record_checksum, record_item};
pub(crate) use superblock::{SUPERBLOCK_COPIES, Superblock};
pub(crate) use table::{
    DEATH_BYTES, Death, ENTRY_BYTES, TableEntry, WHOLE_SEGMENT, parse_deaths, parse_entries,
};

/// Version of all structures; another one is not read.
const FORMAT_VERSION: u32 = 1;

/// Reads numbers at fixed offsets.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const BYTES: usize>(&self, offset: usize) -> [u8; BYTES] {
        let part = &self.0[offset..offset + BYTES];
        part.try_into().expect("the slice has this length")
    }

    fn u32(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.array(offset))
    }

    fn u64(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.array(offset))
    }
}

/// Writes numbers at fixed offsets.
struct Writer<'a>(&'a mut [u8]);

impl Writer<'_> {
    fn bytes(&mut self, offset: usize, bytes: &[u8]) {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn u32(&mut self, offset: usize, number: u32) {
        self.bytes(offset, &number.to_le_bytes());
    }

    fn u64(&mut self, offset: usize, number: u64) {
        self.bytes(offset, &number.to_le_bytes());
    }
}
