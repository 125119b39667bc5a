//! Requests that need room in memory which only the devices can make: they are suspended, as
//! requests that need reads are, instead of holding up their thread.

use super::StoreHandle;
use crate::suspended::Suspended;
use crate::tier::PROGRESS_WAIT;
use std::cell::Cell;

/// What a handle knows of the room that its requests wait for.
#[derive(Default)]
pub(crate) struct RoomNeeds {
    /// Its user can suspend requests.
    is_allowed: Cell<bool>,
    /// Segments in a row that the last request needs; 0 where it needs none.
    wanted: Cell<u32>,
    /// Waiting has been in vain for the request that runs now: it takes what it can get at once.
    is_in_vain: Cell<bool>,
}

impl RoomNeeds {
    /// The segments wanted since the last call.
    pub fn take(&self) -> u32 {
        self.wanted.take()
    }

    /// The request that runs next has waited for room; in vain?
    pub fn set_in_vain(&self, is_in_vain: bool) {
        self.is_in_vain.set(is_in_vain);
    }
}

impl StoreHandle {
    /// From now on a request that finds no room in memory, because the devices have yet to take
    /// what lies there, is [`Suspended`] as one that needs reads is; its reads are complete when
    /// there is room. Without this call it waits within the operation.
    ///
    /// Values larger than a segment may still wait within, for segments in a row.
    pub fn let_requests_await_room(&self) {
        self.reads.room.is_allowed.set(true);
    }

    /// Waits a moment for the devices. Nothing borrowed from the store may be in use.
    pub(super) fn wait_for_room(&self) {
        if let Some(tier) = &self.core.tier {
            self.go_offline();
            tier.wait_for_progress(PROGRESS_WAIT);
        }
    }

    /// Notes that the request is to wait for `run` free segments in a row, where it can.
    ///
    /// # Errors
    /// [`Suspended`] then.
    pub(crate) fn suspend_for_room(&self, run: u32) -> Result<(), Suspended> {
        let needs = &self.reads.room;
        let awaits =
            needs.is_allowed.get() && !needs.is_in_vain.get() && self.core.can_await_room(run);
        if !awaits {
            return Ok(());
        }
        needs.wanted.set(run.max(needs.wanted.get()));
        if let Some(tier) = &self.core.tier {
            tier.counters().waits.add(1);
        }
        Err(Suspended::OnDevice)
    }
}
