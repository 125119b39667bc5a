//! From memory to the device.

use crate::core::Core;
use crate::index::Location;
use crate::item::RawItem;
use crate::segment::Queue;
use farcache_log::{Appended, Durability, Guard, Incoming, Log, Source};
use std::time::Duration;

/// How often a thread that waits for the device looks whether it may go on.
pub(crate) const PROGRESS_WAIT: Duration = Duration::from_millis(10);

/// How moving an item from memory to the device ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spilled {
    /// It is in memory no longer.
    Done,
    /// It has changed meanwhile: look at it again.
    Changed,
    /// There will be room when the device has caught up.
    Busy,
    /// There is no room, or items are not to wait for the device.
    Refused,
}

/// How copying an item to the device ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// It has a copy.
    Done,
    /// It is not where it was.
    Gone,
    /// It has changed meanwhile: look at it again.
    Changed,
    /// There is no room.
    NoRoom,
}

impl Core {
    /// An item in memory as the device is to have it: with its token written out.
    fn outgoing<'i>(&self, hash: u64, location: Location, item: RawItem<'i>) -> Incoming<'i> {
        let mut fields = item.fields();
        fields.cas = Some(self.cas_of(location, item));
        Incoming {
            hash,
            key: item.key(),
            value: item.value(),
            fields,
            state: item.state(),
        }
    }

    /// Moves an item of a segment that is being emptied to the device.
    pub fn spill(
        &self,
        guard: Guard<'_>,
        hash: u64,
        location: Location,
        item: RawItem<'_>,
    ) -> Spilled {
        let Some(tier) = self.tier.as_ref().filter(|tier| tier.is_in_service()) else {
            return Spilled::Refused;
        };
        let incoming = self.outgoing(hash, location, item);
        let fields = incoming.fields;
        let publish = |to| {
            let chain = self.index.lock(hash);
            let Some(slot) = chain.place_of(location) else {
                return false;
            };
            let mut fields_now = item.fields();
            fields_now.cas = fields.cas;
            // Marks and expiry change only under this lock; a flush may have begun since, too.
            // It may just have got a copy on the device as well.
            let is_shadowed = self.shadow_of(guard, &chain, item.key()).is_some();
            if fields_now != fields || is_shadowed || !self.survives_flush(location, item) {
                return false;
            }
            // SAFETY: the log tells of the place.
            unsafe { chain.replace(slot, to) };
            true
        };
        match tier.append(self, &incoming, Source::Memory, publish) {
            Appended::Done => {
                let head = self.arena.head_of(location);
                self.admission.note_written(hash, item.state());
                _ = self.arena.meta(head).remove_live(item.layout().size());
                Spilled::Done
            }
            Appended::Gone => Spilled::Changed,
            Appended::Full => Spilled::Refused,
            Appended::Busy if self.evicts_instead_of_waiting(tier) => {
                tier.counters().evictions_device_slow.add(1);
                Spilled::Refused
            }
            Appended::Busy => Spilled::Busy,
        }
    }

    /// Whether an item that leaves memory, from this queue, is worth a place on the devices.
    pub fn is_worth_writing(&self, hash: u64, item: RawItem<'_>, home: Queue) -> bool {
        home == Queue::Main
            || !self.tier.as_ref().is_some_and(Log::is_crowded)
            || self.admission.admits(hash, item.state())
            || self.reclaimer.write_out_until().is_some()
    }

    /// Whether items are dropped where the device is slow: in a pure cache, but not when it is
    /// being closed.
    fn evicts_instead_of_waiting(&self, tier: &Log) -> bool {
        let is_cache = tier.durability() == Durability::Cache;
        is_cache && self.reclaimer.write_out_until().is_none()
    }

    /// Makes a copy of an item in memory on the device, its shadow; the item stays.
    pub fn copy_to_device(&self, guard: Guard<'_>, hash: u64, location: Location) -> Copied {
        let tier = self.tier.as_ref().expect("a store with a tier");
        // Looked up under the lock: of an item that is just being moved within memory the new place
        // has been noted, but is not in the index yet.
        let chain = self.index.lock(hash);
        if chain.place_of(location).is_none() {
            return Copied::Gone;
        }
        // SAFETY: the locked chain has the location, and who copies passes its next quiescent point
        // after that.
        let item = unsafe { self.arena.item(location) };
        // Of a tombstone the devices are told by its version.
        if item.is_tombstone() || self.shadow_of(guard, &chain, item.key()).is_some() {
            return Copied::Done;
        }
        // The copy has the token of this place: it must stay the item's when the item moves.
        if !item.is_cas_told() {
            item.set_cas_told();
        }
        drop(chain);
        let incoming = self.outgoing(hash, location, item);
        let fields = incoming.fields;
        let mut unwanted = Copied::Gone;
        let publish = |to| {
            let chain = self.index.lock(hash);
            if chain.place_of(location).is_none() || !self.survives_flush(location, item) {
                return false;
            }
            let mut fields_now = item.fields();
            fields_now.cas = fields.cas;
            unwanted = match self.shadow_of(guard, &chain, item.key()) {
                Some(_) => Copied::Done,
                None if fields_now != fields => Copied::Changed,
                // SAFETY: the log tells of the place.
                None if unsafe { chain.insert(to) } => {
                    drop(chain);
                    self.note_entries(1);
                    return true;
                }
                None => Copied::NoRoom,
            };
            false
        };
        match tier.append(self, &incoming, Source::Memory, publish) {
            Appended::Done => {
                self.admission.note_written(hash, incoming.state);
                Copied::Done
            }
            Appended::Gone => unwanted,
            Appended::Busy | Appended::Full => Copied::NoRoom,
        }
    }
}
