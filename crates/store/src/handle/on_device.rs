//! Looking up what lies on a device, and bringing it back to memory.

use super::{Item, Purpose, StoreHandle};
use crate::core::Entry;
use crate::index::{Location, LockedChain};
use crate::item::RawItem;
use crate::options::Access;
use crate::suspended::Suspended;

/// Looks for an item on devices that has been moved each time before it was found.
const LOOKS_MAX: u32 = 64;

impl StoreHandle {
    /// Looks up a key that is not in memory, and may be on a device.
    #[cold]
    pub(super) fn get_on_device(
        &self,
        hash: u64,
        key: &[u8],
        access: Access,
        purpose: Purpose,
    ) -> Result<Option<Item<'_>>, Suspended> {
        let Some(tier) = self.core.tier.as_ref() else {
            return Ok(None);
        };
        for _ in 0..LOOKS_MAX {
            let mut suspect = None;
            let found = self.look_on_device(hash, key, access, purpose, &mut suspect)?;
            // Of a segment that was emptied meanwhile: the index has had another entry by then for
            // each item that was alive there.
            let has_left =
                suspect.is_some_and(|location| !tier.has_segment_of(self.guard(), location));
            if !has_left || found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Looks once. `suspect` is where the first entry pointed that may be the key's.
    fn look_on_device(
        &self,
        hash: u64,
        key: &[u8],
        access: Access,
        purpose: Purpose,
        suspect: &mut Option<Location>,
    ) -> Result<Option<Item<'_>>, Suspended> {
        enum Met<'h> {
            InMemory(Item<'h>),
            OnDevice(Location),
        }
        let Some(tier) = self.core.tier.as_ref() else {
            return Ok(None);
        };
        let fingerprint = tier.fingerprint(key);
        let met = self.core.index.find(hash, |location| {
            if !location.is_on_device() {
                return self.accept(location, key, access).map(Met::InMemory);
            }
            let there = tier.fingerprint_at(self.guard(), location);
            if there.is_none_or(|there| there == fingerprint) {
                suspect.get_or_insert(location);
            }
            there
                .is_some_and(|there| there == fingerprint)
                .then_some(Met::OnDevice(location))
        });
        let location = match met {
            None => return Ok(None),
            Some(Met::InMemory(item)) => return Ok(Some(item)),
            Some(Met::OnDevice(location)) => location,
        };
        let core = &self.core;
        if !core.is_alive_on_device(self.guard(), location, self.now())
            || core.is_void_unread(location, key)
        {
            self.note_invisible_if(tier.is_expired(self.guard(), location, self.now()));
            return Ok(None);
        }
        if !tier.is_readable(location) {
            self.lose(hash, location);
            return Ok(None);
        }
        // SAFETY: this lookup has found the location in the index.
        let Some(item) = (unsafe { self.at_hand(location) }) else {
            self.want(hash, location)?;
            return Ok(None);
        };
        if !item.has_key(key) || self.core.is_void_on_device(location, item) {
            return Ok(None);
        }
        if access == Access::Use {
            self.core.admission.note_read(hash, item.state());
        }
        let is_read_again = access == Access::Use && tier.note_read(self.guard(), location);
        let is_wanted = is_read_again || access == Access::Use && self.core.has_spare_room();
        if is_wanted && purpose == Purpose::Read {
            let promoted = self.promote(hash, location, item);
            if promoted.is_some() {
                return Ok(promoted);
            }
        }
        Ok(Some(Item::new(self, location, item, item.state())))
    }

    /// Copies an item on a device that is at hand to memory, if there is room at once.
    fn promote(&self, hash: u64, location: Location, item: RawItem<'_>) -> Option<Item<'_>> {
        if self.core.is_low() {
            return None;
        }
        let tier = self.core.tier.as_ref()?;
        let mut fields = item.fields();
        fields.win_sent |= tier.is_win_sent(self.guard(), location);
        let layout = fields.layout(item.key().len(), item.value().len());
        if !self.has_room(layout.size(), fields.expiry) {
            return None;
        }
        let placed = self.place(&layout, fields.expiry)?;
        let written = self.write_checked(placed, layout, &fields, item.key(), item.value());
        let copy = written.item();
        copy.inherit_state(item.state(), 0);
        _ = copy.note_use(self.now());
        let chain = self.core.index.lock(hash);
        let is_wanted = chain.place_of(location).is_some()
            && fields.win_sent == (item.is_win_sent() || tier.is_win_sent(self.guard(), location))
            && self
                .core
                .is_visible_on_device(self.guard(), location, item, self.now())
            && self.in_memory(&chain, item.key()).is_none();
        // SAFETY: the copy has been written there, and its room is given back only where that
        // fails.
        if !is_wanted || !unsafe { chain.insert(written.location()) } {
            drop(chain);
            self.give_back(written);
            return None;
        }
        let meta = self.core.arena.meta(written.head());
        meta.add_live(layout.size());
        drop(chain);
        self.note_entries(1);
        tier.counters().promoted.add(1);
        Some(Item::new(self, written.location(), copy, item.state()))
    }

    /// The entry of a key that is not in memory, in its locked chain.
    #[cold]
    pub(super) fn entry_on_device<'c, 'l>(
        &'c self,
        chain: &'l LockedChain<'c>,
        key: &[u8],
    ) -> Option<Entry<'c, 'l>> {
        let tier = self.core.tier.as_ref()?;
        let fingerprint = tier.fingerprint(key);
        let (slot, location) = chain.find(|location| {
            location.is_on_device() && tier.has_fingerprint(self.guard(), location, fingerprint)
        })?;
        // SAFETY: the locked chain has the location.
        let item = unsafe { self.at_hand(location) };
        let (core, guard) = (&self.core, self.guard());
        // Whoever asks for versions asks for them again when it has been read.
        let is_void = match item {
            Some(item) => core.is_void_on_device(location, item),
            None => core.is_void_without_version(location, key),
        };
        let is_alive = !is_void && core.is_alive_on_device(guard, location, self.now());
        let is_visible = is_alive && tier.is_readable(location);
        Some(Entry {
            guard,
            slot,
            location,
            item,
            shadow: None,
            is_visible,
        })
    }
}
