//! Items as readers see them.

use super::StoreHandle;
use crate::core::PinnedValue;
use crate::index::Location;
use crate::item::{Fields, RawItem, State};
use farcache_base::time::Seconds;
use farcache_base::version::Version;

/// An item as it was found; borrowed until the handle's next quiescent point.
pub struct Item<'h> {
    handle: &'h StoreHandle,
    location: Location,
    raw: RawItem<'h>,
    /// Its use before this lookup.
    state: State,
}

impl<'h> Item<'h> {
    #[inline]
    pub(crate) fn new(
        handle: &'h StoreHandle,
        location: Location,
        raw: RawItem<'h>,
        state: State,
    ) -> Item<'h> {
        handle.borrowed.set(handle.borrowed.get() + 1);
        Item {
            handle,
            location,
            raw,
            state,
        }
    }

    pub(crate) fn location(&self) -> Location {
        self.location
    }

    pub(crate) fn raw(&self) -> RawItem<'h> {
        self.raw
    }

    /// What its header says, with the marks that are kept elsewhere while it is on a device.
    pub(crate) fn fields(&self) -> Fields {
        let mut fields = self.raw.fields();
        fields.win_sent = self.is_win_sent();
        fields
    }

    /// Its key, decoded.
    pub fn key(&self) -> &[u8] {
        self.raw.key()
    }

    /// Its value.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.raw.value()
    }

    /// The client's flags.
    #[inline]
    pub fn flags(&self) -> u32 {
        self.raw.flags()
    }

    /// When it expires.
    pub fn expiry(&self) -> Seconds {
        self.raw.expiry()
    }

    /// Its CAS token, 0 where tokens are off; from now on the token survives moves of the item.
    pub fn cas(&self) -> u64 {
        let core = &self.handle.core;
        if !core.config.cas {
            return 0;
        }
        if !self.raw.is_cas_told() {
            // Under the lock, so that a move either carries the token on or comes first; then the
            // token below fits no item any longer, as if the item had been overwritten.
            let chain = core.index.lock(core.hash(self.raw.key()));
            if chain.place_of(self.location).is_some() {
                self.raw.set_cas_told();
            }
        }
        core.cas_of(self.location, self.raw)
    }

    /// Its CAS token, if some client knows it; nothing is noted.
    pub fn told_token(&self) -> Option<u64> {
        self.raw
            .is_cas_told()
            .then(|| self.told_cas())
            .filter(|cas| *cas > 0)
    }

    /// The version with which it was stored, if it was stored with one.
    pub fn version(&self) -> Option<Version> {
        self.raw.stamp().map(|stamp| stamp.version)
    }

    /// Its CAS token as [`Item::cas`], of an item that the caller has just marked as told.
    pub(crate) fn told_cas(&self) -> u64 {
        let core = &self.handle.core;
        if core.config.cas {
            core.cas_of(self.location, self.raw)
        } else {
            0
        }
    }

    /// Its key is returned base64-encoded.
    pub fn key_is_binary(&self) -> bool {
        self.raw.key_is_binary()
    }

    /// When it was last used before this lookup (stored, if never).
    pub fn last_access(&self) -> Seconds {
        self.state.last_access()
    }

    /// Whether it had been used before this lookup.
    pub fn was_fetched(&self) -> bool {
        self.state.was_fetched()
    }

    /// Whether it is marked stale.
    pub fn is_stale(&self) -> bool {
        self.raw.is_stale()
    }

    /// Whether some client has been told to recache it.
    pub fn is_win_sent(&self) -> bool {
        let is_marked_elsewhere = || {
            let tier = self.handle.core.tier.as_ref();
            tier.is_some_and(|tier| tier.is_win_sent(self.handle.guard(), self.location))
        };
        self.raw.is_win_sent() || self.location.is_on_device() && is_marked_elsewhere()
    }

    /// Claims the right to recache it; true for exactly one caller until it is stored anew.
    pub fn claim_win(&self) -> bool {
        let core = &self.handle.core;
        let chain = core.index.lock(core.hash(self.raw.key()));
        let Some(entry) = self.handle.entry(&chain, self.raw.key()) else {
            return !self.raw.is_win_sent();
        };
        let Some(item) = entry.item.filter(|_| !entry.location.is_on_device()) else {
            let tier = core.tier.as_ref();
            let is_first = tier.is_some_and(|tier| tier.claim_win(entry.guard, entry.location));
            return is_first && !self.raw.is_win_sent();
        };
        let (is_first, location) = (!item.is_win_sent(), entry.location);
        item.set_win_sent();
        if let Some(shadow) = entry.shadow.filter(|_| is_first) {
            core.kill_shadow(entry.guard, &chain, shadow);
            drop(chain);
            self.handle.note_entries(-1);
            core.note_dirty(core.hash(self.raw.key()), location);
        }
        is_first
    }

    /// Bytes that it occupies in memory, header included.
    pub fn size_bytes(&self) -> usize {
        self.raw.layout().size()
    }

    /// Keeps the value in place beyond the quiescent point.
    pub fn pin(&self) -> PinnedValue {
        if self.location.is_on_device() {
            return self.pin_from_device();
        }
        PinnedValue::in_segment(&self.handle.core, self.location, self.raw)
    }

    #[cold]
    fn pin_from_device(&self) -> PinnedValue {
        match self.handle.reads.arrived(self.location, self.raw) {
            Some(arrived) => PinnedValue::in_buffer(arrived),
            // Its segment is just being written.
            None => PinnedValue::copied(self.raw),
        }
    }
}

impl Clone for Item<'_> {
    fn clone(&self) -> Self {
        Item::new(self.handle, self.location, self.raw, self.state)
    }
}

impl Drop for Item<'_> {
    #[inline]
    fn drop(&mut self) {
        self.handle.borrowed.set(self.handle.borrowed.get() - 1);
    }
}
