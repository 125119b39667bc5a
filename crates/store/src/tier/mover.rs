//! What is alive in a segment moves to another one, or is dropped.

use super::assembler::{Appended, Incoming, Source};
use super::flusher::Flusher;
use super::format::{Tombstone, record_item};
use super::options::TierEventKind;
use super::reads::Removed;
use crate::core::Core;
use crate::device::{BUFFER_ALIGNMENT, Buffer};
use crate::index::Location;
use crate::item::RawItem;
use crate::schedule::Instant;
use crate::schedule::thread;
use std::io;
use std::time::Duration;

/// How long moving waits for the device before it gives up.
const BUSY_MAX: Duration = Duration::from_secs(10);

/// Pauses before a segment that cannot be read, or whose records do not bear their checksums, is
/// read again. What it holds is lost if that is in vain, so a device gets time to recover.
const READ_PAUSES: [Duration; 3] = [
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(100),
];

/// What becomes of the live items of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// All move to another segment.
    Keep,
    /// Items read of late move, up to half a segment of them; all others are dropped. So each slot
    /// gained costs at most one slot written, also where everything has been read of late.
    KeepRead,
    /// All are dropped.
    Drop,
}

/// What became of one item of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moved {
    /// It has been moved, or dropped.
    Left,
    /// It had died before, of which has been told, or cannot be read.
    NotFound,
    /// There will be room when the device has caught up.
    Busy,
    /// There is no room.
    Full,
}

/// Half a segment.
const KEPT_PART: u64 = 2;

impl Fate {
    /// Bytes that may move.
    fn budget(self, segment_bytes: u64) -> u64 {
        match self {
            Fate::Keep => u64::MAX,
            Fate::KeepRead => segment_bytes / KEPT_PART,
            Fate::Drop => 0,
        }
    }
}

/// How emptying a segment goes.
pub(super) struct Leaving {
    fate: Fate,
    /// Bytes that may still move.
    budget: u64,
    /// Items that have left it, of which no tombstone tells yet.
    items: Vec<u32>,
}

impl Leaving {
    pub fn new(fate: Fate, segment_bytes: u64) -> Leaving {
        Leaving {
            fate,
            budget: fate.budget(segment_bytes),
            items: Vec::new(),
        }
    }
}

impl Core {
    /// Points the index at the copy of an item on a device, in place of the item; false if that is
    /// not wanted any more.
    fn redirect(&self, hash: u64, key: &[u8], from: Location, to: Location) -> bool {
        let tier = self.tier.as_ref().expect("a store with a tier");
        let chain = self.index.lock(hash);
        let Some(slot) = chain.place_of(from) else {
            return false;
        };
        // A flush or fence that begins behind this line voids the copy in its segment as well.
        if tier.is_void(self, from, key) {
            return false;
        }
        // A client may have been told to recache it since its fields were read.
        if tier.is_win_sent(from) {
            tier.claim_win(to);
        }
        let older_copies = tier.slots.slot(from.slot()).tombstones_before();
        let segment = tier.slots.slot(to.slot());
        segment.raise_tombstones_before(older_copies);
        chain.replace(slot, to);
        tier.remove_live(from);
        true
    }
}

impl Flusher {
    /// Moves or drops what is alive in a segment, and retires it. False if the items have nowhere
    /// to go.
    pub(super) fn clean(&mut self, slot: u32, fate: Fate) -> bool {
        let tier = self.tier();
        let Some(table) = tier.slots.table(slot) else {
            return false;
        };
        if tier.slots.slot(slot).live_items() == 0 {
            self.retire_slot(slot);
            return true;
        }
        let bytes = (table.table_offset as usize).next_multiple_of(BUFFER_ALIGNMENT);
        let mut buffer = tier.write_pool.take(bytes);
        let mut leaving = Leaving::new(fate, tier.slots.segment_bytes());
        for pause in READ_PAUSES.into_iter().map(Some).chain([None]) {
            let read = self.read_segment(slot, &mut buffer[..bytes]);
            if read.is_ok() && !self.move_live(slot, &buffer, &mut leaving) {
                return false;
            }
            if self.tier().slots.slot(slot).live_items() == 0 {
                break;
            }
            match (pause, read) {
                (Some(pause), _) => thread::sleep(pause),
                (None, Err(error)) => self.note_unreadable(slot, &error),
                // Its records do not bear their checksums.
                (None, Ok(())) => {}
            }
        }
        self.drop_unreadable(slot);
        self.retire_slot(slot);
        true
    }

    fn read_segment(&self, slot: u32, buffer: &mut [u8]) -> io::Result<()> {
        let tier = self.tier();
        let device = tier.slots.device_of(slot);
        let read = tier.devices[device].read_at(buffer, tier.slots.offset_of(slot));
        tier.note_read_result(device, read.is_ok());
        read
    }

