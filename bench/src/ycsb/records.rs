//! Keys and records: what is stored, and how a record that was read is judged.

use super::distribution;
use crate::load::values::mix;
use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};

/// Fields of a record. Source: YCSB 0.17, `workloads/workloada`.
const FIELDS: usize = 10;
/// Size of each. Source: the same.
const FIELD_BYTES: usize = 100;
/// Size of a record, whose fields are stored as one value.
pub const RECORD_BYTES: usize = FIELDS * FIELD_BYTES;

/// A record begins with its number and its version, 8, 4 and 4 bytes.
pub const HEAD_BYTES: usize = 16;
/// The rest begins at one of this many places of a pattern.
const PATTERN_STARTS: usize = 4096;

/// Who wrote a record, and which of its writes it was. The records that are there from the
/// beginning are the first write of writer 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// A process, or an earlier turn's.
    pub writer: u32,
    /// Its writes, counted.
    pub write: u32,
}

/// What an answer to a read showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The record, whole, of this version.
    Record(Version),
    /// No record.
    Absent,
    /// Bytes that nobody has stored under this key.
    Wrong,
}

/// Appends the key of a record. Source: YCSB 0.17, `CoreWorkload.buildKeyName`, hashed order.
pub fn push_key(number: u64, key: &mut Vec<u8>) {
    key.extend_from_slice(b"user");
    key.extend_from_slice(distribution::hash(number).to_string().as_bytes());
}

/// Makes records and looks at them.
#[derive(Clone, Debug)]
pub struct Records {
    bytes: usize,
    pattern: Vec<u8>,
}

impl Records {
    /// Records of so many bytes.
    ///
    /// # Panics
    /// If not even the head has room.
    pub fn new(bytes: usize) -> Self {
        assert!(bytes >= HEAD_BYTES, "records of {bytes} bytes");
        let mut pattern = vec![0; PATTERN_STARTS + bytes];
        SmallRng::seed_from_u64(0x0079_6373).fill_bytes(&mut pattern);
        Records { bytes, pattern }
    }

    /// Makes a record in `place`.
    pub fn make(&self, number: u64, version: Version, place: &mut Vec<u8>) {
        place.clear();
        place.extend_from_slice(&number.to_le_bytes());
        place.extend_from_slice(&version.writer.to_le_bytes());
        place.extend_from_slice(&version.write.to_le_bytes());
        place.extend_from_slice(self.tail(number, version));
    }

    /// Looks at every byte of what was stored under a record's key.
    pub fn look(&self, number: u64, value: &[u8]) -> Seen {
        let word = |at: usize| Some(u32::from_le_bytes(value.get(at..at + 4)?.try_into().ok()?));
        let (Some(writer), Some(write)) = (word(8), word(12)) else {
            return Seen::Wrong;
        };
        let version = Version { writer, write };
        let is_whole = value.len() == self.bytes
            && value[..8] == number.to_le_bytes()
            && value[HEAD_BYTES..] == *self.tail(number, version);
        if is_whole {
            Seen::Record(version)
        } else {
            Seen::Wrong
        }
    }

    /// What stands behind the head.
    fn tail(&self, number: u64, version: Version) -> &[u8] {
        let seed = mix(number as u32) ^ mix(version.writer).rotate_left(21) ^ mix(version.write);
        let start = seed as usize % PATTERN_STARTS;
        &self.pattern[start..start + self.bytes - HEAD_BYTES]
    }
}

/// What one process knows of the records that it has written, so that it notices an older one.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    writer: u32,
    /// Writers below it have ended before this one began.
    writers_now: u32,
    records: Vec<Known>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// A read that begins now shows no write of this process older than this one.
    floor: u32,
    /// Writes that have not ended, or of which it is not known whether they took effect.
    under_way: u16,
}

/// A write that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its version.
    pub version: Version,
    /// Whether all other writes of the record had ended.
    is_alone: bool,
}

impl Ledger {
    /// For a process with this writer's number, beside others from `writers_now` on.
    pub fn new(writer: u32, writers_now: u32) -> Self {
        Ledger {
            writer,
            writers_now,
            records: Vec::new(),
        }
    }

