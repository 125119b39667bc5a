//! Segments that are missing from the log, because they could not be written where they were to
//! lie.
//!
//! Recovery accepts the log up to its first gap behind the watermark. So nothing behind a gap
//! counts as durable before a watermark vouches for it, and that must not happen before what the
//! missing segments held, and the tombstones that they told of, are durable elsewhere. Until then a
//! crash leaves what was there before the gap, whole. The watermark goes into the superblocks then:
//! the next segment's header would do as well, but there may be no slot for one.

use super::Flushed;
use super::Flusher;
use super::retiring::Waiting;
use crate::format::Tombstone;
use crate::log::Source;
use crate::superblocks::Failure;
use crate::tombstones::TombstoneCounts;
use std::io;

/// Missing segments.
pub(super) struct Gap {
    first: u64,
    last: u64,
    /// Once so many tombstones are synced, so is what the segments held.
    tombstones: TombstoneCounts,
    /// Segments whose items are just being moved.
    moving: u32,
}

impl Gap {
    /// The last write number before it.
    pub fn before(&self) -> u64 {
        self.first - 1
    }
}

impl<O: Flushed> Flusher<O> {
    /// Notes that the segments with these write numbers are missing.
    fn note_gap(&mut self, first: u64, last: u64) -> &mut Gap {
        let tombstones = self.log().tombstones.noted();
        let gap = self.gap.get_or_insert(Gap {
            first,
            last,
            tombstones,
            moving: 0,
        });
        gap.first = gap.first.min(first);
        gap.last = gap.last.max(last);
        gap.tombstones = tombstones;
        gap
    }

    /// A segment is missing, and what it held is about to move elsewhere.
    pub(super) fn begin_gap(&mut self, write_number: u64) {
        self.note_gap(write_number, write_number).moving += 1;
    }

    /// All that moves has moved, and all that the segment told of has been noted.
    pub(super) fn end_gap(&mut self) {
        let tombstones = self.log().tombstones.noted();
        if let Some(gap) = &mut self.gap {
            gap.moving -= 1;
            gap.tombstones = tombstones;
        }
    }

    /// What lies on a device that is gone is missing: the others must tell of the tombstones that
    /// its segments told of.
    pub(super) fn tell_anew(&mut self, device: usize) {
        let log = self.log();
        for slot in log.slots.of_device(device) {
            let table = log.slots.table(self.guard(), slot);
            let tombstones = table.map(|table| &table.tombstones[..]).unwrap_or_default();
            let is_needed = |tombstone: &&Tombstone| self.physical.needs(tombstone);
            tombstones.iter().filter(is_needed).for_each(|tombstone| {
                log.tombstones.carry(*tombstone);
            });
        }
        // What is still on its way is noted where it fails. Even where nothing is missing, nothing
        // more becomes durable before the superblocks say that the device does not belong to the
        // store any more.
        let first = self.progress.durable_through() + 1;
        self.note_gap(first, self.progress.last_written());
    }

    pub(crate) fn has_gap(&self) -> bool {
        self.gap.is_some()
    }

    /// Whether a segment must still be assembled before the gap can be closed.
    pub(super) fn owes_tombstones_of_gap(&self) -> bool {
        let gap = self.gap.as_ref();
        gap.is_some_and(|gap| !self.log().tombstones.told().cover(&gap.tombstones))
    }

    /// Takes the next step towards closing the gap.
    pub(crate) fn mend_gap(&mut self) {
        if self.gap.is_none() || !self.is_idle() {
            return;
        }
        if !self.log().is_in_service() {
            return self.advance_durable();
        }
        if self.owes_tombstones_of_gap() {
            // No slot comes free before.
            if !self
                .log()
                .open_for_tombstones(self.owner.as_ref(), Source::Gap)
            {
                return self.give_up_if_hopeless();
            }
            self.log().seal_open();
            self.take_jobs();
        } else if self.is_behind() {
            self.sync_if_behind();
        } else {
            self.advance_durable();
        }
    }

    /// Where no slot is free in which to tell what is missing, none ever will be, since they come
    /// free only behind the gap. With `Sync`, whoever waits until a change is durable is told then
    /// that it will not be. Otherwise nobody waits for a single change, and what lies on the
    /// devices goes on being served.
    fn give_up_if_hopeless(&mut self) {
        let log = self.log();
        let is_moving = self.gap.as_ref().is_some_and(|gap| gap.moving > 0);
        let durable = self.progress.durable_tombstones();
        let comes_free = |waiting: &Waiting| durable.cover(&waiting.tombstones);
        let is_hopeless = log.is_sync() && !is_moving && log.slots.free_of_all() == 0;
        if !is_hopeless || self.waiting.iter().any(comes_free) {
            return;
        }
        let error = io::Error::other("no segment is free to note what is missing in");
        for device in log.devices_in_service() {
            self.fail_device(device, &error);
        }
    }

    /// Ends the gap if the watermark may go, and has gone, beyond it; or if nothing becomes durable
    /// any more.
    pub(super) fn close_gap(&mut self) {
        let Some(gap) = &self.gap else { return };
        let is_mended = gap.moving == 0 && self.progress.has_synced(gap.last, &gap.tombstones);
        if is_mended && let Err(failure) = self.vouch() {
            return self.note_failure(&failure);
        }
        if is_mended || !self.log().is_in_service() {
            self.gap = None;
            self.progress.note_vouched();
        }
    }

    /// Writes the watermark down for what nothing may follow, so that damage there is not taken for
    /// the end of the log.
    pub(super) fn vouch_if_new(&mut self) {
        if self.progress.is_vouched_for() || self.gap.is_some() {
            return;
        }
        match self.vouch() {
            Ok(()) => self.progress.note_vouched(),
            Err(failure) => self.note_failure(&failure),
        }
    }

    /// A superblock could not be written.
    fn note_failure(&mut self, failure: &Failure) {
        let Failure { device, error, .. } = failure;
        match failure.is_sync {
            true => {
                self.note_write_error(*device, error);
                self.fail_device(*device, error);
            }
            false => self.note_device_error(*device, error),
        }
    }

    /// Writes the watermark into the superblocks of all devices in service, and that no others
    /// belong to the store; else tells which one failed. A device that has gone out of service is
    /// left out of the log with the same write that says how far the log is whole without it.
    fn vouch(&self) -> Result<(), Failure> {
        let log = self.log();
        let in_service = log.devices_in_service();
        let superblocks = &log.superblocks;
        let synced = self.progress.synced_through();
        superblocks.note(&in_service, self.owner.flush_floor(), synced);
        superblocks.write_all(&log.devices, &in_service, |device, error| {
            self.note_write_error(device, error);
        })
    }
}

#[cfg(test)]
mod tests;
