//! Room for a run of segments: a stretch of the arena is emptied, wherever that costs least.

use super::policy::Fate;
use super::{GRACE_POLL, GRACE_WAIT_MAX, SENDING_WAIT_MAX, State};
use crate::core::Core;
use crate::schedule::Instant;
use crate::schedule::thread;
use crate::segment::{Open, Queue, SegmentState};
use std::ops::Range;

/// Segments searched together for a stretch: so many runs, and at least so many segments.
const WINDOW_RUNS: u32 = 8;
const WINDOW_SEGMENTS_MIN: u32 = 4096;

/// Stretches tried for a run that have an item for which there is no other place.
const REFUSED_MAX: usize = 16;
/// And stretches of which a segment came into use while they were being emptied.
const DISTURBED_MAX: usize = 4;
/// What a segment costs more, in times its bytes, that is part of a run whose item must stay where
/// nothing is evicted: the item moves only if there is another run for it.
const STAYING_RUN_COST: u64 = 1 << 16;

/// Segments in a row that may be emptied.
#[derive(Clone, Copy)]
struct Stretch {
    first: u32,
    cost: u64,
}

impl Core {
    /// Frees `run` segments in a row and opens them as one run. None where no stretch can be freed
    /// now. As many segments and some more are free elsewhere, so what lies in the stretch moves
    /// there: the cheapest stretch is often the one that was written last.
    pub(super) fn make_run(&self, state: &mut State, run: u32) -> Option<Open> {
        self.evict_for_run(state, run);
        let mut refused = Vec::new();
        let mut disturbed = 0;
        while refused.len() < REFUSED_MAX && disturbed < DISTURBED_MAX {
            let stretch = self.stretch(state, run, &refused)?;
            match self.open_stretch(state, stretch.first..stretch.first + run) {
                Ok(open) => return Some(open),
                Err(Some(head)) => refused.push(head),
                Err(None) => disturbed += 1,
            }
        }
        None
    }

    /// Where only what expires may be evicted, that goes, the oldest first, before values are moved
    /// that need a run themselves.
    fn evict_for_run(&self, state: &mut State, run: u32) {
        let mut evictions_left = REFUSED_MAX as u32 + run;
        let is_dear = |state: &mut State| {
            let stretch = self.stretch(state, run, &[]);
            stretch.is_none_or(|stretch| stretch.cost >= self.cost_of_staying_run())
        };
        while self.config.evict_expiring && evictions_left > 0 && is_dear(state) {
            let Some(emptying) = self.oldest_expiring() else {
                return;
            };
            self.empty(state, emptying, Fate::Drop);
            evictions_left -= 1;
        }
    }

    /// Frees these segments and opens them as one run. Where that fails: the head of the segment
    /// with an item that had to stay, if that is why.
    fn open_stretch(&self, state: &mut State, stretch: Range<u32>) -> Result<Open, Option<u32>> {
        self.arena.claim(stretch.clone());
        let mut stays = None;
        let mut segment = stretch.start;
        while segment < stretch.end && stays.is_none() {
            let head = self.arena.meta(segment).head();
            let length = self.arena.meta(head).run();
            if let Some(emptying) = self.arena.begin_emptying(head)
                && !self.empty(state, emptying, Fate::Keep)
            {
                stays = Some(head);
            }
            segment = head + length;
        }
        self.wait_for_grace(stretch);
        self.arena.open_claimed(Queue::Probation).ok_or(stays)
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

    /// A stretch of `run` segments that may be emptied, if need be once the reclaimer's own open
    /// segments are sealed and stalled readers have let go of theirs. Segments of the `refused`
    /// heads are left out.
    fn stretch(&self, state: &mut State, run: u32, refused: &[u32]) -> Option<Stretch> {
        self.cheapest_stretch(state, run, refused)
            .or_else(|| {
                state.seal_all(&self.arena);
                self.cheapest_stretch(state, run, refused)
            })
            .or_else(|| {
                let has_released = self.let_go(|_| true);
                has_released.then(|| self.cheapest_stretch(state, run, refused))?
            })
    }

    /// A stretch of `run` segments that holds few live bytes and nothing in use: the best one of
    /// the next window that has any, so that a large arena is not searched whole for each large
    /// value.
    fn cheapest_stretch(&self, state: &mut State, run: u32, refused: &[u32]) -> Option<Stretch> {
        let segments = self.arena.segment_count();
        let window = (run * WINDOW_RUNS).max(WINDOW_SEGMENTS_MIN);
        let windows = segments.div_ceil(window);
        (0..windows).find_map(|_| {
            let start = state.run_window % windows * window;
            state.run_window = (state.run_window + 1) % windows;
            self.cheapest_within(start..segments.min(start + window + run), run, refused)
        })
    }

    fn cheapest_within(&self, range: Range<u32>, run: u32, refused: &[u32]) -> Option<Stretch> {
        let cost_of = |segment| self.cost_of(segment, refused);
        let mut cost = 0u64;
        let mut usable = 0;
        let mut best: Option<Stretch> = None;
        for segment in range {
            let Some(one) = cost_of(segment) else {
                (cost, usable) = (0, 0);
                continue;
            };
            cost += one;
            usable += 1;
            if usable > run {
                usable = run;
                // Items may have died since it was added.
                cost = cost.saturating_sub(cost_of(segment - run).unwrap_or(0));
            }
            if usable == run && best.is_none_or(|least| cost < least.cost) {
                let first = segment + 1 - run;
                best = Some(Stretch { first, cost });
            }
        }
        best
    }

    /// What emptying a segment costs: the live bytes to touch, its share of its run's, and more
    /// where they may find no room. None if it is in use, or refused.
    fn cost_of(&self, segment: u32, refused: &[u32]) -> Option<u64> {
        let head = self.arena.meta(segment).head();
        let meta = self.arena.meta(head);
        match meta.state() {
            SegmentState::Free => Some(0),
            // Another one is given back in its place.
            SegmentState::Parked if segment < self.arena.segments_end() => {
                Some(self.arena.segment_bytes() as u64 / 2)
            }
            SegmentState::Limbo => (!meta.is_pinned()).then_some(0),
            SegmentState::Sealed if self.can_empty(head) && !refused.contains(&head) => {
                let bytes = u64::from(meta.live_bytes()) / u64::from(meta.run());
                let stays = meta.run() > 1 && bytes > 0 && !self.config.evict && !self.can_spill();
                Some(bytes + u64::from(stays) * self.cost_of_staying_run())
            }
            _ => None,
        }
    }

    fn cost_of_staying_run(&self) -> u64 {
        self.arena.segment_bytes() as u64 * STAYING_RUN_COST
    }
}
