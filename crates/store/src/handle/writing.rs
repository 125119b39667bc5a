//! Writing items where they will lie.

use super::StoreHandle;
use crate::item::{Fields, Layout};
use crate::segment::{Placed, Written};
use farcache_base::time::Seconds;

impl StoreHandle {
    /// Room for an item of this layout, for this thread alone until it is published.
    pub(crate) fn place(&self, layout: &Layout, expiry: Seconds) -> Option<Placed> {
        let floor = self.core.floor_for_new();
        let mut writer = self.writer.borrow_mut();
        writer.place(&self.core.arena, layout, expiry, self.now(), floor)
    }

    /// Writes an item whose value is the parts in a row.
    ///
    /// # Safety
    /// The place was given to this handle for an item of this layout, which is that of the fields,
    /// the key and the parts.
    #[inline]
    pub(crate) unsafe fn write(
        &self,
        placed: Placed,
        layout: Layout,
        fields: &Fields,
        key: &[u8],
        parts: [&[u8]; 3],
    ) -> Written<'_> {
        let (arena, now) = (&self.core.arena, self.now());
        // SAFETY: by this function's contract; the handle's next quiescent point takes it mutably.
        unsafe { Written::new(arena, placed, layout, fields, key, parts, now) }
    }

    /// As [`StoreHandle::write`], where that costs little beside the rest.
    ///
    /// # Panics
    /// Where the layout is not that of the fields, the key and the value, or not the place's.
    pub(crate) fn write_checked(
        &self,
        placed: Placed,
        layout: Layout,
        fields: &Fields,
        key: &[u8],
        value: &[u8],
    ) -> Written<'_> {
        assert_eq!(layout, fields.layout(key.len(), value.len()));
        assert_eq!(layout.size(), placed.size());
        // SAFETY: just asserted; a place is given to one alone.
        unsafe { self.write(placed, layout, fields, key, [value, &[], &[]]) }
    }

    /// What was written is not stored.
    pub(crate) fn give_back(&self, written: Written<'_>) {
        let mut writer = self.writer.borrow_mut();
        writer.unplace(&self.core.arena, written.into_placed());
    }
}
