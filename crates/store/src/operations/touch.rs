//! Giving an item another expiry.

use super::rewrite::{Part, Rewrite, RewriteEnd};
use crate::found::Item;
use crate::handle::StoreHandle;
use crate::options::{Access, StoreError};
use farcache_base::time::Seconds;
use std::convert::Infallible;

impl StoreHandle {
    /// Gives an item a new expiry and returns it; its CAS token stays.
    ///
    /// # Errors
    /// [`StoreError::OutOfMemory`]: an item that had no expiry must be rewritten to get one.
    pub fn touch(
        &self,
        key: &[u8],
        expiry: Seconds,
        access: Access,
    ) -> Result<Option<Item<'_>>, StoreError> {
        self.enter();
        let hash = self.core.hash(key);
        match self.touch_in_place(hash, key, expiry, access) {
            Touched::Done(item) => return Ok(Some(item)),
            Touched::Absent => return Ok(None),
            Touched::NoRoom => {}
        }
        let end = self.rewrite(hash, key, access, |item| {
            let mut fields = self.core.fields_for_copy(item.location(), item.raw());
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
        let entry = self.core.entry(&chain, key, self.now());
        let Some(entry) = entry.filter(|entry| entry.is_visible) else {
            return Touched::Absent;
        };
        self.core.arena.meta_of(entry.location).note_expiry(expiry);
        if !entry.item.set_expiry(expiry) {
            return Touched::NoRoom;
        }
        Touched::Done(self.found(entry.location, entry.item, access))
    }
}

/// How a touch in place ended.
enum Touched<'h> {
    Done(Item<'h>),
    Absent,
    /// The item has no field for an expiry.
    NoRoom,
}
