//! Getting slots back: from segments in which nothing is alive, by cleaning, by eviction.

use super::Flushed;
use super::Flusher;
use super::candidates::Candidates;
use super::last_slot;
use super::mover::Fate;
use crate::log::{CLEANER_SLOTS, Log, Source, TOMBSTONE_SLOTS};
use crate::slots::SlotState;

/// Part of all slots that is kept free, and its bounds.
const STOCK_PART: u32 = 32;
const STOCK_MIN: u32 = 2;
const STOCK_MAX: u32 = 64;
/// Segments cleaned before the flusher looks after its writes again.
pub(super) const CLEANED_PER_TURN: u32 = 4;
/// Slots that must wait for tombstones before these are written ahead of time: the segment that
/// tells of them takes one.
pub(super) const UNTOLD_MIN: u32 = 2;

impl Log {
    /// Free slots that are kept ready.
    fn slots_wanted(&self) -> u32 {
        let stock = (self.slots.count() / STOCK_PART).clamp(STOCK_MIN, STOCK_MAX);
        stock.max(self.runs.slots()).saturating_add(self.reserve())
    }

    /// Whether slots are needed so badly that everything possible must be done at once.
    pub(super) fn is_short(&self) -> bool {
        self.slots.counts().0 < self.slots_wanted()
    }
}

impl<O: Flushed> Flusher<O> {
    /// Retires the segments in which nothing is alive any longer and that tell of no tombstone that
    /// matters.
    pub(super) fn retire_dead_slots(&mut self) {
        for slot in 0..self.log().slots.count() {
            let state = self.log().slots.slot(slot);
            let is_dead = state.state() == SlotState::Written && state.live_items() == 0;
            if is_dead && self.is_settled(slot) && Candidates::of(self).tombstones_needed(slot) == 0
            {
                self.retire_slot(slot);
            }
        }
    }

    /// Whether a segment is durable. Before that its slot is not given back: whoever tells of its
    /// tombstone must also tell that the log has no gap where it was.
    pub(super) fn is_settled(&self, slot: u32) -> bool {
        let table = self.log().slots.table(self.guard(), slot);
        table.is_some_and(|table| self.is_durable(table.write_number))
    }

    /// Cleans, or evicts, until enough slots are free or will be.
    ///
    /// A slot comes free once the tombstone of its segment is durable. That is written when the
    /// segment that takes the items is full, so that sparse segments are put together instead of
    /// each moving alone.
    pub(super) fn keep_slots_free(&mut self) {
        if self.log().slots.devices_in_service() == 0 {
            return;
        }
        if !self.has_enough_slots() {
            self.retire_dead_slots();
        }
        self.note_tombstone_slots();
        self.log().note_crowding(self.guard());
        // Only then have even dense segments been put together.
        let is_thorough = self.log().evicts || self.log().pressure.is_room_wanted();
        let mut cleaned = 0;
        while !self.has_enough_slots() && cleaned < CLEANED_PER_TURN && self.clean_one() {
            cleaned += 1;
        }
        let is_urgent = self.log().pressure.is_room_wanted() || self.is_scarce();
        if is_urgent || (cleaned == 0 && self.log().evicts) {
            self.write_tombstones_for_slots();
        }
        let is_short = self.log().pressure.is_short_of_tombstone_slots();
        self.cleaned_in_vain = cleaned == 0 && is_short && !self.has_prospects();
        if cleaned == CLEANED_PER_TURN {
            // There may be more: the writes come first.
            self.log().flusher.wake();
            return;
        }
        self.note_fullness(is_thorough && cleaned == 0);
        if cleaned == 0 {
            self.keep_run_free();
        }
    }

    /// Whether enough slots are free or will be; one of them has to take the tombstones of the
    /// others.
    fn has_enough_slots(&self) -> bool {
        let (free, _) = self.log().slots.counts();
        let untold = self.slots_tellable().saturating_sub(1);
        free + self.slots_told_of() + untold >= self.log().slots_wanted()
    }

    /// Whether hardly anything but what cleaning and tombstones need is free.
    fn is_scarce(&self) -> bool {
        self.log().slots.counts().0 <= self.log().reserve()
    }

    /// Tombstones that waited for slots do so no longer once all are told, or there are slots
    /// again.
    fn note_tombstone_slots(&self) {
        let log = self.log();
        if log.tombstones.pending() == 0 || log.slots.counts().0 > CLEANER_SLOTS {
            log.pressure.set_short_of_tombstone_slots(false);
        }
    }

