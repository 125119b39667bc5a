//! Room for a run of segments: a stretch of the arena is emptied, wherever that costs least.

use super::policy::Fate;
use super::{GRACE_POLL, GRACE_WAIT_MAX, State};
use crate::core::Core;
use crate::segment::{Queue, SegmentState};
use std::ops::Range;
use std::time::Instant;

impl Core {
    /// Frees `run` segments in a row and opens them as one run. None where no stretch can be freed
    /// now.
    pub(super) fn make_run(&self, state: &mut State, run: u32) -> Option<u32> {
        let fate = if self.config.evict {
            Fate::Drop
        } else {
            Fate::Keep
        };
        // What this thread itself has open would stand in the way.
        state.probation.seal_all(&self.arena);
        state.main.seal_all(&self.arena);
        let first = self.cheapest_stretch(run)?;
        let stretch = first..first + run;
        self.arena.claim(stretch.clone());
        let mut segment = first;
        while segment < stretch.end {
            let head = self.arena.meta(segment).head();
            let length = self.arena.meta(head).run();
            if self.arena.begin_emptying(head) && !self.empty(state, head, fate) {
                break;
            }
            segment = head + length;
        }
        self.wait_for_grace(stretch);
        self.arena.open_claimed(Queue::Probation)
    }

    /// Waits until no reader can be in these segments any longer, but not for ever; the caller is
    /// offline.
    fn wait_for_grace(&self, mut segments: Range<u32>) {
        let deadline = Instant::now() + GRACE_WAIT_MAX;
        loop {
            self.arena.collect(&self.epochs);
            while segments.start < segments.end && !self.is_in_limbo(segments.start) {
                segments.start += 1;
            }
            if segments.is_empty() || Instant::now() >= deadline {
                return;
            }
            std::thread::sleep(GRACE_POLL);
        }
    }

    fn is_in_limbo(&self, segment: u32) -> bool {
        let head = self.arena.meta(segment).head();
        self.arena.meta(head).state() == SegmentState::Limbo
    }

    /// First segment of the stretch of `run` segments that holds the fewest live bytes and nothing
    /// in use.
    fn cheapest_stretch(&self, run: u32) -> Option<u32> {
        let segments = self.arena.segment_count();
        let mut cost = 0u64;
        let mut usable = 0;
        let mut best: Option<(u64, u32)> = None;
        let costs: Vec<Option<u64>> = (0..segments).map(|one| self.cost_of(one)).collect();
        for (number, one) in costs.iter().enumerate() {
            let Some(one) = one else {
                (cost, usable) = (0, 0);
                continue;
            };
            cost += one;
            usable += 1;
            if usable > run {
                usable = run;
                cost -= costs[number - run as usize].unwrap_or(0);
            }
            let first = number as u32 + 1 - run.min(number as u32 + 1);
            if usable == run && best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, first));
            }
        }
        best.map(|(_, first)| first)
    }

    /// Live bytes that emptying a segment would touch (its share of its run's); none if it is in
    /// use.
    fn cost_of(&self, segment: u32) -> Option<u64> {
        let head = self.arena.meta(segment).head();
        let meta = self.arena.meta(head);
        match meta.state() {
            SegmentState::Free => Some(0),
            SegmentState::Limbo => (!meta.is_pinned()).then_some(0),
            SegmentState::Sealed => self
                .can_empty(head)
                .then(|| u64::from(meta.live_bytes()) / u64::from(meta.run())),
            _ => None,
        }
    }
}
