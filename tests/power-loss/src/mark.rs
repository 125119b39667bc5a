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
/// "FCPWMRK2".
const MAGIC: [u8; 8] = *b"FCPWMRK2";

const CHECKSUM_AT: usize = 8;
const NOW_AT: usize = 12;
const BEFORE_AT: usize = NOW_AT + PROGRESS_BYTES;

// Within a life's progress.
const SEED_AT: usize = 0;
const LIFE_AT: usize = 8;
const COUNTS_AT: usize = 12;
const PROGRESS_BYTES: usize = COUNTS_AT + CLIENTS * 4;

const _: () = assert!(BEFORE_AT + PROGRESS_BYTES <= SECTOR_BYTES);

/// Direct I/O wants buffers that begin at a multiple of the sector.
#[repr(align(4096))]
struct Sector([u8; SECTOR_BYTES]);

/// How many of each client's operations have been acknowledged in one life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which operations they are.
    pub history: History,
    /// Acknowledged operations by client.
    pub counts: [u32; CLIENTS],
}

/// What is known of all items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The life that goes on.
    pub now: Progress,
    /// The one before it, which tells of keys that have not been stored again yet.
    pub before: Option<Progress>,
}

impl Progress {
    /// Nothing has been acknowledged.
    pub fn of_start(history: History) -> Progress {
        let counts = [0; CLIENTS];
        Progress { history, counts }
    }

    fn encode(&self, place: &mut [u8]) {
        place[SEED_AT..LIFE_AT].copy_from_slice(&self.history.seed.to_le_bytes());
        place[LIFE_AT..COUNTS_AT].copy_from_slice(&self.history.life.to_le_bytes());
        for (count, place) in self.counts.iter().zip(place[COUNTS_AT..].chunks_mut(4)) {
            place.copy_from_slice(&count.to_le_bytes());
        }
    }

    /// None where no life has been encoded: they are numbered from 1.
    fn decode(place: &[u8]) -> Option<Progress> {
        let small = |place: &[u8]| u32::from_le_bytes(place.try_into().expect("four bytes"));
        let life = small(&place[LIFE_AT..COUNTS_AT]);
        let seed = u64::from_le_bytes(place[SEED_AT..LIFE_AT].try_into().expect("eight bytes"));
        let mut progress = Progress::of_start(History { life, seed });
        for (count, place) in progress.counts.iter_mut().zip(place[COUNTS_AT..].chunks(4)) {
            *count = small(place);
        }
        (life != 0).then_some(progress)
    }
}

impl Mark {
    /// The mark that begins a life.
    pub fn of_start(history: History, last: Option<Mark>) -> Mark {
        Mark {
            now: Progress::of_start(history),
            before: last.map(|mark| mark.now),
        }
    }

    fn encode(&self) -> Sector {
        let mut sector = Sector([0; SECTOR_BYTES]);
        let bytes = &mut sector.0;
        bytes[..CHECKSUM_AT].copy_from_slice(&MAGIC);
        self.now.encode(&mut bytes[NOW_AT..BEFORE_AT]);
        if let Some(before) = &self.before {
            before.encode(&mut bytes[BEFORE_AT..BEFORE_AT + PROGRESS_BYTES]);
        }
        let checksum = crc32fast::hash(bytes);
        bytes[CHECKSUM_AT..NOW_AT].copy_from_slice(&checksum.to_le_bytes());
        sector
    }

    fn decode(bytes: &[u8; SECTOR_BYTES]) -> Option<Mark> {
        let mut plain = *bytes;
        plain[CHECKSUM_AT..NOW_AT].fill(0);
        let checksum = u32::from_le_bytes(bytes[CHECKSUM_AT..NOW_AT].try_into().ok()?);
        if bytes[..CHECKSUM_AT] != MAGIC || checksum != crc32fast::hash(&plain) {
            return None;
        }
        Some(Mark {
            now: Progress::decode(&bytes[NOW_AT..BEFORE_AT])?,
            before: Progress::decode(&bytes[BEFORE_AT..BEFORE_AT + PROGRESS_BYTES]),
        })
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

    fn progress(life: u32, seed: u64) -> Progress {
        Progress::of_start(History { life, seed })
    }

    #[test]
    fn a_mark_is_read_as_it_was_written_and_damage_is_noticed() {
        let mut mark = Mark {
            now: progress(7, 99),
            before: Some(progress(6, 98)),
        };
        mark.now.counts[31] = 12_345;
        let mut bytes = mark.encode().0;
        assert_eq!(Mark::decode(&bytes), Some(mark.clone()));
        bytes[200] ^= 1;
        assert_eq!(Mark::decode(&bytes), None);
        assert_eq!(Mark::decode(&[0; SECTOR_BYTES]), None);
        mark.before = None;
        assert_eq!(Mark::decode(&mark.encode().0), Some(mark));
    }

    #[test]
    fn a_life_begins_with_what_is_known_of_the_one_before() {
        let mut last = Mark::of_start(History { life: 1, seed: 5 }, None);
        last.now.counts[3] = 77;
        let mark = Mark::of_start(History { life: 2, seed: 6 }, Some(last.clone()));
        assert_eq!(mark.before, Some(last.now));
        assert_eq!(mark.now, progress(2, 6));
    }
}
