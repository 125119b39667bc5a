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
//! | 48 | 8 | epoch of the members: it rises whenever a device joins or leaves the store |
//! | 56 | 8 | size of the device |
//! | 64 | 8 | flush floor when it was written |
//! | 72 | 8 | watermark when it was written: of the segments with write numbers up to it, all that is missing was told elsewhere |
//! | 80 | 16 | this device |
//! | 96 | 4 | members that follow; 0 on a device that is just joining: none of this counts unless other superblocks name it a member |
//! | 100 | 4 | checksum of the members |
//! | 104 | 20 | 0 |
//! | 124 | 4 | checksum of bytes 0 to 123 |
//! | 128 | 24 each | members: 16 bytes of device, and the epoch at which it left the store, 0 while it belongs to it |
//!
//! What a joining device gets fits a sector, which arrives whole or not at all.

use super::{BLOCK_BYTES, Reader, Writer, block_version};
use crate::device::{DEVICE_MAGIC as MAGIC, DEVICE_MAGIC_PLACES};
use crate::format::{DeviceId, Member, Members};
use farcache_base::crc32c;

/// Size of a copy.
pub(crate) const SUPERBLOCK_BYTES: usize = 4096;
/// Where its copies begin, in bytes from the device's start.
pub(crate) const SUPERBLOCK_COPIES: [u64; 2] = DEVICE_MAGIC_PLACES;

const _: () = assert!(SUPERBLOCK_COPIES[1] == SUPERBLOCK_BYTES as u64);

const MEMBER_BYTES: usize = 24;
/// Members for which there is room.
pub(crate) const MEMBERS_MAX: usize = (SUPERBLOCK_BYTES - BLOCK_BYTES) / MEMBER_BYTES;

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub segment_bytes: u32,
    pub store_id: [u8; 16],
    pub index_seed: u64,
    pub fingerprint_seed: u64,
    pub epoch: u64,
    pub device_bytes: u64,
    pub flush_floor: u64,
    pub watermark: u64,
    pub device_id: DeviceId,
    pub members: Members,
}

impl Superblock {
    /// Writes a copy.
    ///
    /// # Panics
    /// With more than [`MEMBERS_MAX`] members.
    pub fn encode(&self, out: &mut [u8]) {
        let (block, table) = out[..SUPERBLOCK_BYTES].split_at_mut(BLOCK_BYTES);
        table.fill(0);
        let (places, _) = table.as_chunks_mut::<MEMBER_BYTES>();
        let members = self.members.all();
        assert!(members.len() <= MEMBERS_MAX);
        for (place, member) in places.iter_mut().zip(members) {
            place[..16].copy_from_slice(&member.device_id);
            place[16..].copy_from_slice(&member.left.to_le_bytes());
        }
        let mut writer = Writer::block(block, MAGIC);
        writer.u32(12, self.segment_bytes);
        writer.bytes(16, &self.store_id);
        writer.u64(32, self.index_seed);
        writer.u64(40, self.fingerprint_seed);
        writer.u64(48, self.epoch);
        writer.u64(56, self.device_bytes);
        writer.u64(64, self.flush_floor);
        writer.u64(72, self.watermark);
        writer.bytes(80, &self.device_id);
        writer.u32(96, members.len() as u32);
        writer.u32(100, crc32c::crc32c(&table[..members.len() * MEMBER_BYTES]));
        writer.seal();
    }

    /// None for anything that is not a whole superblock of this version.
    pub fn decode(bytes: &[u8]) -> Option<Superblock> {
        let reader = Reader::block(bytes, MAGIC)?;
        let segment_bytes = reader.u32(12);
        let is_possible = segment_bytes.is_power_of_two() && segment_bytes >= 64 << 10;
        let members = reader.u32(96) as usize;
        if !is_possible || members > MEMBERS_MAX {
            return None;
        }
        let table = bytes.get(BLOCK_BYTES..BLOCK_BYTES + members * MEMBER_BYTES)?;
        if reader.u32(100) != crc32c::crc32c(table) {
            return None;
        }
        let (members, _) = table.as_chunks::<MEMBER_BYTES>();
        let members = members.iter().map(|member| Reader(member));
        Some(Superblock {
            segment_bytes,
            store_id: reader.array(16),
            index_seed: reader.u64(32),
            fingerprint_seed: reader.u64(40),
            epoch: reader.u64(48),
            device_bytes: reader.u64(56),
            flush_floor: reader.u64(64),
            watermark: reader.u64(72),
            device_id: reader.array(80),
            members: Members::from_iter(members.map(|member| Member {
                device_id: member.array(0),
                left: member.u64(16),
            })),
        })
    }

    /// The format version of what is meant as a superblock, whole or not.
    pub fn version_of(bytes: &[u8]) -> Option<u32> {
        block_version(bytes, MAGIC)
    }

    /// Whether the device holds nothing yet: it belongs to the store only if others say so.
    pub fn is_joining(&self) -> bool {
        self.members.all().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Superblock {
        let member = |device_id, left| Member { device_id, left };
        Superblock {
            segment_bytes: 1 << 20,
            store_id: [0xab; 16],
            index_seed: 1,
            fingerprint_seed: 0x0102,
            epoch: 3,
            device_bytes: 1 << 32,
            flush_floor: 5,
            watermark: 0x0304,
            device_id: [0xcd; 16],
            members: Members::from_iter([member([0xcd; 16], 0), member([0xef; 16], 2)]),
        }
    }

    #[test]
    fn its_bytes_are_these() {
        let mut bytes = [0xff; SUPERBLOCK_BYTES];
        example().encode(&mut bytes);
        let mut expected = [0u8; SUPERBLOCK_BYTES];
        expected[..7].copy_from_slice(b"FARCSSD");
        expected[8] = 3; // version
        expected[14] = 0x10; // 1 MiB = 0x100000
        expected[16..32].fill(0xab);
        expected[32] = 1;
        expected[40] = 2; // 0x0102, low byte first
        expected[41] = 1;
        expected[48] = 3;
        expected[60] = 1; // 2^32: byte 4 of 8
        expected[64] = 5;
        expected[72..74].copy_from_slice(&[4, 3]); // 0x0304, low byte first
        expected[80..96].fill(0xcd);
        expected[96] = 2; // members
        expected[128..144].fill(0xcd); // the first, which has not left
        expected[152..168].fill(0xef); // 128 + 24
        expected[168] = 2; // left at epoch 2
        assert_eq!(bytes[..100], expected[..100]);
        assert_eq!(bytes[104..124], expected[104..124]);
        assert_eq!(bytes[128..], expected[128..]);
        assert_eq!(Superblock::decode(&bytes), Some(example()));
        assert_eq!(Superblock::version_of(&bytes), Some(3));
    }

    #[test]
    fn what_a_joining_device_gets_fits_a_sector() {
        let joining = Superblock {
            members: Members::default(),
            ..example()
        };
        let mut bytes = [0xff; SUPERBLOCK_BYTES];
        joining.encode(&mut bytes);
        assert!(bytes[BLOCK_BYTES..].iter().all(|&byte| byte == 0));
        let decoded = Superblock::decode(&bytes).expect("whole");
        assert!(decoded.is_joining() && !example().is_joining());
        assert_eq!(decoded, joining);
    }

    #[test]
    fn no_flipped_bit_goes_unnoticed() {
        let mut bytes = [0; SUPERBLOCK_BYTES];
        example().encode(&mut bytes);
        for bit in 0..(BLOCK_BYTES + 2 * MEMBER_BYTES) * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Superblock::decode(&bytes), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(Superblock::decode(&bytes[..127]), None);
    }
}
