//! What callers can learn of durability.

use super::StoreHandle;
use crate::dirty::DurableMark;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

impl StoreHandle {
    /// A mark behind everything that this handle has done so far. With [`crate::Durability::Sync`]
    /// it becomes durable soon; with the others, once the mark's memory has been written out or the
    /// store has been shut down, which nobody is told of.
    pub fn durable_mark(&self) -> DurableMark {
        match &self.core.tier {
            Some(tier) if tier.is_sync() => {
                let mark = self.core.dirty.mark();
                tier.wake();
                mark
            }
            _ => DurableMark(0),
        }
    }

    /// Whether everything before a mark is durable.
    pub fn is_durable(&self, mark: DurableMark) -> bool {
        self.core.tier.is_none() || mark.0 <= self.core.dirty.durable()
    }

    /// Whether what was done right before a mark never becomes durable, because no device is in
    /// service any more. With [`crate::Durability::Sync`] it has been dropped then: the keys that
    /// it changed have no item, but where they have been stored anew since.
    pub fn is_lost(&self, mark: DurableMark) -> bool {
        self.core.tier.is_some() && mark.0 <= self.core.dirty.lost() && !self.is_durable(mark)
    }

    /// Shows the descriptor that becomes readable when something has become durable or never will,
    /// or when there may be room for a request that waits for it ([`StoreHandle::poll_reads`]
    /// tells); read 8 bytes from it before looking with [`StoreHandle::is_durable`] and
    /// [`StoreHandle::is_lost`]. None without a tier.
    ///
    /// # Errors
    /// The system's, where it has no descriptors left.
    pub fn with_durable_descriptor<R>(
        &self,
        then: impl FnOnce(BorrowedFd<'_>) -> R,
    ) -> io::Result<Option<R>> {
        if self.core.tier.is_none() {
            return Ok(None);
        }
        let mut event = self.reads.durable_event.borrow_mut();
        if event.is_none() {
            *event = Some(self.core.bell.subscribe()?);
        }
        Ok(event.as_ref().map(|event| then(event.as_fd())))
    }
}
