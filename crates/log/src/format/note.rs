//! What a store keeps on its devices for its owner, with its fences.
//!
//! Two places behind the superblocks, in the first slot, written in turn. The one with the higher
//! count, on any device of the store, is the one that counts.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | magic, `FARCNOT` and 0 |
//! | 8 | 4 | format version |
//! | 12 | 4 | bytes that follow the block |
//! | 16 | 16 | store |
//! | 32 | 8 | count: how often the note has been written |
//! | 40 | 8 | flush floor when it was written |
//! | 48 | 4 | checksum of the bytes that follow |
//! | 52 | 4 | bytes of the tenure |
//! | 56 | 4 | fences |
//! | 60 | 64 | 0 |
//! | 124 | 4 | checksum of bytes 0 to 123 |
//! | 128 | | the tenure: what the owner noted |
//! | | 16 each, and 8 for each arc | fences: floor (8), arcs (4), hash (1), 0 (3), then first and last hash of each arc |

use super::{BLOCK_BYTES, Reader, Writer};
use crate::fence::{Fence, KeyArcs, join_oldest};
use farcache_base::crc32c;
use std::sync::Arc;

/// Size of a copy.
pub(crate) const NOTE_BYTES: usize = 24 << 10;
/// Where its copies begin, in bytes from the device's start.
pub(crate) const NOTE_COPIES: [u64; 2] = [16 << 10, 40 << 10];

const _: () = assert!(
    NOTE_COPIES[1] + NOTE_BYTES as u64 <= 64 << 10,
    "the smallest slot"
);
const _: () = assert!(NOTE_COPIES[0] + NOTE_BYTES as u64 == NOTE_COPIES[1]);

const MAGIC: [u8; 8] = *b"FARCNOT\0";
const ROOM: usize = NOTE_BYTES - BLOCK_BYTES;
const FENCE_BYTES: usize = 16;
const ARC_BYTES: usize = 8;

/// Longest tenure, in bytes.
pub const TENURE_BYTES_MAX: usize = ROOM / 2;

/// What a store keeps for its owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    pub store_id: [u8; 16],
    pub count: u64,
    pub flush_floor: u64,
    /// What the owner noted.
    pub tenure: Vec<u8>,
    pub fences: Vec<Fence>,
}

impl Note {
    /// Makes the fences few and short enough to be written: they shut out more then, never less.
    pub fn fit(&mut self) {
        let room = ROOM - self.tenure.len();
        while fences_bytes(&self.fences) > room && self.fences.len() > 1 {
            join_oldest(&mut self.fences);
        }
        if fences_bytes(&self.fences) > room {
            for fence in &mut self.fences {
                fence.keys = Arc::new(KeyArcs::all());
            }
        }
    }

    /// Writes a copy.
    ///
    /// # Panics
    /// With a tenure above [`TENURE_BYTES_MAX`], or fences that do not [fit](Self::fit).
    pub fn encode(&self, out: &mut [u8]) {
        assert!(self.tenure.len() <= TENURE_BYTES_MAX);
        let mut payload = self.tenure.clone();
        for fence in &self.fences {
            payload.extend(fence.floor.to_le_bytes());
            payload.extend((fence.keys.arcs.len() as u32).to_le_bytes());
            payload.extend([fence.keys.hash, 0, 0, 0]);
            for (first, last) in &fence.keys.arcs {
                payload.extend(first.to_le_bytes());
                payload.extend(last.to_le_bytes());
            }
        }
        let (block, rest) = out[..NOTE_BYTES].split_at_mut(BLOCK_BYTES);
        rest.fill(0);
        rest[..payload.len()].copy_from_slice(&payload);
        let mut writer = Writer::block(block, MAGIC);
        writer.u32(12, payload.len() as u32);
        writer.bytes(16, &self.store_id);
        writer.u64(32, self.count);
        writer.u64(40, self.flush_floor);
        writer.u32(48, crc32c::crc32c(&payload));
        writer.u32(52, self.tenure.len() as u32);
        writer.u32(56, self.fences.len() as u32);
        writer.seal();
    }

    /// None for anything that is not a whole note of this version.
    pub fn decode(bytes: &[u8]) -> Option<Note> {
        let reader = Reader::block(bytes, MAGIC)?;
        let length = reader.u32(12) as usize;
        let payload = bytes.get(BLOCK_BYTES..)?.get(..length)?;
        if reader.u32(48) != crc32c::crc32c(payload) {
            return None;
        }
        let (tenure, mut rest) = payload.split_at_checked(reader.u32(52) as usize)?;
        let fences = (0..reader.u32(56)).map(|_| take_fence(&mut rest));
        let fences = fences.collect::<Option<Vec<Fence>>>()?;
        rest.is_empty().then(|| Note {
            store_id: reader.array(16),
            count: reader.u64(32),
            flush_floor: reader.u64(40),
            tenure: tenure.to_vec(),
            fences,
        })
    }
}

