//! What is alive in a segment moves to another one, or is dropped.

use super::Flushed;
use super::Flusher;
use crate::device::{BUFFER_ALIGNMENT, Buffer};
use crate::format::{Tombstone, record_item};
use crate::item::RawItem;
use crate::location::Location;
use crate::options::TierEventKind;
use crate::owner::{Moved, Wish};
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

impl<O: Flushed> Flusher<O> {
    /// Moves or drops what is alive in a segment, and retires it. False if the items have nowhere
    /// to go.
    pub(super) fn clean(&mut self, slot: u32, fate: Fate) -> bool {
        let log = self.log();
        let Some(table) = log.slots.table(self.guard(), slot) else {
            return false;
        };
        if log.slots.slot(slot).live_items() == 0 {
            self.retire_slot(slot);
            return true;
        }
        let bytes = (table.table_offset as usize).next_multiple_of(BUFFER_ALIGNMENT);
        let mut buffer = log.write_pool.take(bytes);
        let mut leaving = Leaving::new(fate, log.slots.segment_bytes());
        for pause in READ_PAUSES.into_iter().map(Some).chain([None]) {
            let read = self.read_segment(slot, &mut buffer[..bytes]);
            if read.is_ok() && !self.move_live(slot, &buffer, &mut leaving) {
                return false;
            }
            if self.log().slots.slot(slot).live_items() == 0 {
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
        let log = self.log();
        let device = log.slots.device_of(slot);
        let read = log.devices[device].read_at(buffer, log.slots.offset_of(slot));
        log.note_read_result(device, read.is_ok());
        read
    }

    fn note_unreadable(&self, slot: u32, error: &io::Error) {
        let log = self.log();
        log.counters.read_errors.add(1);
        let name = log.devices[log.slots.device_of(slot)].name();
        log.events
            .tell_error(TierEventKind::ReadFailed, &name, error);
    }

    /// Moves (or drops) each item of a segment to which the index points; `buffer` holds the
    /// segment. False if items have nowhere to go. What has left a segment that is retired
    /// afterwards needs no tombstone of its own.
    pub(super) fn move_live(&mut self, slot: u32, buffer: &Buffer, leaving: &mut Leaving) -> bool {
        let started = Instant::now();
        let table = self.log().slots.table(self.guard(), slot);
        let items = table.map_or(0, |table| table.room());
        for item in 0..items {
            if self.log().slots.slot(slot).live_items() == 0 {
                break;
            }
            let location = Location::on_device(slot, item);
            loop {
                match self.move_one(location, buffer, leaving) {
                    Moved::Kept | Moved::Dropped => break leaving.items.push(item),
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
        if let Some(table) = self.log().slots.table(self.guard(), slot) {
            let write_number = table.write_number;
            for item in leaving.items.drain(..) {
                self.log()
                    .tombstones
                    .carry(Tombstone { write_number, item });
            }
        }
    }

    fn move_one(&self, location: Location, buffer: &Buffer, leaving: &mut Leaving) -> Moved {
        let log = self.log();
        let Some(table) = log.slots.table(self.guard(), location.slot()) else {
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
        let is_wanted = || table.is_read_of_late(location.item(), log.window());
        let bytes = part.len() as u64;
        let is_kept = leaving.fate == Fate::Keep || (bytes <= leaving.budget && is_wanted());
        let wish = if is_kept { Wish::Keep } else { Wish::Drop };
        let moved = self.owner.move_item(self.guard(), location, raw, wish);
        if moved == Moved::Kept {
            leaving.budget = leaving.budget.saturating_sub(bytes);
        }
        moved
    }

    /// Takes what points to a device that is gone out of the index.
    pub(super) fn drop_device(&self, device: usize) {
        let slots = self.log().slots.of_device(device);
        self.owner
            .drop_lost(self.guard(), &|location| slots.contains(&location.slot()));
    }

    /// Takes what still points into a segment out of the index: its records cannot be read.
    pub(super) fn drop_unreadable(&self, slot: u32) {
        if self.log().slots.slot(slot).live_items() > 0 {
            self.owner
                .drop_lost(self.guard(), &|location| location.slot() == slot);
        }
    }
}
