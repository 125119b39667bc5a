//! What was read for the request that runs: its operations find it as if it lay in memory.

use super::{ReadId, Reads};
use crate::handle::StoreHandle;
use crate::index::Location;
use crate::item::RawItem;
use farcache_log::{Arrived, Buffer};
use std::sync::Arc;

/// Reads staged for one request, and those of earlier ones that items found may still refer to.
#[derive(Default)]
pub(super) struct Staging {
    /// In the order of their locations.
    staged: Vec<Arrived>,
    leaving: Vec<Arc<Buffer>>,
}

impl Staging {
    fn at(&self, location: Location) -> Option<&Arrived> {
        let place = self
            .staged
            .binary_search_by_key(&location, Arrived::location);
        place.ok().map(|place| &self.staged[place])
    }

    /// All that is staged.
    pub fn staged(&self) -> impl Iterator<Item = Arrived> {
        self.staged.iter().cloned()
    }

    /// Memory of all that is staged, in bytes.
    pub fn staged_bytes(&self) -> usize {
        self.staged.iter().map(|one| one.buffer().len()).sum()
    }

    /// Nothing found before is in use any longer.
    pub fn quiescent(&mut self) {
        if !self.leaving.is_empty() {
            self.leaving.clear();
        }
    }
}

impl Reads {
    /// What a staged item came with.
    pub fn arrived(&self, location: Location, item: RawItem<'_>) -> Option<Arrived> {
        let staging = self.staging.borrow();
        let arrived = staging.at(location)?;
        (arrived.item() == item).then(|| arrived.clone())
    }
}

impl StoreHandle {
    /// The item at a location on a device, if it is at hand: in a buffer not yet written, or read
    /// and staged.
    ///
    /// # Safety
    /// The location was found in the index since this handle's last quiescent point.
    pub(crate) unsafe fn at_hand(&self, location: Location) -> Option<RawItem<'_>> {
        let tier = self.core.tier.as_ref()?;
        // SAFETY: by this function's contract.
        let in_buffer = unsafe { tier.in_buffer(self.guard(), location) };
        if in_buffer.is_some() {
            return in_buffer;
        }
        let write_number = tier.write_number_at(self.guard(), location)?;
        let staging = self.reads.staging.borrow();
        let arrived = staging.at(location)?;
        // SAFETY: what was staged is kept, if not as staged then as leaving, until the next
        // quiescent point, and that takes the handle mutably.
        (arrived.write_number() == write_number).then(|| unsafe { arrived.item().outliving() })
    }

    /// Lets operations find what was read for a request, as if it lay in memory, until
    /// [`StoreHandle::unstage`].
    pub fn stage(&self, id: ReadId) {
        let staged = &mut self.reads.staging.borrow_mut().staged;
        let is_in_vain = self.reads.sets.borrow_mut().take(id, staged);
        self.reads.room.set_in_vain(is_in_vain);
        staged.sort_unstable_by_key(Arrived::location);
    }

    /// The request has run: what was staged is found no longer. Items found stay valid until the
    /// next quiescent point, and pinned values as long as they are pinned.
    pub fn unstage(&self) {
        self.reads.room.set_in_vain(false);
        let Staging { staged, leaving } = &mut *self.reads.staging.borrow_mut();
        leaving.extend(staged.drain(..).map(Arrived::into_buffer));
    }
}
