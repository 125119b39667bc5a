//! Slots in a row, for values larger than a segment: cleaning leaves free slots wherever the
//! sparsest segments lay, so where no row of them is long enough, what lies in the way moves
//! elsewhere.

use super::Flushed;
use super::Flusher;
use super::mover::Fate;
use crate::schedule::atomic::Ordering::*;
use crate::slots::SlotState;
use std::cmp::Reverse;
use std::ops::Range;

/// Segments moved out of the way before a pass ends: the writes come first.
const MOVED_PER_TURN: usize = 4;
/// Passes for one run, beside one for each of its slots, before it counts as impossible: what moves
/// may take slots in the way of it.
const PASSES_MIN: u32 = 16;

impl<O: Flushed> Flusher<O> {
    /// Makes slots in a row free for somebody who found none, if that is possible.
    pub(super) fn keep_run_free(&mut self) {
        let log = self.log();
        let run = log.runs.slots();
        if run == 0 {
            return;
        }
        if log.slots.has_run(run, log.reserve()) {
            log.runs.end(false);
            return log.flusher.tell_progress();
        }
        if log.runs.was_in_vain_of_late() {
            log.runs.is_in_vain.store(true, Release);
            log.runs.slots.store(0, Release);
            return log.flusher.tell_progress();
        }
        if self.awaits_slots() {
            return;
        }
        let passes = log.runs.passes.fetch_add(1, Relaxed);
        let is_over = passes > run.saturating_add(PASSES_MIN);
        // The segment that tells of tombstones takes a slot, too: where slots are too few, one
        // alone gains nothing.
        let is_count_short = log.slots.counts().0 < run.saturating_add(log.reserve());
        if !is_over && self.slots_untold() > u32::from(is_count_short) {
            return self.write_tombstones();
        }
        // With those that the device keeps.
        let stretch = self.cheapest_stretch(run.saturating_add(log.slots.kept()));
        let in_the_way = self.written_in(stretch.clone());
        if in_the_way.is_empty() || is_over {
            log.runs.end(true);
            return log.flusher.tell_progress();
        }
        // Else what moves out of the stretch could move to another slot of it.
        log.slots.spare(stretch);
        for slot in in_the_way.into_iter().take(MOVED_PER_TURN) {
            self.log().counters.segments_cleaned.add(1);
            if !self.clean(slot, Fate::Keep) {
                break;
            }
        }
        self.log().flusher.wake();
    }

    /// The stretch of `length` slots that is the cheapest to empty, of several the last; empty
    /// where there is none.
    fn cheapest_stretch(&self, length: u32) -> Range<u32> {
        let slots = &self.log().slots;
        let devices = 0..self.log().devices.len();
        let stretches = devices.filter_map(|device| {
            let first = slots.of_device(device).start;
            let costs: Vec<_> = slots
                .of_device(device)
                .map(|slot| self.cost_of(slot))
                .collect();
            let (cost, place) = cheapest(&costs, length as usize)?;
            Some((cost, first + place as u32))
        });
        let best = stretches.min_by_key(|&(cost, first)| (cost, Reverse(first)));
        best.map_or(0..0, |(_, first)| first..first + length)
    }

    /// The segments in a stretch of slots.
    fn written_in(&self, stretch: Range<u32>) -> Vec<u32> {
        let slots = &self.log().slots;
        let is_written = |slot: &u32| slots.slot(*slot).state() == SlotState::Written;
        stretch.filter(is_written).collect()
    }

    /// What emptying a slot costs, in bytes; none where it cannot be emptied now.
    fn cost_of(&self, slot: u32) -> Option<u64> {
        let slots = &self.log().slots;
        let state = slots.slot(slot);
        match state.state() {
            SlotState::Free | SlotState::Waiting => Some(0),
            SlotState::Written if state.run() == 1 && self.is_settled(slot) => {
                // Even an empty one has tombstones to be told again.
                Some(state.live_bytes() + slots.segment_bytes() / 16)
            }
            _ => None,
        }
    }
}

/// The cheapest `length` in a row, of several the last: what they cost together, and the place of
/// the first. None of them may be without a cost.
fn cheapest(costs: &[Option<u64>], length: usize) -> Option<(u64, usize)> {
    let (mut cost, mut found) = (0, 0);
    let mut best: Option<(u64, usize)> = None;
    for (place, one) in costs.iter().enumerate() {
        let Some(one) = one else {
            (cost, found) = (0, 0);
            continue;
        };
        (cost, found) = (cost + one, found + 1);
        if found > length {
            cost -= costs[place - length].unwrap_or_default();
        }
        if found >= length && best.is_none_or(|(least, _)| cost <= least) {
            best = Some((cost, place + 1 - length));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_the_cheapest_stretches_is_taken() {
        let costs = [
            None,
            Some(1),
            Some(2),
            Some(1),
            None,
            Some(3),
            Some(0),
            Some(0),
        ];
        assert_eq!(cheapest(&costs, 1), Some((0, 7)));
        assert_eq!(cheapest(&costs, 2), Some((0, 6)));
        assert_eq!(cheapest(&costs, 3), Some((3, 5)));
        assert_eq!(cheapest(&costs, 4), None);
        assert_eq!(cheapest(&[], 1), None);
    }
}