    /// The device is full when nothing was gained and nothing is on its way that may be gained
    /// from.
    fn note_fullness(&self, has_found_nothing: bool) {
        let nothing_comes = has_found_nothing && !self.has_prospects();
        self.log()
            .pressure
            .set_full(self.is_scarce() && nothing_comes);
        self.log().flusher.note_look();
        if self.log().slots.counts().0 > self.log().reserve() + 1 {
            self.log().pressure.set_room_wanted(false);
        }
    }

    /// Whether slots will come free by what is being written, or by writing tombstones.
    pub(super) fn has_prospects(&self) -> bool {
        self.awaits_slots() || self.slots_tellable() >= UNTOLD_MIN
    }

    /// Whether slots will come free, or can be looked at, by what is being written alone.
    pub(super) fn awaits_slots(&self) -> bool {
        !self.is_idle() || self.is_behind() || self.slots_told_of() > 0
    }

    /// Writes tombstones if more slots become free by that than it takes.
    pub(super) fn write_tombstones_for_slots(&mut self) {
        let (free, _) = self.log().slots.counts();
        let is_short = free + self.slots_told_of() < self.log().slots_wanted();
        let is_gain = self.slots_tellable() >= UNTOLD_MIN;
        let log = self.log();
        if is_short && is_gain && log.flusher.queued() == 0 {
            log.open_for_tombstones(self.owner.as_ref(), Source::Tombstones);
            log.seal_open();
        }
    }

    /// False if nothing is worth cleaning and nothing may be evicted.
    fn clean_one(&mut self) -> bool {
        if self.has_only_last_slot() {
            return self.clean_into_last_slot()
                || self.retire_one_dead()
                || self.evict_one(Fate::Drop);
        }
        if let Some(slot) = Candidates::of(self).sparsest() {
            self.log().counters.segments_cleaned.add(1);
            return self.clean(slot, Fate::Keep) || self.evict_one(Fate::Drop);
        }
        // What is to be kept may find no room.
        self.evict_one(Fate::KeepRead) || self.evict_one(Fate::Drop)
    }

    /// Drops the oldest segment, if that may be.
    fn evict_one(&mut self, fate: Fate) -> bool {
        // Before anything live is dropped, what is dead already is made use of. What is not durable
        // yet could not be looked at.
        if !self.log().evicts || self.awaits_slots() || self.is_at_rest() {
            return false;
        }
        let Some(slot) = Candidates::of(self).oldest() else {
            return false;
        };
        let log = self.log();
        log.counters.segments_evicted.add(1);
        log.note_eviction();
        let was_evicted = self.clean(slot, fate);
        self.tell_before_drains_end();
        was_evicted
    }

    /// Whether nobody needs room: memory has been written out, and whoever waits for that is
    /// served.
    fn is_at_rest(&self) -> bool {
        self.log().pressure.is_at_rest() && !self.hands_over_for_drains()
    }

    /// Whether what is moved has no place but the slot that is kept for tombstones.
    fn has_only_last_slot(&self) -> bool {
        self.log().slots.counts().0 <= TOMBSTONE_SLOTS && self.log().room_in_open().is_none()
    }

    /// Moves what is alive in several segments to the slot that is kept for tombstones, if that has
    /// room for all and gains slots. Where tombstones wait for slots it suffices that there are
    /// fewer of them afterwards. False if it does not.
    fn clean_into_last_slot(&mut self) -> bool {
        let tellable = self.slots_tellable();
        let chosen = last_slot::segments_to_move(&Candidates::of(self), tellable);
        let log = self.log();
        if chosen.is_empty() || !log.open_for_tombstones(self.owner.as_ref(), Source::Tombstones) {
            return false;
        }
        for slot in chosen {
            self.log().counters.segments_cleaned.add(1);
            self.clean(slot, Fate::Keep);
        }
        self.log().seal_open();
        true
    }

    /// Retires a segment that only tells of tombstones, if they can be told in the slot that is
    /// left.
    fn retire_one_dead(&mut self) -> bool {
        if self.has_prospects() {
            return false;
        }
        let found = last_slot::segment_to_retire(&Candidates::of(self));
        if let Some(slot) = found {
            self.retire_slot(slot);
        }
        found.is_some()
    }
}
