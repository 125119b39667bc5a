//! From a dead segment to a slot that can be written again.

use super::Flushed;
use super::Flusher;
use crate::format::Tombstone;
use crate::log::TOMBSTONE_SLOTS;
use crate::table::Table;
use crate::tombstones::TombstoneCounts;
use std::sync::Arc;

/// A slot that may be overwritten once certain tombstones are durable and readers have moved on.
///
/// These are the end of its segment; what the segment told of and must go on being told; and the
/// tombstones of older copies of its items, which at a recovery nothing but the segment would hide.
pub(super) struct Waiting {
    head: u32,
    run: u32,
    pub(super) tombstones: TombstoneCounts,
    epoch: u64,
}

impl<O: Flushed> Flusher<O> {
    /// Empties a slot whose segment nobody can find any more, and carries its tombstones on.
    pub(crate) fn retire_slot(&mut self, slot: u32) {
        let log = self.log();
        let Some(table) = log.slots.table(self.guard(), slot) else {
            return;
        };
        let write_number = table.write_number;
        let older_copies = self.tombstones_of_older_copies(slot);
        for tombstone in self.tombstones_to_carry(table) {
            log.tombstones.carry(*tombstone);
        }
        log.tombstones.note_end(write_number);
        let waiting = Waiting {
            head: slot,
            run: log.slots.slot(slot).run(),
            tombstones: TombstoneCounts {
                single: older_copies.single,
                ..log.tombstones.noted()
            },
            epoch: self.owner.epochs().retire(),
        };
        log.slots.empty(slot, self.owner.epochs());
        self.physical.dead.insert(write_number);
        self.waiting.push_back(waiting);
    }

    /// Tombstones that must be told before the slot of a segment comes free, because of older
    /// copies of its items.
    pub(crate) fn tombstones_of_older_copies(&self, slot: u32) -> TombstoneCounts {
        let single = self.log().slots.slot(slot).tombstones_before();
        TombstoneCounts {
            single: single.max(self.tombstones_at_start.single),
            ..TombstoneCounts::default()
        }
    }

    /// Tombstones that a segment tells of and that must go on being told when it is no more.
    pub(crate) fn tombstones_to_carry<'t>(
        &'t self,
        table: &'t Table,
    ) -> impl Iterator<Item = &'t Tombstone> {
        let tombstones = table.tombstones.iter();
        tombstones.filter(|tombstone| {
            tombstone.write_number != table.write_number && self.physical.needs(tombstone)
        })
    }

    /// Takes over the slots that were held when the store was opened.
    pub(super) fn adopt_held(&mut self) {
        let held = std::mem::take(&mut *self.log().held.lock().expect("no holder panics"));
        for (head, run) in held {
            self.waiting.push_back(Waiting {
                head,
                run,
                tombstones: self.log().tombstones.noted(),
                epoch: 0,
            });
        }
    }

    pub(super) fn release_slots(&mut self) {
        let durable = *self.progress.durable_tombstones();
        let owner = Arc::clone(&self.owner);
        let log = owner.log();
        log.slots.free_tables(self.owner.epochs());
        let before = self.waiting.len();
        self.waiting.retain(|waiting| {
            let is_free =
                durable.cover(&waiting.tombstones) && owner.epochs().has_passed(waiting.epoch);
            if is_free {
                log.slots.release(waiting.head, waiting.run);
            }
            !is_free
        });
        if self.waiting.len() < before {
            log.flusher.tell_progress();
        }
    }

    /// Slots that are free as soon as what was handed over is durable.
    pub(crate) fn slots_told_of(&self) -> u32 {
        let told = self.log().tombstones.told();
        self.slots_waiting(|tombstones| told.cover(tombstones))
    }

    /// Slots that wait for tombstones of which no segment tells yet.
    pub(crate) fn slots_untold(&self) -> u32 {
        let told = self.log().tombstones.told();
        self.slots_waiting(|tombstones| !told.cover(tombstones))
    }

    /// Slots that wait for tombstones for which the next segment has room.
    pub(crate) fn slots_told_by_next(&self) -> u32 {
        let (tombstones, room) = (&self.log().tombstones, self.log().tombstone_room());
        let told = tombstones.told();
        self.slots_waiting(|waiting| !told.cover(waiting) && tombstones.would_tell(waiting, room))
    }

    /// Slots of which no segment tells yet and that may be counted on. Should the last slot be used
    /// without giving another one back, nothing could be written any more; where there is a slot
    /// beside it, all of them.
    pub(crate) fn slots_tellable(&self) -> u32 {
        match self.log().slots.counts().0 > TOMBSTONE_SLOTS {
            true => self.slots_untold(),
            false => self.slots_told_by_next(),
        }
    }

    fn slots_waiting(&self, are_right: impl Fn(&TombstoneCounts) -> bool) -> u32 {
        let waiting = self.waiting.iter();
        let right = waiting.filter(|waiting| are_right(&waiting.tombstones));
        right.map(|waiting| waiting.run).sum()
    }
}
