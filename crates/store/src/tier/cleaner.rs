//! Getting slots back: from segments in which nothing is alive, by cleaning, by eviction.

use super::assembler::{Appended, CLEANER_SLOTS, Incoming, Source};
use super::flusher::Flusher;
use super::format::{Death, record_item};
use super::options::TierEventKind;
use super::slots::SlotState;
use crate::device::{BUFFER_ALIGNMENT, Buffer};
use crate::index::Location;
use crate::item::RawItem;
use std::time::{Duration, Instant};

/// Part of all slots that is kept free, and its bounds.
const STOCK_PART: u32 = 32;
const STOCK_MIN: u32 = 2;
const STOCK_MAX: u32 = 64;
/// A segment with a larger live part, in 1024ths, is not worth cleaning: each byte gained would cost more than three
/// written. A cache does better to give up the oldest.
const CLEANING_LIVE_PART_MAX: u64 = 768;
/// The same where nothing may be evicted and somebody waits for room.
const COMPACTING_LIVE_PART_MAX: u64 = 1000;
/// Dead parts of all segments worth cleaning, in 1024ths of a segment, from which on cleaning them frees one: the eighth
/// is what tables and deaths may take.
const CLEANING_GAIN_MIN: u64 = 1024 + 128;
/// Segments cleaned before the flusher looks after its writes again.
const CLEANED_PER_TURN: u32 = 4;
/// How long cleaning waits for the device before it gives up.
const BUSY_MAX: Duration = Duration::from_secs(10);

/// What becomes of the live items of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// All move to another segment.
    Keep,
    /// Those read of late move, the others are dropped.
    KeepRead,
}

impl super::Tier {
    /// Free slots that are kept ready.
    fn slots_wanted(&self) -> u32 {
        (self.slots.count() / STOCK_PART).clamp(STOCK_MIN, STOCK_MAX) + CLEANER_SLOTS
    }

    /// Whether slots are needed so badly that everything possible must be done at once.
    pub(super) fn is_short(&self) -> bool {
        let (free, waiting) = self.slots.counts();
        waiting > 0 && free < self.slots_wanted()
    }
}

impl Flusher {
    /// Retires the segments in which nothing is alive any longer and that tell of no death that matters.
    pub(super) fn retire_dead_slots(&mut self) {
        for slot in 0..self.tier().slots.count() {
            let state = self.tier().slots.slot(slot);
            let is_dead = state.state() == SlotState::Written && state.live_items() == 0;
            if is_dead && self.deaths_needed(slot) == 0 {
                self.retire_slot(slot);
            }
        }
    }

    /// Deaths that a segment tells of and that must go on being told.
    fn deaths_needed(&self, slot: u32) -> u64 {
        let table = self.tier().slots.table(slot);
        let deaths = table.map(|table| &table.deaths[..]).unwrap_or_default();
        let is_needed = |death: &&Death| self.physical.numbers.contains(&death.write_number);
        deaths.iter().filter(is_needed).count() as u64
    }

    /// Cleans, or evicts, until enough slots are free or will be.
    ///
    /// A slot counts only once the death of its segment has been handed over for writing. That happens when the
    /// segment that takes the items is full, so that sparse segments are put together instead of each
    /// moving alone.
    pub(super) fn keep_slots_free(&mut self) {
        if self.tier().slots.devices_in_service() == 0 {
            return;
        }
        if !self.has_enough_slots() {
            self.retire_dead_slots();
        }
        // Only then have even dense segments been put together.
        let is_thorough = self.core.config.evict || self.tier().is_room_wanted();
        let mut cleaned = 0;
        while !self.has_enough_slots() && cleaned < CLEANED_PER_TURN && self.clean_one() {
            cleaned += 1;
        }
        if cleaned == CLEANED_PER_TURN {
            // There may be more: the writes come first.
            self.tier().flusher.wake();
            return;
        }
        let is_urgent = self.tier().is_room_wanted() || self.is_scarce();
        if !self.has_enough_slots() && (is_urgent || self.core.config.evict) {
            self.write_deaths_for_slots();
        }
        self.note_fullness(is_thorough && cleaned == 0);
    }

    fn has_enough_slots(&self) -> bool {
        let (free, _) = self.tier().slots.counts();
        free + self.slots_told_of() >= self.tier().slots_wanted()
    }

    /// Whether hardly anything but what cleaning needs for itself is free.
    fn is_scarce(&self) -> bool {
        self.tier().slots.counts().0 <= CLEANER_SLOTS
    }

