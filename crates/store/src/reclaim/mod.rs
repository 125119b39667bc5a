//! Getting memory back: from segments that are dead or expired, by cleaning, by eviction.
//!
//! One thread at a time reclaims: the store's own thread, which keeps a few segments free ahead of
//! demand, or a writer that found none.

mod ahead;
mod backing;
mod empty;
mod rest;
mod room;
mod run;
mod sweep;
mod thread;

use crate::core::Core;
use crate::reclaimer::{Room, State, policy, stock};
use crate::schedule::{Instant, thread::sleep};
use crate::segment::{Emptying, Queue, RECLAIMER_SEGMENTS, SegmentState};
use ahead::Progress;
use farcache_log::Log;
use policy::Fate;
use std::time::Duration;
pub(crate) use thread::ReclaimThread;

/// How long a writer waits for threads that may be looking at retired segments before it gives up.
/// One of them may be kept from running by others on a busy machine, for seconds; nothing is
/// refused for that, nor anything more evicted.
const GRACE_WAIT_MAX: Duration = Duration::from_secs(10);
/// How long a writer waits where everything is in use by replies that are just being sent.
const SENDING_WAIT_MAX: Duration = Duration::from_millis(100);
/// How often it looks.
const GRACE_POLL: Duration = Duration::from_micros(20);
/// Segments emptied in vain, one after the other, before a pass gives up.
const FRUITLESS_MAX: u32 = 32;
/// How long a writer goes on emptying segments where that frees none, because all their items only
/// move.
const IN_VAIN_MAX: Duration = Duration::from_secs(2);

impl Core {
    /// Free segments that are kept ready for writers.
    fn low_water(&self) -> u32 {
        stock::low_water(self.arena.counts().allowed)
    }

    /// Whether writers are close to finding no free segment.
    pub fn is_low(&self) -> bool {
        let counts = self.arena.counts();
        let wanted = self.low_water().max(self.segments_awaited());
        counts.free < wanted || counts.managed > counts.allowed
    }

    /// Whether there is so much free memory that nothing has to leave it for what comes in.
    pub fn has_spare_room(&self) -> bool {
        self.arena.counts().free > self.stock_wanted()
    }

    /// Whether the store's own thread has something to do for writers.
    pub fn has_to_reclaim(&self) -> bool {
        self.is_low() || self.is_stock_short()
    }

    /// Refills the stock of segments that are free or can be emptied at once; for the store's own
    /// thread. False where the devices must catch up before it can go on.
    fn refill(&self) -> bool {
        loop {
            self.collect();
            self.tell_room();
            let wanted = self.low_water().max(self.segments_awaited());
            let counts = self.arena.counts();
            let excess = counts.managed.saturating_sub(counts.allowed);
            let is_enough = counts.free + counts.limbo >= wanted + excess;
            // Locked anew for each segment, so that a writer in need gets its turn.
            let is_written_out = self.reclaimer.write_out_until().is_some();
            if is_written_out || self.must_wait() {
                return true;
            }
            if is_enough {
                match self.stock_up(&mut self.reclaimer.state()) {
                    Progress::Made => continue,
                    Progress::Nothing => return true,
                    Progress::DeviceBusy => return false,
                }
            }
            let has_gained = self.reclaim_one(&mut self.reclaimer.state());
            self.note_reclaimed(has_gained);
            if !has_gained {
                self.tell_room();
                return true;
            }
        }
    }

    /// Frees the retired segments that nobody can be looking at any longer; stalled readers are
    /// made to let go of them.
    fn collect(&self) {
        self.collect_retired();
        let is_retired = |head| self.arena.meta(head).state() == SegmentState::Limbo;
        if self.let_go(is_retired) {
            self.collect_retired();
        }
    }

    /// Has no stalled reader keep a segment whose head is wanted, and nothing that is put aside;
    /// true if that let go of any.
    pub(super) fn let_go(&self, is_wanted: impl Fn(u32) -> bool) -> bool {
        let has_released = self.stalled.release(&is_wanted);
        self.predecessors.release(is_wanted) || has_released
    }

