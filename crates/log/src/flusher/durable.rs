//! When what was written is made durable, and who is told.

use super::Flushed;
use super::gap::Gap;
use super::{Flusher, TICK};
use crate::log::Job;

/// Segments written between two syncs while there is no end of them.
const SEGMENTS_PER_SYNC: u64 = 64;
/// Unsynced segments are at most this part of all slots: what is not durable is neither cleaned nor
/// evicted.
const SYNC_PART: u64 = 16;

impl<O: Flushed> Flusher<O> {
    pub(super) fn sync_if_due(&mut self) {
        let unsynced = self.progress.unsynced();
        if unsynced == 0 {
            return;
        }
        let log = self.log();
        let is_idle = self.is_idle();
        let is_wanted = self.drains_wanted()
            || log.is_sync()
            || log.is_short()
            || log.runs.slots() > 0
            || self.gap.is_some();
        let is_old = self.progress.unsynced_for() >= TICK && is_idle;
        let most = SEGMENTS_PER_SYNC.min(u64::from(log.slots.count()) / SYNC_PART);
        let is_due = (is_idle && is_wanted) || is_old || unsynced >= most;
        if is_due || self.sync_grants_drains() {
            self.sync();
        }
    }

    /// Whether the segment with this write number is durable, and all before it.
    pub(crate) fn is_durable(&self, write_number: u64) -> bool {
        write_number <= self.progress.durable_through()
    }

    /// Whether something that has been written is not durable yet.
    pub(crate) fn is_behind(&self) -> bool {
        self.progress.unsynced() > 0
    }

    /// Makes what has been written durable now.
    pub(crate) fn sync_if_behind(&mut self) {
        if self.is_behind() {
            self.sync();
        }
    }

    fn sync(&mut self) {
        let through = self.progress.written_through();
        for device in 0..self.log().devices.len() {
            let first = self.log().slots.of_device(device).start;
            if !self.log().slots.is_in_service(first) {
                continue;
            }
            if let Err(error) = self.log().devices[device].sync() {
                // What a failed sync leaves behind is unknown.
                self.log().counters.write_errors.add(1);
                self.fail_device(device, &error);
            }
        }
        for (number, job) in self.progress.note_synced(through) {
            self.note_overwritten(&job, number);
        }
        self.advance_durable();
    }

    /// What has been synced is durable, unless it lies behind a gap.
    pub(super) fn advance_durable(&mut self) {
        self.close_gap();
        self.progress
            .advance_durable(self.gap.as_ref().map(Gap::before));
        let log = self.log();
        log.loan.note_durable(self.progress.durable_through());
        log.flusher.tell_progress();
    }

    /// What lay in the slots of a durable segment before is gone for good.
    fn note_overwritten(&mut self, job: &Job, number: u64) {
        if job.is_missing {
            return;
        }
        for slot in job.slot..job.slot + job.run {
            let now = if slot == job.slot { number } else { 0 };
            let before = std::mem::replace(&mut self.physical.of_slot[slot as usize], now);
            if before != 0 {
                self.physical.forget(before);
            }
        }
    }
}