    /// The device is full when nothing was gained and nothing is on its way that may be gained from.
    fn note_fullness(&self, has_found_nothing: bool) {
        let (free, waiting) = self.tier().slots.counts();
        let nothing_comes = has_found_nothing && waiting == 0 && self.is_idle();
        self.tier().set_full(self.is_scarce() && nothing_comes);
        if free > CLEANER_SLOTS + 1 {
            self.tier().set_room_wanted(false);
        }
    }

    /// Writes deaths if slots become free by that.
    pub(super) fn write_deaths_for_slots(&mut self) {
        let tier = self.tier();
        let is_due = self.waits_for_deaths() && tier.deaths.pending() > 0;
        if is_due && tier.flusher.queued() == 0 {
            tier.open_for_deaths(&self.core, Source::Deaths);
            tier.seal_open();
        }
    }

    /// False if nothing is worth cleaning and nothing may be evicted.
    fn clean_one(&mut self) -> bool {
        if let Some(slot) = self.sparsest() {
            self.tier().counters.segments_cleaned.add(1);
            return self.clean(slot, Fate::Keep);
        }
        // Before anything live is dropped, what is dead already is made use of.
        if !self.core.config.evict || self.waits_for_deaths() {
            return false;
        }
        let Some(slot) = self.oldest() else {
            return false;
        };
        self.tier().counters.segments_evicted.add(1);
        self.clean(slot, Fate::KeepRead)
    }