    /// Frees segments for a writer that needs `run` of them in a row and found none. The caller
    /// holds no reference into the store (it is offline).
    pub fn make_room(&self, run: u32) -> Room {
        let mut state = self.reclaimer.state();
        let wanted = run + RECLAIMER_SEGMENTS;
        let mut is_freed = self.free(&mut state, wanted);
        if !is_freed && (run > 1 || self.arena.seal_remnants(Queue::Probation)) {
            // What has died in open segments comes back, and a large item that went round lies in an
            // open run.
            state.seal_all(&self.arena);
            is_freed = self.free(&mut state, wanted);
        }
        if !is_freed {
            return Room::None;
        }
        if run == 1 {
            return Room::Free;
        }
        self.make_run(&mut state, run).map_or(Room::None, Room::Run)
    }

    /// Reclaims until so many segments are free; false where that is impossible.
    fn free(&self, state: &mut State, wanted: u32) -> bool {
        let begin = Instant::now();
        let mut gained = begin;
        loop {
            self.collect();
            let counts = self.arena.counts();
            if counts.free >= wanted {
                return true;
            }
            // What is on its way is waited for: more would be evicted than is needed.
            let is_on_its_way = counts.free + counts.limbo >= wanted || self.must_wait();
            if !is_on_its_way && self.reclaim_one(state) {
                if state.in_vain == 0 {
                    gained = Instant::now();
                } else if gained.elapsed() >= IN_VAIN_MAX {
                    return false;
                }
                continue;
            }
            let time_max = match () {
                () if counts.limbo > 0 => GRACE_WAIT_MAX,
                () if self.is_all_in_use() => SENDING_WAIT_MAX,
                () => Duration::ZERO,
            };
            if begin.elapsed() >= time_max {
                return false;
            }
            sleep(GRACE_POLL);
            // A wait was not in vain.
            gained = Instant::now();
        }
    }

    /// Whether nothing but replies that are being sent may keep segments from being evicted.
    fn is_all_in_use(&self) -> bool {
        let may_evict = self.config.evict || self.config.evict_expiring || self.can_spill();
        let mut heads = 0..self.arena.segments_end();
        may_evict && heads.any(|head| self.arena.meta(head).is_pinned())
    }

    /// Moves everything in sealed segments to the tier's devices, the oldest first; false if
    /// something had to stay.
    pub fn write_out(&self, deadline: Instant) -> bool {
        // Seen by the reclaiming thread, which gives way.
        self.reclaimer.set_write_out_until(Some(deadline));
        let all = self.write_out_sealed(deadline);
        self.reclaimer.set_write_out_until(None);
        all
    }

    fn write_out_sealed(&self, deadline: Instant) -> bool {
        let mut state = self.reclaimer.state();
        state.seal_all(&self.arena);
        let is_sealed = |head: &u32| self.arena.meta(*head).state() == SegmentState::Sealed;
        let mut heads: Vec<u32> = (0..self.arena.segment_count()).filter(is_sealed).collect();
        heads.sort_by_key(|&head| self.arena.meta(head).sequence());
        let takes_items = |tier: &Log| tier.takes_items_after_all(deadline);
        let (mut all, mut has_room) = (true, true);
        for head in heads {
            has_room = has_room
                && Instant::now() < deadline
                && self.tier.as_ref().is_some_and(takes_items);
            let was_emptied = has_room
                && (self.arena.begin_emptying(head))
                    .is_some_and(|emptying| self.empty(&mut state, emptying, Fate::Drop));
            all &= was_emptied || self.arena.meta(head).live_items() == 0;
        }
        all
    }

    /// Whether items that stay have nowhere to go until readers leave the retired segments.
    fn must_wait(&self) -> bool {
        let counts = self.arena.counts();
        counts.free == 0 && counts.limbo > 0
    }

