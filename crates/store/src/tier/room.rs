//! Requests that need room in memory which only the devices can make: they wait as those that need reads do,
//! instead of holding up their thread.

use super::PROGRESS_WAIT;
use crate::handle::StoreHandle;
use std::cell::Cell;

/// What a handle knows of the room that its requests wait for.
#[derive(Default)]
pub(crate) struct RoomNeeds {
    /// Its user asks after each request whether it must wait.
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
    /// From now on a request that finds no room in memory, because the devices have yet to take what lies there, ends
    /// as one that needs reads does ([`StoreHandle::needs_reads`]); its reads are complete when there is room. Without
    /// this call it waits within the operation.
    ///
    /// Values larger than a segment may still wait within, for segments in a row.
    pub fn let_requests_await_room(&self) {
        self.reads.room.is_allowed.set(true);
    }

    /// Waits a moment for the devices. Nothing borrowed from the store may be in use.
    pub(super) fn wait_for_room(&self) {
        if let Some(tier) = &self.core.tier {
            self.go_offline();
            tier.flusher.wait_for_progress(PROGRESS_WAIT);
        }
    }

    /// Whether the request is to wait outside for `run` free segments; noted then.
    pub(crate) fn awaits_room(&self, run: u32) -> bool {
        let needs = &self.reads.room;
        let awaits =
            needs.is_allowed.get() && !needs.is_in_vain.get() && self.core.can_await_room(run);
        if awaits {
            needs.wanted.set(run.max(needs.wanted.get()));
            self.reads.set_needs();
            if let Some(tier) = &self.core.tier {
                tier.counters.waits.add(1);
            }
        }
        awaits
    }
}
