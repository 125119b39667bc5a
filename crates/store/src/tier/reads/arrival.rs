//! What a read has brought: verified, or an item less.

use super::ticket::Ticket;
use crate::core::Core;
use crate::device::{Buffer, Memory, Outcome};
use crate::handle::StoreHandle;
use crate::index::Location;
use crate::item::RawItem;
use crate::tier::Tier;
use crate::tier::format::{RECORD_HEADER_BYTES, record_item};
use crate::tier::options::TierEventKind;
use std::sync::Arc;

/// A value that has arrived.
#[derive(Clone)]
pub(super) struct Arrived {
    pub location: Location,
    pub write_number: u64,
    pub buffer: Arc<Buffer>,
    item_offset: usize,
}

impl Arrived {
    /// The item, as long as the buffer is kept.
    pub fn item(&self) -> RawItem {
        // SAFETY: the record was verified when it arrived, so an item lies there; it is read only
        // from then on, and handles keep the buffer until their next quiescent point.
        unsafe { RawItem::at(self.buffer.address().wrapping_add(self.item_offset)) }
    }
}

impl Tier {
    /// Makes an item usable that another process wrote: its times are told in this one's seconds.
    fn rebase(&self, location: Location, item: RawItem) {
        let Some(table) = self.slots.table(location.slot()) else {
            return;
        };
        if table.epoch_shift != 0 {
            item.rebase(table.expiry(location.item()), table.epoch_shift);
        }
        if table.is_win_sent(location.item()) {
            item.set_win_sent();
        }
    }

    /// Whether the slot still holds what the ticket was for.
    fn is_current(&self, ticket: &Ticket) -> bool {
        let table = self.slots.table(ticket.location.slot());
        table.is_some_and(|table| table.write_number == ticket.write_number)
    }
}

/// What left the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tier) enum Removed {
    /// The entry was not there.
    Nothing,
    /// A copy of an item in memory.
    Shadow,
    /// The item.
    Item,
}

impl Core {
    /// Takes an entry that points to a device out of the index, if it is still there. `is_lost`
    /// where its segment stays and it could not be read: should the device be able to show it after
    /// a restart, when there may have been a newer one, it must not come back.
    pub(in crate::tier) fn remove_device_entry(
        &self,
        hash: u64,
        location: Location,
        is_lost: bool,
    ) -> Removed {
        let tier = self.tier.as_ref().expect("locations on devices need one");
        let chain = self.index.lock(hash);
        let Some(slot) = chain.place_of(location) else {
            return Removed::Nothing;
        };
        let fingerprint = tier
            .slots
            .table(location.slot())
            .map(|table| table.fingerprint(location.item()));
        chain.remove(slot);
        match is_lost {
            true => tier.kill(location),
            false => tier.remove_live(location),
        }
        let is_shadow = chain
            .find(|other| {
                !other.is_on_device()
                    && Some(tier.fingerprint(self.arena.item(other).key())) == fingerprint
            })
            .is_some();
        drop(chain);
        self.note_entries(-1);
        match is_shadow {
            true => Removed::Shadow,
            false => Removed::Item,
        }
    }
}

impl StoreHandle {
    /// What was read, if it is what it should be; else the item leaves the index.
    pub(super) fn verify(&self, ticket: &Ticket, outcome: Outcome) -> Option<Arrived> {
        let tier = self.core.tier.as_ref()?;
        tier.counters.reads.add(1);
        tier.counters.bytes_read.add(ticket.bytes as u64);
        tier.note_read_result(ticket.device, outcome.result.is_ok());
        let Memory::Own(buffer) = outcome.transfer.buffer else {
            return None;
        };
        if let Err(error) = outcome.result {
            self.note_bad_read(ticket, TierEventKind::ReadFailed, &error.to_string());
            return None;
        }
        let record = &buffer[ticket.lead..ticket.lead + ticket.record_bytes];
        let item = record_item(record, ticket.write_number, ticket.location.item());
        if item.is_none() {
            if tier.is_current(ticket) {
                let place = format!("offset {}", ticket.offset);
                self.note_bad_read(ticket, TierEventKind::Corrupt, &place);
            }
            return None;
        }
        let arrived = Arrived {
            location: ticket.location,
            write_number: ticket.write_number,
            item_offset: ticket.lead + RECORD_HEADER_BYTES,
            buffer: Arc::new(buffer),
        };
        if tier.is_current(ticket) {
            tier.rebase(ticket.location, arrived.item());
        }
        Some(arrived)
    }

    fn note_bad_read(&self, ticket: &Ticket, kind: TierEventKind, detail: &str) {
        let Some(tier) = self.core.tier.as_ref() else {
            return;
        };
        let counter = match kind {
            TierEventKind::Corrupt => &tier.counters.checksum_errors,
            _ => &tier.counters.read_errors,
        };
        counter.add(1);
        let name = tier.devices[ticket.device].name();
        tier.events.tell(kind, &name, detail);
        if tier.is_current(ticket) {
            self.lose(ticket.hash, ticket.location);
        }
    }

    /// An item cannot be read: it is a miss from now on.
    pub(crate) fn lose(&self, hash: u64, location: Location) {
        self.core.forget_version_at(location);
        if let Some(tier) = self.core.tier.as_ref()
            && self.core.remove_device_entry(hash, location, true) == Removed::Item
        {
            tier.counters.items_lost.add(1);
            self.events().removed.add(1);
        }
    }
}