    fn note_unreadable(&self, slot: u32, error: &io::Error) {
        let tier = self.tier();
        tier.counters.read_errors.add(1);
        let name = tier.devices[tier.slots.device_of(slot)].name();
        tier.events
            .tell_error(TierEventKind::ReadFailed, &name, error);
    }

    /// Moves (or drops) each item of a segment to which the index points; `buffer` holds the
    /// segment. False if items have nowhere to go. What has left a segment that is retired
    /// afterwards needs no tombstone of its own.
    pub(super) fn move_live(&mut self, slot: u32, buffer: &Buffer, leaving: &mut Leaving) -> bool {
        let started = Instant::now();
        let table = self.tier().slots.table(slot);
        let items = table.map_or(0, |table| table.room());
        for item in 0..items {
            if self.tier().slots.slot(slot).live_items() == 0 {
                break;
            }
            let location = Location::on_device(slot, item);
            loop {
                match self.move_one(location, buffer, leaving) {
                    Moved::Left => break leaving.items.push(item),
                    Moved::NotFound => break,
                    Moved::Full => return self.give_up(slot, leaving),
                    Moved::Busy if started.elapsed() > BUSY_MAX || !self.has_prospects() => {
                        return self.give_up(slot, leaving);
                    }
                    Moved::Busy => {
                        // What clients do meanwhile may become durable before the segment's
                        // tombstone does.
                        self.tell_left(slot, leaving);
                        self.pump_one();
                    }
                }
            }
        }
        true
    }

    /// The segment stays, but what has left it is dead there.
    fn give_up(&self, slot: u32, leaving: &mut Leaving) -> bool {
        self.tell_left(slot, leaving);
        false
    }

    /// Notes the tombstones of items that have left a segment.
    fn tell_left(&self, slot: u32, leaving: &mut Leaving) {
        if let Some(table) = self.tier().slots.table(slot) {
            let write_number = table.write_number;
            for item in leaving.items.drain(..) {
                self.tier()
                    .tombstones
                    .carry(Tombstone { write_number, item });
            }
        }
    }

    fn move_one(&self, location: Location, buffer: &Buffer, leaving: &mut Leaving) -> Moved {
        let tier = self.tier();
        let Some(table) = tier.slots.table(location.slot()) else {
            return Moved::NotFound;
        };
        let record = table.record(location.item());
        let place = record.start as usize..record.end as usize;
        let part = buffer.get(place).unwrap_or_default();
        let Some(item) = record_item(part, table.write_number, location.item()) else {
            return Moved::NotFound;
        };
        // SAFETY: the record is whole, so an item lies there as it was written; the buffer outlives
        // the use, and records are aligned to 4.
        let raw = unsafe { RawItem::at(item.as_ptr()) };
        let hash = self.core.hash(raw.key());
        if !self.core.index.has(hash, location) {
            return Moved::NotFound;
        }
        let is_visible = tier.is_visible(&self.core, location, raw.key(), self.core.now());
        let is_wanted = || table.is_read_of_late(location.item(), tier.window());
        let bytes = part.len() as u64;
        let is_kept = leaving.fate == Fate::Keep || (bytes <= leaving.budget && is_wanted());
        if !is_visible || !is_kept {
            self.core.forget_version(raw);
            self.drop_item(hash, location, is_visible);
            return Moved::Left;
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
        let redirect = |to| self.core.redirect(hash, raw.key(), location, to);
        match tier.append(&self.core, &incoming, Source::Cleaner, redirect) {
            Appended::Done => {
                leaving.budget = leaving.budget.saturating_sub(bytes);
                Moved::Left
            }
            // It has died, or a flush has voided it since it was looked at, which has forgotten all
            // versions.
            Appended::Gone if self.drop_item(hash, location, false) => Moved::Left,
            Appended::Gone => Moved::NotFound,
            Appended::Busy => Moved::Busy,
            Appended::Full => Moved::Full,
        }
    }

    /// False if the index does not point there any more.
    fn drop_item(&self, hash: u64, location: Location, is_visible: bool) -> bool {
        let removed = self.core.remove_device_entry(hash, location, false);
        if removed == Removed::Item {
            let events = self.core.flusher_events();
            events.removed.add(1);
            if is_visible {
                self.tier().counters.evictions.add(1);
                events.evicted.add(1);
            } else {
                events.expired.add(1);
            }
        }
        removed != Removed::Nothing
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
        self.core.versions.forget_all();
        let level = self.core.index.scan_level();
        for class in 0..1 << level {
            self.core.resume_flusher();
            self.core
                .index
                .remove_class(class, level, |location, chain| {
                    let is_lost = location.is_on_device() && is_lost(location);
                    if is_lost {
                        self.tier().remove_live(location);
                        self.core.note_entries(-1);
                    }
                    // What is in memory as well is still there.
                    if is_lost && !self.core.is_shadow(location, chain) {
                        self.tier().counters.items_lost.add(1);
                        self.core.flusher_events().removed.add(1);
                    }
                    is_lost
                });
            self.core.suspend_flusher();
        }
    }
}

#[cfg(test)]
mod tests;
