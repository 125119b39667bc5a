//! What a segment is, at its beginning.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | magic, `FARCSEG` and 0 |
//! | 8 | 4 | format version |
//! | 12 | 4 | slots that it takes |
//! | 16 | 16 | device that it was written to: on another one, or on this one formatted again, it does not count |
//! | 32 | 8 | write number: 1 for the first segment that the store ever wrote, then without gaps |
//! | 40 | 8 | sequence number, from the same counter as those of the fillings of memory |
//! | 48 | 8 | flush floor: what has a sequence number up to it is void |
//! | 56 | 8 | watermark: segments with write numbers up to it were durable |
//! | 64 | 8 | Unix time, in seconds, of the instant 0 of expiries |
//! | 72 | 4 | items |
//! | 76 | 4 | tombstones |
//! | 80 | 8 | where the item table begins, in bytes from the segment's start |
//! | 88 | 4 | checksum of the item table |
//! | 92 | 4 | echoes: tombstones of the segment written before, told once more |
//! | 96 | 4 | checksum of the tombstones |
//! | 100 | 4 | checksum of the echoes |
//! | 104 | 8 | newest version of its items; 0 where none has one |
//! | 112 | 8 | newest version that the store has seen: after a restart, what is not there counts as deleted by it |
//! | 120 | 4 | 0 |
//! | 124 | 4 | checksum of bytes 0 to 123 |
//! | 128 | 384 | 0 |
//! | 512 | 128 | all this once more, in another sector: what a segment tells of others must not hang on one bit |

use super::{
    BLOCK_BYTES, ENTRY_BYTES, Reader, TOMBSTONE_BYTES, TOMBSTONE_COPIES, TailChecksums, Writer,
};
use crate::format::DeviceId;

const MAGIC: [u8; 8] = *b"FARCSEG\0";
/// Where its copies begin, in bytes from the segment's start.
const COPIES: [usize; 2] = [0, 512];
/// Size of a header with its copy; the first record follows.
pub(crate) const HEADER_BYTES: usize = COPIES[1] + BLOCK_BYTES;

/// What a segment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub slots: u32,
    pub device_id: DeviceId,
    pub write_number: u64,
    pub sequence: u64,
    pub flush_floor: u64,
    pub watermark: u64,
    pub epoch_unix: i64,
    pub items: u32,
    pub tombstones: u32,
    pub table_offset: u64,
    pub echoes: u32,
    pub tail: TailChecksums,
    pub newest_version: u64,
    pub newest_version_of_store: u64,
}

impl SegmentHeader {
    /// Writes both copies.
    pub fn encode(&self, out: &mut [u8]) {
        out[..HEADER_BYTES].fill(0);
        COPIES
            .iter()
            .for_each(|&at| self.encode_copy(&mut out[at..]));
    }

    fn encode_copy(&self, out: &mut [u8]) {
        let mut writer = Writer::block(out, MAGIC);
        writer.u32(12, self.slots);
        writer.bytes(16, &self.device_id);
        writer.u64(32, self.write_number);
        writer.u64(40, self.sequence);
        writer.u64(48, self.flush_floor);
        writer.u64(56, self.watermark);
        writer.u64(64, self.epoch_unix as u64);
        writer.u32(72, self.items);
        writer.u32(76, self.tombstones);
        writer.u64(80, self.table_offset);
        writer.u32(88, self.tail.table);
        writer.u32(92, self.echoes);
        writer.u32(96, self.tail.tombstones);
        writer.u32(100, self.tail.echoes);
        writer.u64(104, self.newest_version);
        writer.u64(112, self.newest_version_of_store);
        writer.seal();
    }

    /// The first copy that is whole and of this version; none if there is none.
    pub fn decode(bytes: &[u8]) -> Option<SegmentHeader> {
        let copies = COPIES.iter().filter_map(|&at| bytes.get(at..));
        copies.filter_map(Self::decode_copy).next()
    }

    /// Whether both copies are whole.
    pub fn is_whole(bytes: &[u8]) -> bool {
        let copies = COPIES.map(|at| bytes.get(at..).and_then(Self::decode_copy));
        copies[0].is_some() && copies[0] == copies[1]
    }

