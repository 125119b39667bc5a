//! Copying ahead: what leaves memory next is written to a device while it still serves reads.
//!
//! A burst of stores needs segments that are free at once, and emptying one takes as long as the
//! device does. Instead of keeping so many empty, the reclaimer copies what lies in those whose
//! turn comes next: they can be emptied without writing, and until then nothing in them is read
//! from a device.

use super::policy::{Fate, Verdict};
use crate::core::Core;
use crate::reclaimer::{Ready, State, stock};
use crate::segment::{Queue, Queued, Walk};
use crate::tier::Copied;
use farcache_log::Guard;

/// Segments that are copied ahead at most, in multiples of the stock: where most items are in use,
/// emptying a segment gives back little of it.
const AHEAD_STOCKS_MAX: u32 = 2;

/// How getting a segment ready went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It went on; there may be more to do.
    Made,
    /// There is nothing more to do now.
    Nothing,
    /// The devices must catch up first.
    DeviceBusy,
}

impl Core {
    /// Segments that are to be free or ready to be emptied without writing.
    pub(super) fn stock_wanted(&self) -> u32 {
        stock::wanted_above_devices(self.arena.counts().allowed)
    }

    /// Whether more should be copied ahead.
    pub fn is_stock_short(&self) -> bool {
        self.can_spill() && self.stock() < self.stock_wanted()
    }

    fn stock(&self) -> u32 {
        let counts = self.arena.counts();
        counts.free + counts.limbo + self.reclaimer.ready()
    }

    /// Forgets segments that have left memory in another way.
    pub(super) fn note_ready(&self, state: &mut State) {
        let ahead = &mut state.ahead.segments;
        ahead.retain(|ready| self.arena.is_current(&ready.entry));
        let gain = state.ahead.gain(self.arena.segment_bytes() as u64);
        self.reclaimer.set_ready(gain);
    }

    /// Gets one more segment ready to be emptied, or goes on with one.
    pub(super) fn stock_up(&self, state: &mut State) -> Progress {
        self.note_ready(state);
        if !self.is_stock_short() {
            return Progress::Nothing;
        }
        let (round, before) = (state.in_vain, self.stock());
        // Copying within memory is cheaper than writing what memory has room for.
        if let Some(emptying) = self.cheapest(state, round) {
            let was_emptied = self.empty(state, emptying, Fate::Keep);
            state.in_vain = match self.stock() > before {
                true => 0,
                false => state.in_vain.saturating_add(1),
            };
            return match was_emptied {
                true => Progress::Made,
                false => Progress::Nothing,
            };
        }
        self.copy_next(state)
    }

    fn copy_next(&self, state: &mut State) -> Progress {
        let is_begun = |ready: &Ready| ready.left.is_some();
        if !state.ahead.segments.back().is_some_and(is_begun) && !self.begin_next(state) {
            return Progress::Nothing;
        }
        let Some(mut ready) = state.ahead.segments.pop_back() else {
            return Progress::Nothing;
        };
        let attendance = self.attend_as_reclaimer();
        let progress = match self.arena.is_current(&ready.entry) {
            true => self.copy_segment(attendance.guard(), &mut ready, state.in_vain),
            false => Progress::Made,
        };
        drop(attendance);
        state.ahead.segments.push_back(ready);
        self.note_ready(state);
        progress
    }

    /// Takes the segment whose turn comes next from its queue.
    fn begin_next(&self, state: &mut State) -> bool {
        if state.ahead.segments() >= AHEAD_STOCKS_MAX * self.stock_wanted() {
            return false;
        }
        let (first, other) = self.queues_in_turn(state);
        let next = [first, other]
            .into_iter()
            .find_map(|queue| Some((self.next_of(queue)?, queue)));
        let Some((entry, queue)) = next else {
            return false;
        };
        state.ahead.segments.push_back(Ready {
            entry,
            queue,
            run: self.arena.meta(entry.segment).run(),
            kept_bytes: 0,
            left: Some(Walk::through(&self.arena, entry.segment)),
        });
        true
    }

    fn next_of(&self, queue: Queue) -> Option<Queued> {
        let entries = self.arena.queues().entries(queue);
        for _ in 0..entries {
            let entry = self.arena.queues().pop(queue)?;
            if !self.arena.is_current(&entry) {
                continue;
            }
            if !self.arena.meta(entry.segment).is_arriving() {
                return Some(entry);
            }
            // In use: its turn comes again.
            self.arena.queues().push(queue, entry, 0);
        }
        None
    }

    /// Copies what would leave memory, were the segment emptied now.
    fn copy_segment(&self, guard: Guard<'_>, ready: &mut Ready, round: u32) -> Progress {
        let fate = Fate::ByUse {
            queue: ready.queue,
            round,
            bytes_large: u64::MAX,
        };
        while let Some(mut left) = ready.left {
            // SAFETY: the segment was in service, with the same filling, after the reclaimer had
            // resumed.
            let Some((location, item)) = (unsafe { left.next(&self.arena) }) else {
                break;
            };
            let size = item.layout().size();
            let hash = self.hash(item.key());
            let is_there = self.index.has(hash, location);
            if is_there && self.is_alive(location, item, self.now()) {
                match fate.of(item.state(), size, ready.queue) {
                    Verdict::Move { .. } => ready.kept_bytes += size as u64,
                    Verdict::Drop if !self.is_worth_writing(hash, item, ready.queue) => {}
                    Verdict::Drop => match self.copy_to_device(guard, hash, location) {
                        Copied::Done | Copied::Gone => {}
                        Copied::Changed => continue,
                        Copied::NoRoom => return Progress::DeviceBusy,
                    },
                }
            }
            ready.left = Some(left);
        }
        ready.left = None;
        Progress::Made
    }
}
