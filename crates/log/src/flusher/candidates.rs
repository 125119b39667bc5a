//! Which segments may be cleaned or evicted, and what that gains.

use super::Flushed;
use super::Flusher;
use crate::format::{ENTRY_BYTES, HEADER_BYTES, TOMBSTONE_BYTES, TOMBSTONE_COPIES};
use crate::log::Log;
use crate::slots::SlotState;

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
/// Tombstones told beside what is moved: one part in this many of a segment's room for them.
const BESIDE_PART: usize = 8;

/// The segments as the flusher sees them now.
pub(super) struct Candidates<'f, O> {
    pub log: &'f Log,
    flusher: &'f Flusher<O>,
}

impl<'f, O: Flushed> Candidates<'f, O> {
    pub fn of(flusher: &'f Flusher<O>) -> Self {
        Candidates {
            log: flusher.log(),
            flusher,
        }
    }

    /// Segments that are durable, on devices in service.
    pub fn settled(&self) -> impl Iterator<Item = u32> + use<'f, O> {
        let (slots, flusher) = (&self.log.slots, self.flusher);
        (0..slots.count()).filter(|&slot| {
            slots.slot(slot).state() == SlotState::Written
                && slots.is_in_service(slot)
                && flusher.is_settled(slot)
        })
    }

    /// The segment to be cleaned next; none where cleaning gains nothing.
    pub fn sparsest(&self) -> Option<u32> {
        let log = self.log;
        // Not once a slot comes back for the one that the tombstones take.
        let needs_slots =
            log.pressure.is_short_of_tombstone_slots() && self.flusher.slots_told_by_next() == 0;
        let most = match () {
            () if log.evicts => CLEANING_LIVE_PART_MAX,
            () if needs_slots => TOMBSTONES_LIVE_PART_MAX,
            () if log.pressure.is_room_wanted() => COMPACTING_LIVE_PART_MAX,
            () => CLEANING_LIVE_PART_MAX,
        };
        let segments = self.shrinkable(most);
        let dead: u64 = segments.iter().map(|(live, _)| 1024 - live).sum();
        let (live, slot) = segments.into_iter().min()?;
        (live == 0 || dead + self.room_at_hand() >= CLEANING_GAIN_MIN).then_some(slot)
    }

    /// The segment to be evicted next.
    pub fn oldest(&self) -> Option<u32> {
        let slots = &self.log.slots;
        self.settled()
            .filter(|&slot| slots.slot(slot).live_items() > 0)
            .min_by_key(|&slot| slots.slot(slot).sequence())
    }

    /// The segments that cleaning may gain from, each with its live part, which is less than
    /// `most`.
    pub fn shrinkable(&self, most: u64) -> Vec<(u64, u32)> {
        let log = self.log;
        let is_short = log.pressure.is_short_of_tombstone_slots();
        // Where tombstones wait for slots, only what gives its slot back with what is told next.
        let room = log.tombstone_room() / BESIDE_PART;
        let are_told = |slot| {
            (log.tombstones).would_tell(&self.flusher.tombstones_of_older_copies(slot), room)
        };
        let gives_back = |slot: &u32| !is_short || are_told(*slot);
        self.settled()
            .filter(|&slot| self.can_shrink(slot))
            .filter(gives_back)
            .map(|slot| (self.live_part(slot), slot))
            .filter(|&(live, _)| live < most)
            .collect()
    }

    /// Room, in 1024ths of a segment, that what is moved finds before it takes another slot.
    fn room_at_hand(&self) -> u64 {
        match self.log.room_in_open() {
            Some(room) => room,
            // A segment has to be written for tombstones anyway.
            None if self.flusher.slots_untold() > 0
                || self.log.pressure.is_short_of_tombstone_slots() =>
            {
                1024
            }
            None => 0,
        }
    }

    /// Whether moving what is alive in a segment can leave anything behind. Where nothing has died
    /// since it was filled there is nothing to be gained, however much room it may have left: it
    /// was too little for the next item. So everything that is moved without gain is moved once,
    /// and cleaning comes to an end.
    fn can_shrink(&self, slot: u32) -> bool {
        let log = self.log;
        let state = log.slots.slot(slot);
        let Some(table) = log.slots.table(self.flusher.guard(), slot) else {
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
    pub fn has_died(&self, slot: u32) -> bool {
        let state = self.log.slots.slot(slot);
        let table = self.log.slots.table(self.flusher.guard(), slot);
        let records = table.map_or(0, |table| table.table_offset - HEADER_BYTES as u64);
        state.live_bytes() < records || state.is_expired(self.flusher.owner.now())
    }

    /// What is alive of a segment, with its part of the item table, in 1024ths of its size; 0 if
    /// all has expired.
    fn live_part(&self, slot: u32) -> u64 {
        let log = self.log;
        let state = log.slots.slot(slot);
        let items = u64::from(state.live_items());
        if items > 0 && state.is_expired(self.flusher.owner.now()) {
            return 0;
        }
        if state.run() > 1 && items > 0 {
            // It has one item: moving it gains nothing.
            return 1024;
        }
        let bytes = match items {
            0 => self.bytes_to_carry(slot),
            _ => state.live_bytes() + items * ENTRY_BYTES as u64,
        };
        // Even what only tells of few tombstones needs a place for them.
        (bytes * 1024 / log.slots.segment_bytes()).max(1)
    }

    /// Bytes that the tombstones take which a segment tells of, and which must go on being told
    /// when it is no more.
    pub fn bytes_to_carry(&self, slot: u32) -> u64 {
        self.tombstones_needed(slot) * (TOMBSTONE_COPIES * TOMBSTONE_BYTES) as u64
    }

    /// How many these are.
    pub fn tombstones_needed(&self, slot: u32) -> u64 {
        let table = self.log.slots.table(self.flusher.guard(), slot);
        table.map_or(0, |table| {
            self.flusher.tombstones_to_carry(table).count() as u64
        })
    }
}
