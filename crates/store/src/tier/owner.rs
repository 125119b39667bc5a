//! What the store does for its log: numbers and epochs, and the index's part when items move.

use crate::core::Core;
use crate::epoch::Epochs;
use crate::index::Location;
use crate::item::RawItem;
use farcache_base::time::{Seconds, is_expired};
use farcache_log::{
    Appended, Fillings, Flushed, Flusher, Guard, Incoming, Log, Moved, Owner, Source, Wish,
};

/// What left the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removed {
    /// The entry was not there.
    Nothing,
    /// A copy of an item in memory.
    Shadow,
    /// The item.
    Item,
}

impl Fillings for Core {
    #[inline]
    fn epochs(&self) -> &Epochs {
        &self.epochs
    }

    fn next_sequence(&self) -> u64 {
        self.arena.next_sequence()
    }

    #[inline]
    fn floor_for_new(&self) -> u64 {
        Core::floor_for_new(self)
    }
}

impl Owner for Core {
    #[inline]
    fn log(&self) -> &Log {
        self.tier.as_ref().expect("a store with a tier")
    }

    fn now(&self) -> Seconds {
        Core::now(self)
    }

    fn flush_floor(&self) -> u64 {
        self.flush.floor()
    }

    fn newest_version(&self) -> u64 {
        self.versions.newest()
    }

    fn untold_version(&self) -> u64 {
        self.versions.untold()
    }

    fn move_item(
        &self,
        guard: Guard<'_>,
        location: Location,
        item: RawItem<'_>,
        wish: Wish,
    ) -> Moved {
        let hash = self.hash(item.key());
        if !self.index.has(hash, location) {
            return Moved::NotFound;
        }
        let is_visible = self.is_visible_on_device(guard, location, item, Core::now(self));
        if !is_visible || wish == Wish::Drop {
            self.forget_version(item);
            self.drop_from_device(guard, hash, location, is_visible);
            return Moved::Dropped;
        }
        let mut fields = item.fields();
        if let Some(expiry) = self.log().expiry_at(guard, location) {
            fields.expiry = expiry;
        }
        fields.win_sent |= self.log().is_win_sent(guard, location);
        let incoming = Incoming {
            hash,
            key: item.key(),
            value: item.value(),
            fields,
            state: item.state(),
        };
        // SAFETY: it is the log that calls it.
        let redirect = |to| unsafe { self.redirect(guard, hash, item, location, to) };
        match self
            .log()
            .append(self, &incoming, Source::Cleaner, redirect)
        {
            Appended::Done => Moved::Kept,
            // It has died, or a flush has voided it since it was looked at, which has forgotten all
            // versions.
            Appended::Gone if self.drop_from_device(guard, hash, location, false) => Moved::Dropped,
            Appended::Gone => Moved::NotFound,
            Appended::Busy => Moved::Busy,
            Appended::Full => Moved::Full,
        }
    }

    fn drop_lost(&self, guard: Guard<'_>, is_lost: &dyn Fn(Location) -> bool) {
        self.versions.forget_all();
        let level = self.index.scan_level();
        for class in 0..1 << level {
            // It looks at items in memory as well.
            let _attendance = self.attend_as_flusher();
            self.index.remove_class(class, level, |location, chain| {
                let is_lost = location.is_on_device() && is_lost(location);
                if is_lost {
                    self.log().remove_live(guard, location);
                    self.note_entries(-1);
                }
                // What is in memory as well is still there.
                if is_lost && !self.is_shadow(guard, location, chain) {
                    self.log().counters().items_lost.add(1);
                    self.flusher_events().removed.add(1);
                }
                is_lost
            });
        }
    }
}

impl Flushed for Core {
    fn turn(flusher: &mut Flusher<Core>) {
        super::persist::persist_dirty(flusher);
    }
}

