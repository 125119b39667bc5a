//! Every byte on a device. All numbers are little-endian; checksums are CRC-32C.
//!
//! A slot holds one segment: [`SegmentHeader`], records, and a tail of item table ([`TableEntry`])
//! and tombstones ([`Tombstone`]), in this order. The first slot of a device holds two
//! [`Superblock`]s and two [`Note`]s.

mod header;
mod members;
mod note;
mod record;
mod superblock;
mod table;
mod tail;

pub(crate) use header::{HEADER_BYTES, SegmentHeader};
pub(crate) use members::{DeviceId, Member, Members, random_id};
pub use note::TENURE_BYTES_MAX;
pub(crate) use note::{NOTE_BYTES, NOTE_COPIES, Note};
pub(crate) use record::{RECORD_HEADER_BYTES, record_checksum, record_item};
pub(crate) use superblock::{MEMBERS_MAX, SUPERBLOCK_BYTES, SUPERBLOCK_COPIES, Superblock};
pub(crate) use table::{
    ENTRY_BYTES, TOMBSTONE_BYTES, TableEntry, Tombstone, WHOLE_SEGMENT, parse_entries,
    parse_tombstones,
};
pub(crate) use tail::{TOMBSTONE_COPIES, Tail, TailChecksums, damaged_parts, encode_tail};

use farcache_base::crc32c;

/// Version of all structures; another one is not read.
pub(crate) const FORMAT_VERSION: u32 = 3;

/// Size of the blocks that say what a device or a segment is: magic, version, fields, and last a
/// checksum of all before it.
const BLOCK_BYTES: usize = 128;
/// Where the checksum of a block stands.
const CHECKSUM: usize = BLOCK_BYTES - 4;

/// The version of what begins like a block of this kind.
fn block_version(bytes: &[u8], magic: [u8; 8]) -> Option<u32> {
    let reader = Reader(bytes.get(..BLOCK_BYTES)?);
    (reader.array(0) == magic).then(|| reader.u32(8))
}

/// Reads numbers at fixed offsets.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The block at the front of `bytes`; none unless it is whole, of this kind and of this
    /// version.
    fn block(bytes: &'a [u8], magic: [u8; 8]) -> Option<Reader<'a>> {
        let reader = Reader(bytes.get(..BLOCK_BYTES)?);
        let is_whole = reader.array(0) == magic
            && reader.u32(8) == FORMAT_VERSION
            && reader.u32(CHECKSUM) == crc32c::crc32c(&reader.0[..CHECKSUM]);
        is_whole.then_some(reader)
    }

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

impl<'a> Writer<'a> {
    /// Begins a block of this kind at the front of `out`: all zero behind magic and version.
    fn block(out: &'a mut [u8], magic: [u8; 8]) -> Writer<'a> {
        let out = &mut out[..BLOCK_BYTES];
        out.fill(0);
        let mut writer = Writer(out);
        writer.bytes(0, &magic);
        writer.u32(8, FORMAT_VERSION);
        writer
    }

    /// Ends a block.
    fn seal(mut self) {
        let checksum = crc32c::crc32c(&self.0[..CHECKSUM]);
        self.u32(CHECKSUM, checksum);
    }

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