fn fences_bytes(fences: &[Fence]) -> usize {
    let bytes = |fence: &Fence| FENCE_BYTES + fence.keys.arcs.len() * ARC_BYTES;
    fences.iter().map(bytes).sum()
}

fn take_fence(rest: &mut &[u8]) -> Option<Fence> {
    let (head, behind) = rest.split_at_checked(FENCE_BYTES)?;
    let head = Reader(head);
    let arcs = (head.u32(8) as usize).checked_mul(ARC_BYTES)?;
    let (arcs, behind) = behind.split_at_checked(arcs)?;
    let (arcs, _) = arcs.as_chunks::<ARC_BYTES>();
    let arcs = arcs.iter().map(|arc| Reader(arc));
    let arcs: Vec<_> = arcs.map(|arc| (arc.u32(0), arc.u32(4))).collect();
    let are_apart = arcs.is_sorted_by(|one, next| one.1 < next.0);
    let are_arcs = arcs.iter().all(|(first, last)| first <= last);
    *rest = behind;
    (are_apart && are_arcs).then(|| Fence {
        floor: head.u64(0),
        keys: Arc::new(KeyArcs {
            hash: head.0[12],
            arcs,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fence(floor: u64, arcs: Vec<(u32, u32)>) -> Fence {
        let keys = Arc::new(KeyArcs { hash: 2, arcs });
        Fence { floor, keys }
    }

    fn example() -> Note {
        Note {
            store_id: [0xab; 16],
            count: 5,
            flush_floor: 0x0102,
            tenure: b"mine".to_vec(),
            fences: vec![
                fence(9, vec![(1, 0x0203), (7000, u32::MAX)]),
                fence(10, vec![]),
            ],
        }
    }

    fn encoded(note: &Note) -> Vec<u8> {
        let mut bytes = vec![0xff; NOTE_BYTES];
        note.encode(&mut bytes);
        bytes
    }

    #[test]
    fn its_bytes_are_these() {
        let bytes = encoded(&example());
        let mut expected = [0u8; 128 + 4 + 16 + 16 + 16];
        expected[..7].copy_from_slice(b"FARCNOT");
        expected[8] = 3; // version
        expected[12] = 4 + 16 + 2 * 8 + 16; // tenure, first fence, its arcs, second fence
        expected[16..32].fill(0xab);
        expected[32] = 5;
        expected[40..42].copy_from_slice(&[2, 1]); // 0x0102, low byte first
        expected[52] = 4; // tenure
        expected[56] = 2; // fences
        expected[128..132].copy_from_slice(b"mine");
        expected[132] = 9;
        expected[140] = 2; // arcs
        expected[144] = 2; // hash
        expected[148] = 1;
        expected[152..154].copy_from_slice(&[3, 2]); // 0x0203
        expected[156..158].copy_from_slice(&[0x58, 0x1b]); // 7000 = 0x1b58
        expected[160..164].fill(0xff);
        expected[164] = 10;
        expected[176] = 2; // hash
        assert_eq!(bytes[..48], expected[..48]);
        assert_eq!(bytes[52..124], expected[52..124]);
        assert_eq!(bytes[128..180], expected[128..]);
        assert!(bytes[180..].iter().all(|byte| *byte == 0));
        assert_eq!(Note::decode(&bytes), Some(example()));
    }

    #[test]
    fn no_flipped_bit_goes_unnoticed() {
        let mut bytes = encoded(&example());
        for bit in 0..180 * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Note::decode(&bytes), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for length in [0, 127, 128, 179] {
            assert_eq!(Note::decode(&bytes[..length]), None);
        }
    }

    #[test]
    fn fences_are_joined_until_they_fit() {
        let many = |from: u32| {
            (0..1000)
                .map(|one| (8 * one + from, 8 * one + from))
                .collect()
        };
        let mut note = Note {
            fences: (0..4u32)
                .map(|one| fence(u64::from(one), many(one * 2)))
                .collect(),
            ..example()
        };
        note.fit();
        assert!(note.fences.len() < 4);
        assert_eq!(note.fences.last().map(|last| last.floor), Some(3));
        assert_eq!(Note::decode(&encoded(&note)), Some(note));
        let long: Vec<_> = (0..5000).map(|one| (3 * one, 3 * one)).collect();
        let mut note = Note {
            fences: vec![fence(1, long)],
            ..example()
        };
        note.fit();
        assert_eq!(*note.fences[0].keys, KeyArcs::all());
    }
}
