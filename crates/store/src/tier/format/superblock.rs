//! What a device is, at its beginning.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | magic, `FARCSSD` and 0 |
//! | 8 | 4 | format version |
//! | 12 | 4 | size of a segment |
//! | 16 | 16 | store: the same on all its devices |
//! | 32 | 8 | seed of the index's hash |
//! | 40 | 8 | seed of the fingerprint |
//! | 48 | 8 | generation: how often the store was opened; a device that lags behind missed something |
//! | 56 | 8 | size of the device |
//! | 64 | 8 | flush floor when it was written |
//! | 72 | 8 | watermark when it was written: of the segments with write numbers up to it, all that is missing was told elsewhere |
//! | 80 | 44 | 0 |
//! | 124 | 4 | checksum of bytes 0 to 123 |

use super::{Reader, Writer};

const MAGIC: [u8; 8] = *b"FARCSSD\0";
/// Where its copies begin, in bytes from the device's start.
pub(crate) const SUPERBLOCK_COPIES: [u64; 2] = [0, 4096];

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub segment_bytes: u32,
    pub store_id: [u8; 16],
    pub index_seed: u64,
    pub fingerprint_seed: u64,
    pub generation: u64,
    pub device_bytes: u64,
    pub flush_floor: u64,
    pub watermark: u64,
}

impl Superblock {
    pub fn encode(&self, out: &mut [u8]) {
        let mut writer = Writer::block(out, MAGIC);
        writer.u32(12, self.segment_bytes);
        writer.bytes(16, &self.store_id);
        writer.u64(32, self.index_seed);
        writer.u64(40, self.fingerprint_seed);
        writer.u64(48, self.generation);
        writer.u64(56, self.device_bytes);
        writer.u64(64, self.flush_floor);
        writer.u64(72, self.watermark);
        writer.seal();
    }

    /// None for anything that is not a whole superblock of this version.
    pub fn decode(bytes: &[u8]) -> Option<Superblock> {
        let reader = Reader::block(bytes, MAGIC)?;
        let segment_bytes = reader.u32(12);
        let is_possible = segment_bytes.is_power_of_two() && segment_bytes >= 64 << 10;
        is_possible.then(|| Superblock {
            segment_bytes,
            store_id: reader.array(16),
            index_seed: reader.u64(32),
            fingerprint_seed: reader.u64(40),
            generation: reader.u64(48),
            device_bytes: reader.u64(56),
            flush_floor: reader.u64(64),
            watermark: reader.u64(72),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: Superblock = Superblock {
        segment_bytes: 1 << 20,
        store_id: [0xab; 16],
        index_seed: 1,
        fingerprint_seed: 0x0102,
        generation: 3,
        device_bytes: 1 << 32,
        flush_floor: 5,
        watermark: 0x0304,
    };

    #[test]
    fn its_bytes_are_these() {
        let mut bytes = [0xff; 128];
        EXAMPLE.encode(&mut bytes);
        let mut expected = [0u8; 128];
        expected[..7].copy_from_slice(b"FARCSSD");
        expected[8] = 2; // version
        expected[14] = 0x10; // 1 MiB = 0x100000
        expected[16..32].fill(0xab);
        expected[32] = 1;
        expected[40] = 2; // 0x0102, low byte first
        expected[41] = 1;
        expected[48] = 3;
        expected[60] = 1; // 2^32: byte 4 of 8
        expected[64] = 5;
        expected[72..74].copy_from_slice(&[4, 3]); // 0x0304, low byte first
        assert_eq!(bytes[..124], expected[..124]);
        assert_eq!(Superblock::decode(&bytes), Some(EXAMPLE));
    }

    #[test]
    fn no_flipped_bit_goes_unnoticed() {
        let mut bytes = [0; 128];
        EXAMPLE.encode(&mut bytes);
        for bit in 0..128 * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Superblock::decode(&bytes), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(Superblock::decode(&bytes[..127]), None);
    }
}