    fn decode_copy(bytes: &[u8]) -> Option<SegmentHeader> {
        let reader = Reader::block(bytes, MAGIC)?;
        Some(SegmentHeader {
            slots: reader.u32(12),
            device_id: reader.array(16),
            write_number: reader.u64(32),
            sequence: reader.u64(40),
            flush_floor: reader.u64(48),
            watermark: reader.u64(56),
            epoch_unix: reader.u64(64) as i64,
            items: reader.u32(72),
            tombstones: reader.u32(76),
            table_offset: reader.u64(80),
            echoes: reader.u32(92),
            tail: TailChecksums {
                table: reader.u32(88),
                tombstones: reader.u32(96),
                echoes: reader.u32(100),
            },
            newest_version: reader.u64(104),
            newest_version_of_store: reader.u64(112),
        })
    }

    /// Bytes of all that follows the records.
    pub fn tail_bytes(&self) -> usize {
        let tombstones = TOMBSTONE_COPIES * self.tombstones as usize + self.echoes as usize;
        self.items as usize * ENTRY_BYTES + tombstones * TOMBSTONE_BYTES
    }

    /// Bytes of the whole segment.
    pub fn segment_bytes(&self) -> u64 {
        self.table_offset + self.tail_bytes() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: SegmentHeader = SegmentHeader {
        slots: 1,
        device_id: [7; 16],
        write_number: 0x0201,
        sequence: 9,
        flush_floor: 8,
        watermark: 0x0200,
        epoch_unix: -2,
        items: 3,
        tombstones: 2,
        table_offset: 4096,
        echoes: 1,
        tail: TailChecksums {
            table: 0xdead_beef,
            tombstones: 0x0506,
            echoes: 0x0708,
        },
        newest_version: 0x0a09,
        newest_version_of_store: 0x0c0b,
    };

    #[test]
    fn its_bytes_are_these() {
        let mut bytes = [0xff; HEADER_BYTES];
        EXAMPLE.encode(&mut bytes);
        let mut expected = [0u8; 128];
        expected[..7].copy_from_slice(b"FARCSEG");
        expected[8] = 3; // version
        expected[12] = 1; // slots
        expected[16..32].fill(7);
        expected[32..34].copy_from_slice(&[1, 2]); // 0x0201, low byte first
        expected[40] = 9;
        expected[48] = 8;
        expected[57] = 2; // 0x0200
        expected[64] = 0xfe; // -2 in two's complement
        expected[65..72].fill(0xff);
        expected[72] = 3;
        expected[76] = 2;
        expected[81] = 0x10; // 4096 = 0x1000
        expected[88..92].copy_from_slice(&[0xef, 0xbe, 0xad, 0xde]);
        expected[92] = 1; // echoes
        expected[96..98].copy_from_slice(&[6, 5]);
        expected[100..102].copy_from_slice(&[8, 7]);
        expected[104..106].copy_from_slice(&[9, 10]);
        expected[112..114].copy_from_slice(&[11, 12]);
        assert_eq!(bytes[..124], expected[..124]);
        assert_eq!(bytes[..128], bytes[512..640]);
        assert!(bytes[128..512].iter().all(|&byte| byte == 0));
        assert_eq!(SegmentHeader::decode(&bytes), Some(EXAMPLE));
        assert!(SegmentHeader::is_whole(&bytes));
        // Three entries of 24 bytes; two tombstones, twice, and an echo of 16.
        assert_eq!(EXAMPLE.segment_bytes(), 4096 + 72 + 80);
    }

    #[test]
    fn either_copy_suffices_and_no_flipped_bit_goes_unnoticed() {
        let mut bytes = [0; HEADER_BYTES];
        EXAMPLE.encode(&mut bytes);
        for at in COPIES {
            for bit in at * 8..(at + 128) * 8 {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(!SegmentHeader::is_whole(&bytes), "bit {bit}");
                assert_eq!(SegmentHeader::decode_copy(&bytes[at..]), None, "bit {bit}");
                assert_eq!(SegmentHeader::decode(&bytes), Some(EXAMPLE), "bit {bit}");
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
        COPIES.iter().for_each(|&at| bytes[at] ^= 1);
        assert_eq!(SegmentHeader::decode(&bytes), None);
        assert_eq!(SegmentHeader::decode(&bytes[..127]), None);
    }
}