    fn known(&mut self, index: u64) -> &mut Known {
        let index = index as usize;
        if index >= self.records.len() {
            self.records.resize(index + 1, Known::default());
        }
        &mut self.records[index]
    }

    /// A write of a record begins, with a number that rises.
    pub fn begin(&mut self, index: u64, write: u32) -> Begun {
        let writer = self.writer;
        let known = self.known(index);
        let is_alone = known.under_way == 0;
        known.under_way = known.under_way.saturating_add(1);
        let version = Version { writer, write };
        Begun { version, is_alone }
    }

    /// It has been carried out. One that failed never ends: it may take effect at any time.
    pub fn end(&mut self, index: u64, begun: Begun) {
        let known = self.known(index);
        known.under_way = known.under_way.saturating_sub(1);
        if begun.is_alone {
            // What others wrote meanwhile is newer.
            known.floor = known.floor.max(begun.version.write);
        }
    }

    /// What a read that begins now must not fall below.
    pub fn floor(&self, index: u64) -> u32 {
        let known = self.records.get(index as usize);
        known.map_or(0, |known| known.floor)
    }

    /// Whether a record that was read is older than a write that had ended when the read began.
    /// Records of other processes cannot be judged.
    pub fn is_stale(&self, version: Version, floor: u32) -> bool {
        let is_older = version.writer < self.writers_now;
        floor > 0 && (is_older || version.writer == self.writer && version.write < floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: u32 = 7;

    fn ledger() -> Ledger {
        Ledger::new(OURS, 5)
    }

    fn version(writer: u32, write: u32) -> Version {
        Version { writer, write }
    }

    #[test]
    fn a_record_is_known_by_every_byte() {
        let records = Records::new(RECORD_BYTES);
        let mut value = Vec::new();
        records.make(3, version(1, 2), &mut value);
        assert_eq!(value.len(), 1000);
        assert_eq!(records.look(3, &value), Seen::Record(version(1, 2)));
        assert_eq!(records.look(4, &value), Seen::Wrong);
        assert_eq!(records.look(3, &value[..999]), Seen::Wrong);
        assert_eq!(records.look(3, b""), Seen::Wrong);
        for at in [0, 9, 13, 16, 500, 999] {
            value[at] ^= 1;
            assert_eq!(records.look(3, &value), Seen::Wrong, "byte {at}");
            value[at] ^= 1;
        }
    }

    #[test]
    fn a_record_older_than_an_ended_write_is_stale() {
        let mut ledger = ledger();
        let before = ledger.floor(4);
        let begun = ledger.begin(4, 1);
        assert_eq!(begun.version, version(OURS, 1));
        assert!(
            !ledger.is_stale(version(0, 0), ledger.floor(4)),
            "it has not ended"
        );
        ledger.end(4, begun);
        let floor = ledger.floor(4);
        assert!(ledger.is_stale(version(0, 0), floor), "it was there before");
        assert!(ledger.is_stale(version(4, 9), floor), "of an earlier turn");
        assert!(!ledger.is_stale(version(6, 0), floor), "another process's");
        assert!(!ledger.is_stale(version(OURS, 1), floor));
        assert!(
            !ledger.is_stale(version(0, 0), before),
            "the read began first"
        );
        let begun = ledger.begin(4, 2);
        ledger.end(4, begun);
        assert!(ledger.is_stale(version(OURS, 1), ledger.floor(4)));
    }

    #[test]
    fn of_two_writes_at_a_time_either_may_be_the_last() {
        let mut ledger = ledger();
        let (one, two) = (ledger.begin(4, 1), ledger.begin(4, 2));
        ledger.end(4, two);
        ledger.end(4, one);
        assert!(!ledger.is_stale(version(OURS, 1), ledger.floor(4)));
        assert!(ledger.is_stale(version(0, 0), ledger.floor(4)));
    }

    #[test]
    fn a_write_that_failed_may_take_effect_later() {
        let mut ledger = ledger();
        ledger.begin(4, 1);
        let begun = ledger.begin(4, 2);
        ledger.end(4, begun);
        assert!(!ledger.is_stale(version(OURS, 1), ledger.floor(4)));
    }
}