impl Core {
    /// Whether readers may see an item at a location on a device.
    pub fn is_visible_on_device(
        &self,
        guard: Guard<'_>,
        location: Location,
        item: RawItem<'_>,
        now: Seconds,
    ) -> bool {
        self.is_alive_on_device(guard, location, now) && !self.is_void_on_device(location, item)
    }

    /// Whether an item at a location on a device has not expired.
    pub fn is_alive_on_device(&self, guard: Guard<'_>, location: Location, now: Seconds) -> bool {
        let expiry = self.log().expiry_at(guard, location);
        expiry.is_some_and(|expiry| !is_expired(expiry, now))
    }

    /// Whether a flush or a fence has voided an item at a location on a device.
    pub fn is_void_on_device(&self, location: Location, item: RawItem<'_>) -> bool {
        let sequence = self.log().sequence_at(location);
        sequence <= self.flush.floor() || self.is_fenced(sequence, item)
    }

    /// As [`is_void_on_device`](Self::is_void_on_device), of the item of this key that has not been
    /// read: false where that depends on whether it has a version.
    pub fn is_void_unread(&self, location: Location, key: &[u8]) -> bool {
        let may_have_version = self.log().newest_version_at(location) > 0;
        match may_have_version {
            true => self.log().sequence_at(location) <= self.flush.floor(),
            false => self.is_void_without_version(location, key),
        }
    }

    /// As [`is_void_on_device`](Self::is_void_on_device), if the item of this key has no version.
    pub fn is_void_without_version(&self, location: Location, key: &[u8]) -> bool {
        let sequence = self.log().sequence_at(location);
        sequence <= self.flush.floor() || self.fences.void(sequence, key)
    }

    /// Points the index at the copy of an item on a device, in place of the item; false if that is
    /// not wanted any more.
    ///
    /// # Safety
    /// The log tells of the new place.
    unsafe fn redirect(
        &self,
        guard: Guard<'_>,
        hash: u64,
        item: RawItem<'_>,
        from: Location,
        to: Location,
    ) -> bool {
        let chain = self.index.lock(hash);
        let Some(slot) = chain.place_of(from) else {
            return false;
        };
        // A flush or fence that begins behind this line voids the copy in its segment as well.
        if self.is_void_on_device(from, item) {
            return false;
        }
        self.log().inherit(guard, from, to);
        // SAFETY: by this function's contract.
        unsafe { chain.replace(slot, to) };
        self.log().remove_live(guard, from);
        true
    }

    /// False if the index does not point there any more.
    fn drop_from_device(
        &self,
        guard: Guard<'_>,
        hash: u64,
        location: Location,
        is_visible: bool,
    ) -> bool {
        let removed = self.remove_device_entry(guard, hash, location, false);
        if removed == Removed::Item {
            let events = self.flusher_events();
            events.removed.add(1);
            if is_visible {
                self.log().counters().evictions.add(1);
                events.evicted.add(1);
            } else {
                events.expired.add(1);
            }
        }
        removed != Removed::Nothing
    }

    /// Takes an entry that points to a device out of the index, if it is still there. `is_lost`
    /// where its segment stays and it could not be read: should the device be able to show it after
    /// a restart, when there may have been a newer one, it must not come back.
    pub fn remove_device_entry(
        &self,
        guard: Guard<'_>,
        hash: u64,
        location: Location,
        is_lost: bool,
    ) -> Removed {
        let tier = self.log();
        let chain = self.index.lock(hash);
        let Some(slot) = chain.place_of(location) else {
            return Removed::Nothing;
        };
        let fingerprint = tier.fingerprint_at(guard, location);
        chain.remove(slot);
        match is_lost {
            true => tier.kill(guard, location),
            false => tier.remove_live(guard, location),
        }
        let is_shadow = chain
            .find(|other| {
                // SAFETY: the locked chain has the location.
                let key = || unsafe { self.arena.item(other) }.key();
                !other.is_on_device() && Some(tier.fingerprint(key())) == fingerprint
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

#[cfg(test)]
mod tests;
