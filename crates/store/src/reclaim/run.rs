//! Room for a run of segments: a stretch of the arena is emptied, wherever that costs least.

use super::policy::Fate;
use super::{GRACE_POLL, GRACE_WAIT_MAX, SENDING_WAIT_MAX, State};
use crate::core::Core;
use crate::schedule::Instant;
use crate::schedule::thread;
use crate::segment::{Queue, SegmentState};
use std::ops::Range;

/// Segments searched together for a stretch: so many runs, and at least so many segments.
const WINDOW_RUNS: u32 = 8;
const WINDOW_SEGMENTS_MIN: u32 = 4096;

impl Core {
    /// Frees `run` segments in a row and opens them as one run. None where no stretch can be freed
    /// now. As many segments and some more are free elsewhere, so what lies in the stretch moves
    /// there: the cheapest stretch is often the one that was written last.
    pub(super) fn make_run(&self, state: &mut State, run: u32) -> Option<u32> {
        let first = self.stretch(state, run)?;
        let stretch = first..first + run;
        self.arena.claim(stretch.clone());
        let mut segment = first;
        while segment < stretch.end {
            let head = self.arena.meta(segment).head();
            let length = self.arena.meta(head).run();
            if self.arena.begin_emptying(head) && !self.empty(state, head, Fate::Keep) {
                break;
            }
            segment = head + length;
        }
        self.wait_for_grace(stretch);
        self.arena.open_claimed(Queue::Probation)
    }

    /// Waits until no reader can be in these segments any longer, but not for ever, and for what
    /// replies or networks keep not for long; the caller is offline.
    fn wait_for_grace(&self, mut segments: Range<u32>) {
        let begin = Instant::now();
        loop {
            self.collect();
            while segments.start < segments.end && !self.is_in_limbo(segments.start) {
                segments.start += 1;
            }
            if segments.is_empty() {
                return;
            }
            let head = self.arena.meta(segments.start).head();
            let time_max = match self.arena.meta(head).is_pinned() {
                true => SENDING_WAIT_MAX,
                false => GRACE_WAIT_MAX,
            };
            if begin.elapsed() >= time_max {
                return;
            }
            thread::sleep(GRACE_POLL);
        }
    }

    fn is_in_limbo(&self, segment: u32) -> bool {
        let head = self.arena.meta(segment).head();
        self.arena.meta(head).state() == SegmentState::Limbo
    }

    /// First segment of a stretch of `run` segments that may be emptied, if need be once the
    /// reclaimer's own open segments are sealed and stalled readers have let go of theirs.
    fn stretch(&self, state: &mut State, run: u32) -> Option<u32> {
        self.cheapest_stretch(state, run)
            .or_else(|| {
                state.seal_all(&self.arena);
                self.cheapest_stretch(state, run)
            })
            .or_else(|| {
                let has_released = self.stalled.release(|_| true);
                has_released.then(|| self.cheapest_stretch(state, run))?
            })
    }

    /// First segment of a stretch of `run` segments that holds few live bytes and nothing in use:
    /// the best one of the next window that has any, so that a large arena is not searched whole
    /// for each large value.
    fn cheapest_stretch(&self, state: &mut State, run: u32) -> Option<u32> {
        let segments = self.arena.segment_count();
        let window = (run * WINDOW_RUNS).max(WINDOW_SEGMENTS_MIN);
        let windows = segments.div_ceil(window);
        (0..windows).find_map(|_| {
            let start = state.run_window % windows * window;
            state.run_window = (state.run_window + 1) % windows;
            self.cheapest_within(start..segments.min(start + window + run), run)
        })
    }

    fn cheapest_within(&self, range: Range<u32>, run: u32) -> Option<u32> {
        let mut cost = 0u64;
        let mut usable = 0;
        let mut best: Option<(u64, u32)> = None;
        for segment in range {
            let Some(one) = self.cost_of(segment) else {
                (cost, usable) = (0, 0);
                continue;
            };
            cost += one;
            usable += 1;
            if usable > run {
                usable = run;
                // Items may have died since it was added.
                cost = cost.saturating_sub(self.cost_of(segment - run).unwrap_or(0));
            }
            if usable == run && best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, segment + 1 - run));
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