    /// Retires at least one segment, or must wait; false where that is impossible.
    fn reclaim_one(&self, state: &mut State) -> bool {
        let before = self.arena.counts().limbo + self.arena.counts().free;
        for _ in 0..FRUITLESS_MAX {
            self.collect_retired();
            if self.must_wait() {
                return true;
            }
            let round = state.in_vain;
            let Some((emptying, fate)) = self.choose(state, round) else {
                return false;
            };
            let was_emptied = self.empty(state, emptying, fate);
            if self.arena.counts().limbo + self.arena.counts().free > before {
                state.in_vain = 0;
                return true;
            }
            if !was_emptied {
                return false;
            }
            state.in_vain = state.in_vain.saturating_add(1);
        }
        self.config.evict
    }

    /// The next segment to empty, and what becomes of its items.
    fn choose(&self, state: &mut State, round: u32) -> Option<(Emptying, Fate)> {
        let chosen = self.choose_unused(state, round);
        if chosen.is_some() || !self.let_go(|_| true) {
            return chosen;
        }
        self.choose_unused(state, round)
    }

    fn choose_unused(&self, state: &mut State, round: u32) -> Option<(Emptying, Fate)> {
        if let Some(emptying) = self.cheapest(state, round) {
            return Some((emptying, Fate::Keep));
        }
        if !self.config.evict && !self.can_spill() {
            let expiring = self.oldest_expiring().map(|one| (one, Fate::Drop));
            return expiring.or_else(|| self.sparsest().map(|one| (one, Fate::Keep)));
        }
        let (emptying, queue) = self.ready(state).or_else(|| self.oldest(state))?;
        let fate = Fate::ByUse {
            queue,
            round,
            bytes_large: self.prepare_by_use(state, emptying.head()),
        };
        Some((emptying, fate))
    }

    /// Before a segment is emptied by use: the bytes above which an item is large. What leaves
    /// memory for a device is not lost, so there everything is alike, and nothing has a ghost as
    /// long as the device has room.
    fn prepare_by_use(&self, state: &mut State, head: u32) -> u64 {
        if self.tier.as_ref().is_none_or(Log::is_crowded) {
            let memory = u64::from(self.arena.segments_end()) * self.arena.segment_bytes() as u64;
            if self.ghosts.fit(self.entries(), memory) {
                self.fit_segments();
            }
        }
        if self.tier.is_some() {
            return u64::MAX;
        }
        let meta = self.arena.meta(head);
        state
            .mean_size
            .note(meta.live_bytes().into(), meta.live_items().into());
        state.mean_size.bytes_large()
    }

    /// Whether items may leave memory for a device.
    fn can_spill(&self) -> bool {
        self.tier.as_ref().is_some_and(Log::takes_items)
    }

    /// A segment in the next windows with little or nothing alive in it, after so many emptied in
    /// vain.
    fn cheapest(&self, state: &mut State, round: u32) -> Option<Emptying> {
        // Segments that only a higher limit would bring into use are left out, else most windows
        // would be empty.
        let segments = self.arena.segments_end();
        let looks = match self.config.evict && !self.can_spill() {
            true => state.window.looks(segments),
            // What leaves memory is not lost, or may go: searching on costs more than it saves.
            false => 1,
        };
        for _ in 0..looks {
            let found = self.cheapest_of(state.window.next(segments), round);
            if found.is_some() {
                state.window.note_found();
                return found;
            }
        }
        None
    }

    /// One of these segments with little or nothing alive in it, after so many emptied in vain.
    fn cheapest_of(&self, window: impl Iterator<Item = u32>, round: u32) -> Option<Emptying> {
        let can_spill = self.can_spill();
        let is_worth_it = |&(live_part, head): &(u64, u32)| {
            let items = self.arena.meta(head).live_items();
            policy::is_worth_cleaning(live_part, items, can_spill, round)
        };
        let (_, head) = window
            .filter(|&head| self.can_empty(head))
            .map(|head| (self.live_part(head), head))
            .filter(is_worth_it)
            .min_by_key(|&(live_part, _)| live_part)?;
        self.arena.begin_emptying(head)
    }

