//! Giving an item another expiry.

use super::rewrite::{Part, Rewrite, RewriteEnd};
use crate::handle::Item;
use crate::handle::StoreHandle;
use crate::options::Access;
use crate::suspended::Interrupt;
use farcache_base::time::Seconds;
use std::convert::Infallible;

impl StoreHandle {
    /// Gives an item a new expiry and returns it; its CAS token stays.
    ///
    /// # Errors
    /// [`Interrupt`]: an item that had no expiry, or lies on a device, must be rewritten to get
    /// one.
    pub fn touch(
        &self,
        key: &[u8],
        expiry: Seconds,
        access: Access,
    ) -> Result<Option<Item<'_>>, Interrupt> {
        self.enter();
        let hash = self.core.hash(key);
        match self.touch_in_place(hash, key, expiry, access) {
            Touched::Done(item) => return Ok(Some(item)),
            Touched::Absent => return Ok(None),
            Touched::NoRoom => {}
        }
        let end = self.rewrite(hash, key, access, |item| {
            let mut fields = self.core.fields_for_copy(item.location(), item.raw());
            fields.win_sent |= item.is_win_sent();
            fields.expiry = expiry;
            let (before, after) = (Part::EMPTY, Part::EMPTY);
            Ok::<_, Infallible>(Rewrite {
                fields,
                before,
                keeps_value: true,
                after,
            })
        })?;
        Ok(match end {
            RewriteEnd::Done(item) => Some(item),
            RewriteEnd::Refused(never) => match never {},
            RewriteEnd::Absent => None,
        })
    }

    fn touch_in_place(
        &self,
        hash: u64,
        key: &[u8],
        expiry: Seconds,
        access: Access,
    ) -> Touched<'_> {
        let chain = self.core.index.lock(hash);
        let entry = self.entry(&chain, key);
        let Some(entry) = entry.filter(|entry| entry.is_visible) else {
            return Touched::Absent;
        };
        let Some(item) = entry
            .item
            .filter(|_| self.core.changes_in_place(entry.location))
        else {
            return Touched::NoRoom;
        };
        self.core.arena.meta_of(entry.location).note_expiry(expiry);
        if !item.set_expiry(expiry) {
            return Touched::NoRoom;
        }
        let location = entry.location;
        if let Some(shadow) = entry.shadow {
            self.core.kill_shadow(entry.guard, &chain, shadow);
            drop(chain);
            self.note_entries(-1);
        }
        Touched::Done(self.found(location, item, access))
    }
}

/// How a touch in place ended.
enum Touched<'h> {
    Done(Item<'h>),
    Absent,
    /// The item has no field for an expiry, or lies where it cannot be changed.
    NoRoom,
}
