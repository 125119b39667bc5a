//! Getting slots back: from segments in which nothing is alive, by cleaning, by eviction.

use super::Flushed;
use super::Flusher;
use super::mover::Fate;
use crate::format::{ENTRY_BYTES, HEADER_BYTES, TOMBSTONE_BYTES, TOMBSTONE_COPIES};
use crate::log::{CLEANER_SLOTS, Log, Source, TOMBSTONE_SLOTS};
use crate::slots::SlotState;

/// Part of all slots that is kept free, and its bounds.
const STOCK_PART: u32 = 32;
const STOCK_MIN: u32 = 2;
const STOCK_MAX: u32 = 64;
/// A segment with a larger live part, in 1024ths, is not worth cleaning: each byte gained would
/// cost more than three written. A cache does better to give up the oldest.
const CLEANING_LIVE_PART_MAX: u64 = 768;
/// The bound of [`CLEANING_LIVE_PART_MAX`] where nothing may be evicted and somebody waits for
/// room.
const COMPACTING_LIVE_PART_MAX: u64 = 1000;
/// The bound of [`CLEANING_LIVE_PART_MAX`] where tombstones wait for slots: then whatever is dead
/// is made use of. Header and ends take the rest.
const TOMBSTONES_LIVE_PART_MAX: u64 = 1016;
/// Dead parts of all segments worth cleaning, in 1024ths of a segment, from which on cleaning them
/// frees one: the eighth is what tables and tombstones may take.
const CLEANING_GAIN_MIN: u64 = 1024 + 128;
/// Segments cleaned before the flusher looks after its writes again.
const CLEANED_PER_TURN: u32 = 4;
/// Live parts that are put together in the last free slot, in 1024ths of a segment: what cannot go
/// wrong, because there is no other place for what does not fit.
const LAST_SLOT_LIVE_MAX: u64 = 1024 - 128;
/// Tombstones told beside what is moved: one part in this many of a segment's room for them.
const BESIDE_PART: usize = 8;
/// Segments looked at, the emptiest first, for what fits the last free slot.
const LAST_SLOT_CANDIDATES: usize = 64;
/// Slots that must wait for tombstones before these are written ahead of time: the segment that
/// tells of them takes one.
const UNTOLD_MIN: u32 = 2;

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
            if is_dead && self.is_settled(slot) && self.tombstones_needed(slot) == 0 {
                self.retire_slot(slot);
            }
        }
    }

    /// Tombstones that a segment tells of and that must go on being told when it is no more.
    fn tombstones_needed(&self, slot: u32) -> u64 {
        let table = self.log().slots.table(self.guard(), slot);
        table.map_or(0, |table| self.tombstones_to_carry(table).count() as u64)
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
        let is_thorough = self.log().evicts || self.log().is_room_wanted();
        let mut cleaned = 0;
        while !self.has_enough_slots() && cleaned < CLEANED_PER_TURN && self.clean_one() {
            cleaned += 1;
        }
        let is_urgent = self.log().is_room_wanted() || self.is_scarce();
        if is_urgent || (cleaned == 0 && self.log().evicts) {
            self.write_tombstones_for_slots();
        }
        let is_short = self.log().is_short_of_tombstone_slots();
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
            log.set_short_of_tombstone_slots(false);
        }
    }

    /// The device is full when nothing was gained and nothing is on its way that may be gained
    /// from.
    fn note_fullness(&self, has_found_nothing: bool) {
        let nothing_comes = has_found_nothing && !self.has_prospects();
        self.log().set_full(self.is_scarce() && nothing_comes);
        self.log().flusher.note_look();
        if self.log().slots.counts().0 > self.log().reserve() + 1 {
            self.log().set_room_wanted(false);
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
        if let Some(slot) = self.sparsest() {
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
        let Some(slot) = self.oldest() else {
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
        self.log().is_at_rest() && !self.hands_over_for_drains()
    }

    /// Whether what is moved has no place but the slot that is kept for tombstones.
    fn has_only_last_slot(&self) -> bool {
        self.log().slots.counts().0 <= TOMBSTONE_SLOTS && self.log().room_in_open().is_none()
    }

    /// Moves what is alive in several segments to the slot that is kept for tombstones, if that has
    /// room for all: with their tombstones written there, too, more slots come free than it takes.
    /// Where tombstones wait for slots it suffices that there are fewer of them afterwards. False
    /// if it has not.
    fn clean_into_last_slot(&mut self) -> bool {
        let chosen = self.chosen_for_last_slot();
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

    /// The segments to be moved to the last free slot; none where that gains nothing.
    fn chosen_for_last_slot(&self) -> Vec<u32> {
        let log = self.log();
        let tombstones = self.parts_of(log.tombstone_bytes());
        let has_died = |slot: &u32| self.has_died(*slot);
        let is_short = log.is_short_of_tombstone_slots();
        let room = LAST_SLOT_LIVE_MAX.saturating_sub(tombstones);
        let chosen = self.fitting(room);
        let gains_slots = chosen.len() as u32 + self.slots_tellable() >= UNTOLD_MIN;
        if gains_slots || (is_short && chosen.iter().any(has_died)) {
            return chosen;
        }
        if !is_short || self.log().evicts {
            return Vec::new();
        }
        self.alone_in_last_slot().into_iter().collect()
    }

    /// A segment in which something has died and that fits the last free slot, with its end and
    /// what it tells of. One in which an item died whose tombstone waits does: the item took more
    /// room than the end takes. Its slot takes the place of the last one, and the tombstones in it
    /// need not be told.
    fn alone_in_last_slot(&self) -> Option<u32> {
        let log = self.log();
        let fits = |slot: &u32| {
            let state = log.slots.slot(*slot);
            let table = u64::from(state.live_items()) * ENTRY_BYTES as u64;
            let carried =
                self.tombstones_needed(*slot) * (TOMBSTONE_COPIES * TOMBSTONE_BYTES) as u64;
            let bytes = HEADER_BYTES as u64 + state.live_bytes() + table + carried;
            state.run() == 1 && bytes + log.tombstone_bytes() <= log.slots.segment_bytes()
        };
        let mut segments = self.shrinkable(1024);
        segments.retain(|&(live, slot)| live > 0 && self.has_died(slot));
        segments.sort_unstable();
        let slots = segments.into_iter().map(|(_, slot)| slot);
        slots.take(LAST_SLOT_CANDIDATES).find(fits)
    }

    /// Segments that cleaning may gain from and that fit into so much room together, in 1024ths of
    /// a segment; the emptiest first.
    fn fitting(&self, mut room: u64) -> Vec<u32> {
        let mut segments = self.shrinkable(room);
        segments.sort_unstable();
        let mut chosen = Vec::new();
        for (live, slot) in segments.into_iter().take(LAST_SLOT_CANDIDATES) {
            let part = live + self.carried_part(slot);
            if part <= room && chosen.len() < CLEANED_PER_TURN as usize {
                room -= part;
                chosen.push(slot);
            }
        }
        chosen
    }

    /// Bytes in 1024ths of a segment.
    fn parts_of(&self, bytes: u64) -> u64 {
        (bytes * 1024).div_ceil(self.log().slots.segment_bytes())
    }

    /// What the tombstones take, in 1024ths of a segment, that must be told again when a segment is
    /// moved in which something is alive. Of others they are the live part.
    fn carried_part(&self, slot: u32) -> u64 {
        match self.log().slots.slot(slot).live_items() {
            0 => 0,
            _ => self.parts_of(
                self.tombstones_needed(slot) * (TOMBSTONE_COPIES * TOMBSTONE_BYTES) as u64,
            ),
        }
    }

    /// Retires a segment in which nothing is alive though it tells of tombstones that must be told
    /// again: these and others that wait can be told in the slot that is left, and its slot takes
    /// the place of that one. False if there is none, or too little room for others.
    fn retire_one_dead(&mut self) -> bool {
        if self.has_prospects() {
            return false;
        }
        let log = self.log();
        let dead = self.settled_slots();
        let dead = dead.filter(|&slot| log.slots.slot(slot).live_items() == 0);
        let counted = dead.map(|slot| (self.tombstones_needed(slot), slot));
        let Some((tombstones, slot)) = counted.min() else {
            return false;
        };
        let taken = self.parts_of((tombstones * TOMBSTONE_COPIES as u64) * TOMBSTONE_BYTES as u64);
        if self.parts_of(log.tombstone_bytes()) + taken > LAST_SLOT_LIVE_MAX {
            return false;
        }
        self.retire_slot(slot);
        true
    }

    fn settled_slots(&self) -> impl Iterator<Item = u32> + '_ {
        let slots = &self.log().slots;
        (0..slots.count()).filter(|&slot| {
            slots.slot(slot).state() == SlotState::Written
                && slots.is_in_service(slot)
                && self.is_settled(slot)
        })
    }

    /// The segment to be cleaned next; none where cleaning gains nothing.
    fn sparsest(&self) -> Option<u32> {
        let (log, evicts) = (self.log(), self.log().evicts);
        // Not once a slot comes back for the one that the tombstones take.
        let needs_slots = log.is_short_of_tombstone_slots() && self.slots_told_by_next() == 0;
        let most = match () {
            () if evicts => CLEANING_LIVE_PART_MAX,
            () if needs_slots => TOMBSTONES_LIVE_PART_MAX,
            () if log.is_room_wanted() => COMPACTING_LIVE_PART_MAX,
            () => CLEANING_LIVE_PART_MAX,
        };
        let segments = self.shrinkable(most);
        let dead: u64 = segments.iter().map(|(live, _)| 1024 - live).sum();
        let (live, slot) = segments.into_iter().min()?;
        (live == 0 || dead + self.room_at_hand() >= CLEANING_GAIN_MIN).then_some(slot)
    }

    /// The segments that cleaning may gain from, each with its live part, which is less than
    /// `most`.
    fn shrinkable(&self, most: u64) -> Vec<(u64, u32)> {
        let log = self.log();
        let is_short = log.is_short_of_tombstone_slots();
        // Where tombstones wait for slots, only what gives its slot back with what is told next.
        let room = log.tombstone_room() / BESIDE_PART;
        let are_told =
            |slot| (log.tombstones).would_tell(&self.tombstones_of_older_copies(slot), room);
        let gives_back = |slot: &u32| !is_short || are_told(*slot);
        self.settled_slots()
            .filter(|&slot| self.can_shrink(slot))
            .filter(gives_back)
            .map(|slot| (self.live_part(slot), slot))
            .filter(|&(live, _)| live < most)
            .collect()
    }

    /// Room, in 1024ths of a segment, that what is moved finds before it takes another slot.
    fn room_at_hand(&self) -> u64 {
        match self.log().room_in_open() {
            Some(room) => room,
            // A segment has to be written for tombstones anyway.
            None if self.slots_untold() > 0 || self.log().is_short_of_tombstone_slots() => 1024,
            None => 0,
        }
    }

    /// Whether moving what is alive in a segment can leave anything behind. Where nothing has died
    /// since it was filled there is nothing to be gained, however much room it may have left: it
    /// was too little for the next item. So everything that is moved without gain is moved once,
    /// and cleaning comes to an end.
    fn can_shrink(&self, slot: u32) -> bool {
        let log = self.log();
        let state = log.slots.slot(slot);
        let Some(table) = log.slots.table(self.guard(), slot) else {
            return false;
        };
        if state.live_items() == 0 {
            // What only tells of tombstones costs little to be told again, and others of the kind
            // may tell of tombstones in it.
            return true;
        }
        let has_room = table.is_partial && state.run() == 1;
        has_room || self.has_died(slot)
    }

    /// Whether something has died in a segment since it was filled.
    fn has_died(&self, slot: u32) -> bool {
        let state = self.log().slots.slot(slot);
        let table = self.log().slots.table(self.guard(), slot);
        let records = table.map_or(0, |table| table.table_offset - HEADER_BYTES as u64);
        state.live_bytes() < records || state.is_expired(self.owner.now())
    }

    /// What is alive of a segment, with its part of the item table, in 1024ths of its size; 0 if
    /// all has expired.
    fn live_part(&self, slot: u32) -> u64 {
        let log = self.log();
        let state = log.slots.slot(slot);
        let items = u64::from(state.live_items());
        if items > 0 && state.is_expired(self.owner.now()) {
            return 0;
        }
        if state.run() > 1 && items > 0 {
            // It has one item: moving it gains nothing.
            return 1024;
        }
        let bytes = match items {
            0 => self.tombstones_needed(slot) * (TOMBSTONE_COPIES * TOMBSTONE_BYTES) as u64,
            _ => state.live_bytes() + items * ENTRY_BYTES as u64,
        };
        // Even what only tells of few tombstones needs a place for them.
        (bytes * 1024 / log.slots.segment_bytes()).max(1)
    }

    fn oldest(&self) -> Option<u32> {
        let slots = &self.log().slots;
        self.settled_slots()
            .filter(|&slot| slots.slot(slot).live_items() > 0)
            .min_by_key(|&slot| slots.slot(slot).sequence())
    }
}
