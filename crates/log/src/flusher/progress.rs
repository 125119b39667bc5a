//! How far the log has come on the devices: written, synced, durable.

use crate::log::Job;
use crate::schedule::Instant;
use crate::tombstones::TombstoneCounts;
use std::collections::BTreeMap;
use std::time::Duration;

/// How far one of the steps has come.
#[derive(Clone, Copy)]
struct Reached {
    /// All segments up to this write number.
    through: u64,
    /// So many tombstones.
    tombstones: TombstoneCounts,
}

/// How far the log has come, in three steps of which none is ahead of the one before.
pub(super) struct Progress {
    /// Past their write and not yet synced, by write number.
    unsynced: BTreeMap<u64, Job>,
    /// When the first of them came.
    unsynced_since: Instant,
    /// All segments up to this write number are on the device, and durable after the next sync.
    written_through: u64,
    /// What was on the device when it was last synced.
    synced: Reached,
    /// As `synced`, but not beyond a gap.
    durable: Reached,
    /// The watermark in the superblocks is at least this.
    vouched_through: u64,
}

impl Progress {
    /// What was found when the log was opened is durable, up to this write number.
    pub fn new(last: u64) -> Progress {
        let reached = Reached {
            through: last,
            tombstones: TombstoneCounts::default(),
        };
        Progress {
            unsynced: BTreeMap::new(),
            unsynced_since: Instant::now(),
            written_through: last,
            synced: reached,
            durable: reached,
            vouched_through: 0,
        }
    }

    /// A segment needs no further write.
    pub fn note_written(&mut self, job: Job) {
        if self.unsynced.is_empty() {
            self.unsynced_since = Instant::now();
        }
        self.unsynced.insert(job.header.write_number, job);
        while self.unsynced.contains_key(&(self.written_through + 1)) {
            self.written_through += 1;
        }
    }

    /// All segments up to this write number are on the device.
    pub fn written_through(&self) -> u64 {
        self.written_through
    }

    /// The last segment that is past its write and was not durable, whatever misses before it.
    pub fn last_written(&self) -> u64 {
        let last = self.unsynced.last_key_value();
        last.map_or(self.durable.through, |(number, _)| *number)
    }

    /// Segments that the next sync makes durable.
    pub fn unsynced(&self) -> u64 {
        self.written_through - self.synced.through
    }

    /// For how long something has waited for a sync.
    pub fn unsynced_for(&self) -> Duration {
        self.unsynced_since.elapsed()
    }

    /// Devices were synced when all up to this write number was on them: the segments that this has
    /// reached now.
    pub fn note_synced(&mut self, through: u64) -> BTreeMap<u64, Job> {
        let later = self.unsynced.split_off(&(through + 1));
        let reached = std::mem::replace(&mut self.unsynced, later);
        self.synced.through = through;
        for job in reached.values() {
            self.synced.tombstones = self.synced.tombstones.or(&job.tombstones_told);
        }
        reached
    }

    /// Whether the last sync has reached this write number, and so many tombstones.
    pub fn has_synced(&self, write_number: u64, tombstones: &TombstoneCounts) -> bool {
        write_number <= self.synced.through && self.synced.tombstones.cover(tombstones)
    }

    /// What has been synced is durable; where there is a gap, the segments before it are.
    pub fn advance_durable(&mut self, before_gap: Option<u64>) {
        match before_gap {
            Some(before) => {
                let before = before.min(self.synced.through);
                self.durable.through = self.durable.through.max(before);
            }
            None => self.durable = self.synced,
        }
    }

    /// All segments up to this write number are durable.
    pub fn durable_through(&self) -> u64 {
        self.durable.through
    }

    /// So many tombstones are durable.
    pub fn durable_tombstones(&self) -> &TombstoneCounts {
        &self.durable.tombstones
    }

    /// What a watermark may be.
    pub fn synced_through(&self) -> u64 {
        self.synced.through
    }

    /// Whether the superblocks' watermark tells of all that has been synced.
    pub fn is_vouched_for(&self) -> bool {
        self.vouched_through >= self.synced.through
    }

    /// It does now.
    pub fn note_vouched(&mut self) {
        self.vouched_through = self.synced.through;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Buffer;
    use crate::format::SegmentHeader;
    use std::sync::Arc;

    const OPENED_AT: u64 = 7;

    fn single(single: u64) -> TombstoneCounts {
        TombstoneCounts {
            single,
            ..TombstoneCounts::default()
        }
    }

    /// The segment with this number, up to which as many tombstones are told.
    fn segment(write_number: u64) -> Job {
        Job {
            slot: 0,
            run: 1,
            header: SegmentHeader {
                write_number,
                ..SegmentHeader::default()
            },
            tombstones: Box::default(),
            tombstones_told: single(write_number),
            bytes: 0,
            buffer: Arc::new(Buffer::new(1)),
            failures: 0,
            is_partial: false,
            is_missing: false,
        }
    }

    fn written(numbers: impl IntoIterator<Item = u64>) -> Progress {
        let mut progress = Progress::new(OPENED_AT);
        for number in numbers {
            progress.note_written(segment(number));
        }
        progress
    }

    #[test]
    fn what_is_written_out_of_order_counts_once_all_before_it_is() {
        let mut progress = written([10, 9]);
        assert_eq!((progress.written_through(), progress.unsynced()), (7, 0));
        assert_eq!(progress.last_written(), 10);
        progress.note_written(segment(8));
        assert_eq!((progress.written_through(), progress.unsynced()), (10, 3));
    }

    #[test]
    fn a_sync_reaches_what_was_written_when_it_began() {
        let mut progress = written([8, 9, 10]);
        let reached = progress.note_synced(9);
        assert_eq!(reached.into_keys().collect::<Vec<_>>(), [8, 9]);
        assert!(progress.has_synced(9, &single(9)));
        assert!(!progress.has_synced(10, &single(9)) && !progress.has_synced(9, &single(10)));
        assert_eq!((progress.unsynced(), progress.durable_through()), (1, 7));
        progress.advance_durable(None);
        assert_eq!(progress.durable_through(), 9);
        assert_eq!(*progress.durable_tombstones(), single(9));
    }

    /// Neither segments behind it nor any tombstones become durable, and nothing comes undone.
    #[test]
    fn nothing_is_durable_behind_a_gap() {
        let mut progress = written([8, 9, 10]);
        progress.note_synced(8);
        progress.advance_durable(None);
        progress.note_synced(10);
        progress.advance_durable(Some(9));
        assert_eq!(progress.durable_through(), 9);
        assert_eq!(*progress.durable_tombstones(), single(8));
        progress.advance_durable(Some(7));
        assert_eq!(progress.durable_through(), 9);
        progress.advance_durable(None);
        assert_eq!(progress.durable_through(), 10);
        assert_eq!(*progress.durable_tombstones(), single(10));
    }

    #[test]
    fn what_is_synced_later_is_not_vouched_for() {
        let mut progress = written([8]);
        progress.note_vouched();
        assert!(progress.is_vouched_for());
        progress.note_synced(8);
        assert!(!progress.is_vouched_for());
    }
}
