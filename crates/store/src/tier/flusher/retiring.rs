//! From a dead segment to a slot that can be written again.

use super::Flusher;
use crate::tier::assembler::DEATH_SLOTS;
use crate::tier::format::Death;
use crate::tier::table::Table;
use std::sync::Arc;

/// A slot that may be overwritten once its death is durable and readers have moved on.
pub(super) struct Waiting {
    head: u32,
    run: u32,
    death: u64,
    epoch: u64,
}

impl Flusher {
    /// Empties a slot whose segment nobody can find any more, and carries its deaths on.
    pub(in crate::tier) fn retire_slot(&mut self, slot: u32) {
        let tier = self.tier();
        let Some(table) = tier.slots.table(slot) else {
            return;
        };
        let write_number = table.write_number;
        for death in self.deaths_to_carry(table) {
            tier.deaths.note(*death);
        }
        tier.deaths.note_end(write_number);
        let waiting = Waiting {
            head: slot,
            run: tier.slots.slot(slot).run(),
            death: tier.deaths.noted(),
            epoch: self.core.epochs.retire(),
        };
        tier.slots.empty(slot, || self.core.epochs.retire());
        self.physical.dead.insert(write_number);
        self.waiting.push_back(waiting);
    }

    /// Deaths that a segment tells of and that must go on being told when it is no more.
    pub(in crate::tier) fn deaths_to_carry<'t>(
        &'t self,
        table: &'t Table,
    ) -> impl Iterator<Item = &'t Death> {
        let deaths = table.deaths.iter();
        deaths
            .filter(|death| death.write_number != table.write_number && self.physical.needs(death))
    }

    /// Slots dropped when the store was opened, whose deaths are yet to be written.
    pub(in crate::tier) fn adopt_dropped(&mut self) {
        let dropped = std::mem::take(&mut *self.tier().dropped.lock().expect("no holder panics"));
        for (head, run) in dropped {
            self.waiting.push_back(Waiting {
                head,
                run,
                death: self.tier().deaths.noted(),
                epoch: 0,
            });
        }
    }

    pub(super) fn release_slots(&mut self) {
        let durable = self.deaths_durable;
        let core = Arc::clone(&self.core);
        let tier = core.tier.as_ref().expect("a store with a tier");
        tier.slots.free_tables(&core.epochs);
        let before = self.waiting.len();
        self.waiting.retain(|waiting| {
            let is_free = waiting.death <= durable && core.epochs.has_passed(waiting.epoch);
            if is_free {
                tier.slots.release(waiting.head, waiting.run);
            }
            !is_free
        });
        if self.waiting.len() < before {
            tier.flusher.tell_progress();
        }
    }

    /// Slots that are free as soon as what was handed over is durable.
    pub(in crate::tier) fn slots_told_of(&self) -> u32 {
        let told = self.tier().deaths.told();
        let waiting = self.waiting.iter().filter(|waiting| waiting.death <= told);
        waiting.map(|waiting| waiting.run).sum()
    }

    /// Slots that wait for deaths of which no segment tells yet.
    pub(in crate::tier) fn slots_untold(&self) -> u32 {
        let told = self.tier().deaths.told();
        let waiting = self.waiting.iter().filter(|waiting| waiting.death > told);
        waiting.map(|waiting| waiting.run).sum()
    }

    /// Those of them whose deaths the next segment has room for, with all that must be told before; where there is a slot beside the
    /// last one, all of them. Should the last slot be used without giving another one back, nothing could be written any more.
    pub(in crate::tier) fn slots_tellable(&self) -> u32 {
        let tier = self.tier();
        if tier.slots.counts().0 > DEATH_SLOTS {
            return self.slots_untold();
        }
        let (told, room) = (tier.deaths.told(), tier.death_room());
        let is_tellable = |waiting: &&Waiting| {
            waiting.death > told && tier.deaths.pending_through(waiting.death) <= room
        };
        let tellable = self.waiting.iter().filter(is_tellable);
        tellable.map(|waiting| waiting.run).sum()
    }
}
