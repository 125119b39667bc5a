//! Regular work: flushed entries leave the index, dead and expired segments become free.

use super::State;
use super::policy::Fate;
use crate::core::Core;
use crate::flush::Swept;
use crate::segment::SegmentState;

/// A sweep that has removed what it had to.
pub(super) struct Sweep {
    swept: Swept,
    /// The last filling when it began.
    last_sequence: u64,
    epoch: u64,
}

impl Core {
    /// Removes every flushed entry from the index; returns what was swept against.
    pub(super) fn sweep_flushed(&self) -> Sweep {
        // Looked at first: a fence that is not known to this sweep has a later moment.
        let swept = self.flush.wanted();
        let last_sequence = self.arena.last_sequence();
        let level = self.index.scan_level();
        for class in 0..1 << level {
            self.remove_flushed_of_class(class, level, swept.floor());
        }
        Sweep {
            swept,
            last_sequence,
            epoch: self.epochs.retire(),
        }
    }

    /// Ends a sweep once no reader can hold an entry that it removed: until then readers must go on
    /// comparing what they found with the floor. False if it is too early for that.
    pub(super) fn end_sweep(&self, sweep: &Sweep) -> bool {
        let has_passed = self.epochs.has_passed(sweep.epoch);
        if has_passed && self.flush.end(sweep.swept) {
            self.retire_fences(sweep.last_sequence);
        }
        has_passed
    }

    /// Forgets fences of which nothing is left: memory has none of what they void, in fillings up
    /// to this sequence number, and the devices have nothing so old.
    fn retire_fences(&self, swept_through: u64) {
        let oldest = self.tier.as_ref().and_then(|tier| tier.oldest_sequence());
        let before = oldest.map_or(u64::MAX, |oldest| oldest - 1);
        self.fences.retire(swept_through.min(before));
    }

    fn remove_flushed_of_class(&self, class: u64, level: u32, floor: u64) {
        self.resume_sweeper();
        self.index.remove_class(class, level, |location, chain| {
            if let Some(tier) = self.tier.as_ref().filter(|_| location.is_on_device()) {
                let is_flushed = tier.is_flushed(location, floor);
                if is_flushed {
                    tier.remove_live(location);
                    // The item in memory is flushed as well, and counts for both.
                    let is_shadow = self.is_shadow(location, chain);
                    self.reclaimer_events().removed.add(u64::from(!is_shadow));
                    self.note_entries(-1);
                }
                return is_flushed;
            }
            // SAFETY: the locked chain has the location.
            let item = unsafe { self.arena.item(location) };
            let sequence = self.arena.meta_of(location).sequence();
            let is_flushed = sequence <= floor || self.fences.void(sequence, item.key());
            if is_flushed {
                self.note_dead(location, item);
                self.reclaimer_events().removed.add(1);
                self.note_entries(-1);
            }
            is_flushed
        });
        self.suspend_sweeper();
    }

    /// Frees segments in which nothing is alive any longer, or everything has expired.
    pub(super) fn free_dead_segments(&self) {
        let now = self.now();
        for head in 0..self.arena.segment_count() {
            let meta = self.arena.meta(head);
            if meta.state() != SegmentState::Sealed {
                continue;
            }
            if meta.live_items() > 0 && !meta.is_expired(now) {
                continue;
            }
            // Before the segment is taken: whoever writes memory out meanwhile must find it as it
            // was.
            let state: &mut State = &mut self.reclaimer.state();
            if self.arena.begin_emptying(head) {
                self.empty(state, head, Fate::Keep);
            }
        }
        self.arena.collect(&self.epochs);
    }
}
