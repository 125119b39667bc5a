//! Regular work: flushed entries leave the index, dead and expired segments become free.

use super::State;
use super::policy::Fate;
use super::rest::Rest;
use crate::core::Core;
use crate::flush::Swept;
use crate::schedule::Instant;
use crate::segment::SegmentState;
use std::time::Duration;

/// Classes of the index that are swept in one go: some hundreds of entries, so at most a few tenths
/// of a millisecond.
const CLASSES_AT_ONCE: u64 = 64;

/// A sweep of the index, which goes on in parts.
pub(super) struct Sweep {
    swept: Swept,
    /// The last filling when it began.
    last_sequence: u64,
    /// Level of the index when it began: it has 2^level classes.
    level: u32,
    next_class: u64,
    rest: Rest,
    /// Once all classes are through: what readers have to leave behind before the sweep has ended.
    retired: Option<u64>,
}

impl Sweep {
    /// How long there is nothing to do for it; none where only readers are waited for.
    pub fn rest(&self) -> Option<Duration> {
        let is_through = self.retired.is_some();
        (!is_through).then(|| self.rest.left(Instant::now()))
    }
}

impl Core {
    /// A sweep of the index against what has been flushed so far.
    pub(super) fn begin_sweep(&self) -> Sweep {
        Sweep {
            // Looked at first: a fence that is not known to this sweep has a later moment.
            swept: self.flush.wanted(),
            last_sequence: self.arena.last_sequence(),
            level: self.index.scan_level(),
            next_class: 0,
            rest: Rest::over(Instant::now()),
            retired: None,
        }
    }

    /// Removes flushed entries from the next classes of the index, if it is time or room is short;
    /// true where that was the last of them.
    pub(super) fn go_on(&self, sweep: &mut Sweep) -> bool {
        let began = Instant::now();
        let is_resting = !sweep.rest.left(began).is_zero() && !self.is_low();
        if sweep.retired.is_some() || is_resting {
            return false;
        }
        let end = (sweep.next_class + CLASSES_AT_ONCE).min(1 << sweep.level);
        for class in sweep.next_class..end {
            self.remove_flushed_of_class(class, sweep.level, sweep.swept.floor());
        }
        sweep.next_class = end;
        if end < 1 << sweep.level {
            sweep.rest.follow(began, Instant::now());
            return false;
        }
        sweep.retired = Some(self.epochs.retire());
        true
    }

    /// Ends a sweep once no reader can hold an entry that it removed: until then readers must go on
    /// comparing what they found with the floor. False if it is too early for that.
    pub(super) fn end_sweep(&self, sweep: &Sweep) -> bool {
        let Some(epoch) = sweep.retired else {
            return false;
        };
        let has_passed = self.epochs.has_passed(epoch);
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
        let attendance = self.attend_as_sweeper();
        let guard = attendance.guard();
        self.index.remove_class(class, level, |location, chain| {
            if let Some(tier) = self.tier.as_ref().filter(|_| location.is_on_device()) {
                let is_flushed = tier.is_flushed(location, floor);
                if is_flushed {
                    tier.remove_live(guard, location);
                    // The item in memory is flushed as well, and counts for both.
                    let is_shadow = self.is_shadow(guard, location, chain);
                    self.reclaimer_events().removed.add(u64::from(!is_shadow));
                    self.note_entries(-1);
                }
                return is_flushed;
            }
            // SAFETY: the locked chain has the location.
            let item = unsafe { self.arena.item(location) };
            let sequence = self.arena.meta_of(location).sequence();
            let is_flushed = sequence <= floor || self.is_fenced(sequence, item);
            if is_flushed {
                self.note_dead(location, item);
                self.reclaimer_events().removed.add(1);
                self.note_entries(-1);
            }
            is_flushed
        });
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
            if let Some(emptying) = self.arena.begin_emptying(head) {
                self.empty(state, emptying, Fate::Keep);
            }
        }
        self.collect_retired();
    }
}