    fn written_slots(&self) -> impl Iterator<Item = u32> + '_ {
        let slots = &self.tier().slots;
        (0..slots.count()).filter(|&slot| {
            slots.slot(slot).state() == SlotState::Written && slots.is_in_service(slot)
        })
    }

    /// The segment to be cleaned next; none where cleaning gains nothing.
    fn sparsest(&self) -> Option<u32> {
        let tier = self.tier();
        // What only tells of deaths gives way only where it must: they would have to be told again.
        let is_candidate =
            |slot: &u32| tier.is_room_wanted() || tier.slots.slot(*slot).live_items() > 0;
        // A run has one item: moving it gains nothing.
        let is_gain = |live: u64, slot: u32| live == 0 || tier.slots.slot(slot).run() == 1;
        let may_be_dense = !self.core.config.evict && tier.is_room_wanted();
        let most = if may_be_dense {
            COMPACTING_LIVE_PART_MAX
        } else {
            CLEANING_LIVE_PART_MAX
        };
        let segments: Vec<(u64, u32)> = self
            .written_slots()
            .filter(is_candidate)
            .map(|slot| (self.live_part(slot), slot))
            .filter(|&(live, slot)| live < most && is_gain(live, slot))
            .collect();
        let dead: u64 = segments.iter().map(|(live, _)| 1024 - live).sum();
        let (live, slot) = segments.into_iter().min()?;
        // The live part of a single segment would fill as much of the next one, which would be cleaned in its turn.
        (live == 0 || dead >= CLEANING_GAIN_MIN).then_some(slot)
    }

    /// Live bytes of a segment in 1024ths of its size; 0 if all has expired.
    fn live_part(&self, slot: u32) -> u64 {
        let tier = self.tier();
        let state = tier.slots.slot(slot);
        if state.live_items() == 0 || state.is_expired(self.core.now()) {
            return 0;
        }
        if state.run() > 1 {
            return 1024;
        }
        state.live_bytes() * 1024 / tier.slots.segment_bytes()
    }

    fn oldest(&self) -> Option<u32> {
        let slots = &self.tier().slots;
        self.written_slots()
            .min_by_key(|&slot| slots.slot(slot).sequence())
    }

    /// Moves or drops what is alive in a segment, and retires it. False if the items have nowhere to go.
    fn clean(&mut self, slot: u32, fate: Fate) -> bool {
        let tier = self.tier();
        let Some(table) = tier.slots.table(slot) else {
            return false;
        };
        if tier.slots.slot(slot).live_items() == 0 {
            self.retire_slot(slot);
            return true;
        }
        let bytes = (table.table_offset as usize).next_multiple_of(BUFFER_ALIGNMENT);
        let device = tier.slots.device_of(slot);
        let mut buffer = tier.write_pool.take(bytes);
        let read = tier.devices[device].read_at(&mut buffer[..bytes], tier.slots.offset_of(slot));
        if let Err(error) = read {
            tier.counters.read_errors.add(1);
            let name = tier.devices[device].name();
            tier.events
                .tell_error(TierEventKind::ReadFailed, &name, &error);
            buffer.fill(0);
        }
        if !self.move_live(slot, &buffer, fate) {
            return false;
        }
        self.drop_unreadable(slot);
        self.retire_slot(slot);
        true
    }

    /// Moves (or drops) each item of a segment to which the index points; `buffer` holds the segment. False if
    /// items have nowhere to go.
    pub(super) fn move_live(&mut self, slot: u32, buffer: &Buffer, fate: Fate) -> bool {
        let started = Instant::now();
        let items = self
            .tier()
            .slots
            .table(slot)
            .map_or(0, |table| table.room());
        for item in 0..items {
            if self.tier().slots.slot(slot).live_items() == 0 {
                break;
            }
            loop {
                match self.move_one(Location::on_device(slot, item), buffer, fate) {
                    Appended::Done | Appended::Gone => break,
                    Appended::Full => return self.give_up(slot, item),
                    Appended::Busy if started.elapsed() > BUSY_MAX => {
                        return self.give_up(slot, item);
                    }
                    Appended::Busy => self.pump_one(),
                }
            }
        }
        true
    }

    /// The segment stays, but what has left it so far is dead there.
    fn give_up(&self, slot: u32, items: u32) -> bool {
        if let Some(table) = self.tier().slots.table(slot) {
            let write_number = table.write_number;
            // Some of these died before and are told of twice; that does no harm.
            for item in 0..items {
                self.tier().deaths.note(Death { write_number, item });
            }
        }
        false
    }

    fn move_one(&self, location: Location, buffer: &Buffer, fate: Fate) -> Appended {
        let tier = self.tier();
        let Some(table) = tier.slots.table(location.slot()) else {
            return Appended::Gone;
        };
        let record = table.record(location.item());
        let place = record.start as usize..record.end as usize;
        let part = buffer.get(place).unwrap_or_default();
        let Some(item) = record_item(part, table.write_number, location.item()) else {
            return Appended::Gone;
        };
        // SAFETY: the record is whole, so an item lies there as it was written; the buffer outlives the
        // use, and records are aligned to 4.
        let raw = unsafe { RawItem::at(item.as_ptr()) };
        let hash = self.core.hash(raw.key());
        let found = self
            .core
            .index
            .find(hash, |found| (found == location).then_some(()));
        if found.is_none() {
            return Appended::Gone;
        }
        let is_visible = tier.is_visible(&self.core, location, self.core.now());
        let is_kept = fate == Fate::Keep || table.is_read_of_late(location.item(), tier.window());
        if !is_visible || !is_kept {
            self.drop_item(hash, location, is_visible);
            return Appended::Gone;
        }
        let mut fields = raw.fields();
        fields.expiry = table.expiry(location.item());
        fields.win_sent |= table.is_win_sent(location.item());
        let incoming = Incoming {
            hash,
            key: raw.key(),
            value: raw.value(),
            fields,
            state: raw.state(),
        };
        tier.append(&self.core, &incoming, Source::Cleaner, |to| {
            self.redirect(hash, location, to)
        })
    }

    fn redirect(&self, hash: u64, from: Location, to: Location) -> bool {
        let chain = self.core.index.lock(hash);
        let Some(slot) = chain.place_of(from) else {
            return false;
        };
        // A client may have been told to recache it since its fields were read.
        if self.tier().is_win_sent(from) {
            self.tier().claim_win(to);
        }
        chain.replace(slot, to);
        self.tier().remove_live(from);
        true
    }

    fn drop_item(&self, hash: u64, location: Location, is_visible: bool) {
        if self.core.remove_device_entry(hash, location) {
            let events = self.core.flusher_events();
            events.removed.add(1);
            if is_visible {
                self.tier().counters.evictions.add(1);
                events.evicted.add(1);
            } else {
                events.expired.add(1);
            }
        }
    }

    /// Takes what points to a device that is gone out of the index.
    pub(super) fn drop_device(&self, device: usize) {
        let slots = self.tier().slots.of_device(device);
        self.drop_all(|location| slots.contains(&location.slot()));
    }

    /// Takes what still points into a segment out of the index: its records cannot be read.
    pub(super) fn drop_unreadable(&self, slot: u32) {
        if self.tier().slots.slot(slot).live_items() > 0 {
            self.drop_all(|location| location.slot() == slot);
        }
    }

    fn drop_all(&self, is_lost: impl Fn(Location) -> bool) {
        let level = self.core.index.scan_level();
        for class in 0..1 << level {
            self.core.index.remove_class(class, level, |location| {
                let is_lost = location.is_on_device() && is_lost(location);
                if is_lost {
                    self.tier().remove_live(location);
                    self.tier().counters.items_lost.add(1);
                    self.core.flusher_events().removed.add(1);
                    self.core.note_entries(-1);
                }
                is_lost
            });
        }
    }
}
