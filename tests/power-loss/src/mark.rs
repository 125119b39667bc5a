//! How much has been acknowledged, in one sector of the disk.
//!
//! A mark is written with direct I/O and without a flush. The host sees each write to the disk in
//! its order, so it knows which mark was the last before a cut, and keeps it whatever else is lost.

use crate::history::{CLIENTS, History};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

const SECTOR_BYTES: usize = 512;
/// "FCPWMARK".
const MAGIC: [u8; 8] = *b"FCPWMARK";

const SEED_AT: usize = 8;
const LIFE_AT: usize = 16;
const CHECKSUM_AT: usize = 20;
const COUNTS_AT: usize = 24;

const _: () = assert!(COUNTS_AT + CLIENTS * 8 <= SECTOR_BYTES);

/// Direct I/O wants buffers that begin at a multiple of the sector.
#[repr(align(4096))]
struct Sector([u8; SECTOR_BYTES]);

/// How many of each client's operations have been acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Number of the life.
    pub life: u32,
    /// Seed of the operations.
    pub seed: u64,
    /// Acknowledged operations by client.
    pub counts: [u64; CLIENTS],
}

impl Mark {
    /// Nothing has been acknowledged.
    pub fn of_start(life: u32, seed: u64) -> Mark {
        let counts = [0; CLIENTS];
        Mark { life, seed, counts }
    }

    /// The operations that it counts.
    pub fn history(&self) -> History {
        History {
            life: self.life,
            seed: self.seed,
        }
    }

    fn encode(&self) -> Sector {
        let mut sector = Sector([0; SECTOR_BYTES]);
        let bytes = &mut sector.0;
        bytes[..SEED_AT].copy_from_slice(&MAGIC);
        bytes[SEED_AT..LIFE_AT].copy_from_slice(&self.seed.to_le_bytes());
        bytes[LIFE_AT..CHECKSUM_AT].copy_from_slice(&self.life.to_le_bytes());
        for (count, place) in self.counts.iter().zip(bytes[COUNTS_AT..].chunks_mut(8)) {
            place.copy_from_slice(&count.to_le_bytes());
        }
        let checksum = crc32fast::hash(bytes);
        bytes[CHECKSUM_AT..COUNTS_AT].copy_from_slice(&checksum.to_le_bytes());
        sector
    }

    fn decode(bytes: &[u8; SECTOR_BYTES]) -> Option<Mark> {
        let mut plain = *bytes;
        plain[CHECKSUM_AT..COUNTS_AT].fill(0);
        let checksum = u32::from_le_bytes(bytes[CHECKSUM_AT..COUNTS_AT].try_into().ok()?);
        if bytes[..SEED_AT] != MAGIC || checksum != crc32fast::hash(&plain) {
            return None;
        }
        let number = |place: &[u8]| u64::from_le_bytes(place.try_into().expect("eight bytes"));
        let mut counts = [0; CLIENTS];
        for (count, place) in counts.iter_mut().zip(bytes[COUNTS_AT..].chunks(8)) {
            *count = number(place);
        }
        let life = u32::from_le_bytes(bytes[LIFE_AT..CHECKSUM_AT].try_into().ok()?);
        let seed = number(&bytes[SEED_AT..LIFE_AT]);
        Some(Mark { life, seed, counts })
    }
}

/// Where marks are written.
pub struct Marks(File);

impl Marks {
    /// Opens the device or file for direct I/O.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &Path) -> io::Result<Marks> {
        let flags = rustix::fs::OFlags::DIRECT.bits() as i32;
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(flags);
        options.open(path).map(Marks)
    }

    /// Writes one. When this returns the disk has it in its cache.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, mark: &Mark) -> io::Result<()> {
        self.0.write_all_at(&mark.encode().0, 0)
    }

    /// Takes back what was written.
    ///
    /// # Errors
    /// The system's.
    pub fn clear(&self) -> io::Result<()> {
        self.0.write_all_at(&Sector([0; SECTOR_BYTES]).0, 0)
    }

    /// The last one; none where none has been written.
    ///
    /// # Errors
    /// The system's.
    pub fn read(&self) -> io::Result<Option<Mark>> {
        let mut sector = Sector([0; SECTOR_BYTES]);
        self.0.read_exact_at(&mut sector.0, 0)?;
        Ok(Mark::decode(&sector.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written_and_damage_is_noticed() {
        let mut mark = Mark::of_start(7, 99);
        mark.counts[31] = 12_345;
        let mut bytes = mark.encode().0;
        assert_eq!(Mark::decode(&bytes), Some(mark));
        bytes[200] ^= 1;
        assert_eq!(Mark::decode(&bytes), None);
        assert_eq!(Mark::decode(&[0; SECTOR_BYTES]), None);
    }
}
