//! When what was written is made durable, and who is told.

use super::Flushed;
use super::{Flusher, TICK};
use crate::log::Job;
use crate::tombstones::TombstoneCounts;

/// Segments written between two syncs while there is no end of them.
const SEGMENTS_PER_SYNC: u64 = 64;
/// Unsynced segments are at most this part of all slots: what is not durable is neither cleaned nor
/// evicted.
const SYNC_PART: u64 = 16;

impl<O: Flushed> Flusher<O> {
    pub(super) fn sync_if_due(&mut self) {
        let unsynced = self.written_through - self.synced_through;
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
        let is_old = self.unsynced_since.elapsed() >= TICK && is_idle;
        let grants_drains = self.drain_through.is_some_and(|through| {
            self.durable_through < through && self.written_through >= through
        });
        let most = SEGMENTS_PER_SYNC.min(u64::from(log.slots.count()) / SYNC_PART);
        if (is_idle && is_wanted) || is_old || grants_drains || unsynced >= most {
            self.sync();
        }
    }

    /// Whether the segment with this write number is durable, and all before it.
    pub(crate) fn is_durable(&self, write_number: u64) -> bool {
        write_number <= self.durable_through
    }

    pub(super) fn drains_wanted(&self) -> bool {
        let queue = self.log().flusher.queue();
        queue.drains_wanted > queue.drains_done
    }

    /// Whether something that has been written is not durable yet.
    pub(crate) fn is_behind(&self) -> bool {
        self.written_through > self.synced_through
    }

    /// Makes what has been written durable now.
    pub(crate) fn sync_if_behind(&mut self) {
        if self.is_behind() {
            self.sync();
        }
    }

    fn sync(&mut self) {
        let through = self.written_through;
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
        self.synced_through = through;
        let later = self.written.split_off(&(through + 1));
        for (number, job) in std::mem::replace(&mut self.written, later) {
            self.tombstones_synced = self.tombstones_synced.or(&job.tombstones_told);
            self.note_overwritten(&job, number);
        }
        self.advance_durable();
    }

    /// What has been synced is durable, unless it lies behind a gap.
    pub(super) fn advance_durable(&mut self) {
        self.close_gap();
        match &self.gap {
            Some(gap) => {
                let before = gap.before().min(self.synced_through);
                self.durable_through = self.durable_through.max(before);
            }
            None => {
                self.durable_through = self.synced_through;
                self.tombstones_durable = self.tombstones_synced;
            }
        }
        let log = self.log();
        log.loan.note_durable(self.durable_through);
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

    /// Whether the flush floor, so many tombstones and this version are written down, or there is
    /// nothing left to write them to.
    pub(crate) fn has_told(&self, tombstones: &TombstoneCounts, version: u64) -> bool {
        let is_told = self.log().tombstones.told().cover(tombstones)
            && self.owner.flush_floor() <= self.floor_told
            && version <= self.version_told;
        is_told || !self.log().is_in_service()
    }

    /// Everything handed over before is durable: those who wait for it may go on.
    pub(super) fn grant_drains(&mut self) {
        let wanted = self.log().flusher.queue().drains_wanted;
        if wanted == self.log().flusher.queue().drains_done {
            return;
        }
        let is_new = self.drains_seen < wanted;
        if is_new {
            self.drains_seen = wanted;
            self.drain_tombstones = self.log().tombstones.noted();
            self.drain_version = self.owner.untold_version();
            self.drain_through = None;
            self.log().seal_open();
        }
        let Some(through) = self.drain_through else {
            return self.hand_over_for_drains(is_new);
        };
        // Not once all is idle: cleaning goes on for as long as there is something to gain. What
        // was deleted without a device that is gone is deleted for good only once that device does
        // not count any more.
        if self.durable_through >= through && !self.has_gap() {
            self.vouch_if_new();
            self.log().flusher.queue().drains_done = wanted;
            self.log().flusher.tell_progress();
        }
    }

    /// Whether tombstones or the flush floor must still be handed over for somebody who waits.
    pub(crate) fn hands_over_for_drains(&self) -> bool {
        self.drains_wanted() && self.drain_through.is_none()
    }

    /// A client that waits for memory to be written out waits for the tombstones noted so far, too.
    pub(crate) fn tell_before_drains_end(&mut self) {
        if self.log().pressure.is_at_rest() {
            self.drain_tombstones = self.log().tombstones.noted();
            self.drain_version = self.owner.untold_version();
        }
    }

    /// Hands over the tombstones and the flush floor that a drain asks for.
    fn hand_over_for_drains(&mut self, is_new: bool) {
        if self.has_told(&self.drain_tombstones, self.drain_version) {
            self.log().seal_open();
            // Nothing may follow for long: what the last segment tells of is told once more now.
            self.log().open_for_echoes(self.owner.as_ref());
            self.drain_through = Some(self.log().seal_open());
            self.take_jobs();
        } else if is_new || self.is_idle() {
            self.write_tombstones();
        }
    }
}