    /// The segment with the smallest live part, if cleaning it gains anything worth the work.
    fn sparsest(&self) -> Option<Emptying> {
        let heads = 0..self.arena.segment_count();
        let (live_part, head) = heads
            .filter(|&head| self.can_empty(head))
            .map(|head| (self.live_part(head), head))
            .min_by_key(|&(live_part, _)| live_part)?;
        let is_worth_it = live_part < policy::COMPACTING_LIVE_PART_MAX;
        is_worth_it.then(|| self.arena.begin_emptying(head))?
    }

    /// Where only what expires may be evicted: the segment with nothing else that was filled first.
    fn oldest_expiring(&self) -> Option<Emptying> {
        if !self.config.evict_expiring {
            return None;
        }
        let heads = 0..self.arena.segments_end();
        let head = heads
            .filter(|&head| self.can_empty(head) && self.arena.meta(head).is_expiring())
            .min_by_key(|&head| self.arena.meta(head).sequence())?;
        self.arena.begin_emptying(head)
    }

    /// Takes a segment out of service for emptying whose turn has come: stalled readers do not keep
    /// it.
    fn begin_emptying(&self, head: u32) -> Option<Emptying> {
        let is_pinned = self.arena.meta(head).is_pinned();
        if is_pinned {
            self.let_go(|kept| kept == head);
        }
        self.arena.begin_emptying(head)
    }

    fn can_empty(&self, head: u32) -> bool {
        let meta = self.arena.meta(head);
        meta.state() == SegmentState::Sealed && !meta.is_arriving() && !meta.is_pinned()
    }

    /// Live bytes of a segment or run, in 1024ths of its size; 0 if all has expired.
    fn live_part(&self, head: u32) -> u64 {
        let meta = self.arena.meta(head);
        if meta.live_items() == 0 || meta.is_expired(self.now()) {
            return 0;
        }
        let bytes = u64::from(meta.run()) * self.arena.segment_bytes() as u64;
        u64::from(meta.live_bytes()) * 1024 / bytes
    }

    /// The next of the segments whose items have been copied to a device, out of service for
    /// emptying.
    fn ready(&self, state: &mut State) -> Option<(Emptying, Queue)> {
        let mut found = None;
        while let Some((entry, queue)) = state.ahead.pop() {
            if !self.arena.is_current(&entry) {
                continue;
            }
            if let Some(emptying) = self.begin_emptying(entry.segment) {
                found = Some((emptying, queue));
                break;
            }
            // In use: its turn comes again.
            self.arena.queues().push(queue, entry, 0);
        }
        self.note_ready(state);
        found
    }

    fn queues_in_turn(&self, state: &State) -> (Queue, Queue) {
        let blocked = self.arena.segments_arriving();
        let ahead = |queue| state.ahead.segments_of(queue);
        let taken = [blocked + ahead(Queue::Probation), ahead(Queue::Main)];
        policy::queues_in_turn(&self.arena.queues(), taken)
    }

    /// The oldest segment of the queue whose turn it is, else of the other, out of service for
    /// emptying.
    fn oldest(&self, state: &State) -> Option<(Emptying, Queue)> {
        let (first, other) = self.queues_in_turn(state);
        [first, other]
            .into_iter()
            .find_map(|queue| Some((self.oldest_of(queue)?, queue)))
    }

    fn oldest_of(&self, queue: Queue) -> Option<Emptying> {
        let entries = self.arena.queues().entries(queue);
        for _ in 0..entries {
            let entry = self.arena.queues().pop(queue)?;
            if !self.arena.is_current(&entry) {
                continue;
            }
            let emptying = self.begin_emptying(entry.segment);
            if emptying.is_some() {
                return emptying;
            }
            // In use: its turn comes again.
            self.arena.queues().push(queue, entry, 0);
        }
        None
    }
}
