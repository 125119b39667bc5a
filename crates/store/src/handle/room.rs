//! Room in memory for an item.
//!
//! Requests that need room which only the devices can make are suspended, as requests that need
//! reads are, instead of holding up their thread.

use super::StoreHandle;
use crate::item::Layout;
use crate::options::StoreError;
use crate::reclaimer::Room;
use crate::segment::{Placed, least_run};
use crate::suspended::{Interrupt, Suspended};
use crate::tier::PROGRESS_WAIT;
use farcache_base::time::Seconds;
use std::cell::Cell;

/// Tries to find room for one item before the store counts as full.
const ROOM_TRIES: u32 = 8;

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

    /// Room for an item of this layout, for this thread alone until it is published.
    pub(crate) fn place(&self, layout: &Layout, expiry: Seconds) -> Option<Placed> {
        let floor = self.core.floor_for_new();
        let mut writer = self.writers.for_new();
        writer.place(&self.core.arena, layout, expiry, self.now(), floor)
    }

    /// Room as by [`StoreHandle::place`]; may pass a quiescent point to get it.
    ///
    /// # Errors
    /// As [`StoreHandle::ensure_room`].
    pub(crate) fn place_or_make_room(
        &self,
        layout: &Layout,
        expiry: Seconds,
    ) -> Result<Placed, Interrupt> {
        if let Some(placed) = self.place(layout, expiry) {
            return Ok(placed);
        }
        self.ensure_room(layout, expiry)?;
        Ok(self.place(layout, expiry).ok_or(StoreError::OutOfMemory)?)
    }

    /// Room in the main queue for an item that was evicted a short while ago, if it can be had at
    /// once.
    pub(crate) fn place_returned(&self, layout: &Layout, expiry: Seconds) -> Option<Placed> {
        let arena = &self.core.arena;
        let (now, floor) = (self.now(), self.core.floor_for_new());
        let mut writer = self.writers.for_returned(arena, layout.size())?;
        writer.place(arena, layout, expiry, now, floor).or_else(|| {
            arena.collect(&self.core.epochs);
            let placed = writer.place_or_open(arena, layout, expiry, now, floor);
            self.wake_if_short();
            placed
        })
    }

    /// Makes sure that [`StoreHandle::place`] finds room for an item of this layout. May pass a
    /// quiescent point: what the caller read from the store before is void.
    ///
    /// # Errors
    /// [`StoreError::OutOfMemory`], or [`Suspended`] where the devices have yet to make room.
    pub(crate) fn ensure_room(&self, layout: &Layout, expiry: Seconds) -> Result<(), Interrupt> {
        let size = layout.size();
        for _ in 0..ROOM_TRIES {
            if self.has_room(size, expiry) {
                return Ok(());
            }
            self.suspend_for_room(least_run(&self.core.arena, size))?;
            if !self.make_room(size, expiry) {
                break;
            }
        }
        self.events().out_of_memory.add(1);
        Err(StoreError::OutOfMemory.into())
    }

    pub(super) fn has_room(&self, size: usize, expiry: Seconds) -> bool {
        let arena = &self.core.arena;
        let mut writer = self.writers.for_new();
        let (now, floor) = (self.now(), self.core.floor_for_new());
        if writer.fits(arena, size, expiry, now, floor)
            || writer.resume(arena, size, expiry, now, floor)
        {
            return true;
        }
        arena.collect(&self.core.epochs);
        let was_opened = writer.open_for(arena, size, expiry, now);
        self.wake_if_short();
        was_opened
    }

    /// Wakes the store's own thread if it has something to do for writers.
    fn wake_if_short(&self) {
        if self.core.has_to_reclaim() || self.core.arena.wants_backing() {
            self.core.reclaimer.wake();
        }
    }

    /// Reclaims memory. While items are borrowed the handle cannot wait for readers, itself among
    /// them, to leave retired segments.
    fn make_room(&self, size: usize, expiry: Seconds) -> bool {
        if self.borrowed.get() > 0 {
            return false;
        }
        let was_online = self.is_online.get();
        self.go_offline();
        let run = least_run(&self.core.arena, size);
        let mut room = self.core.make_room(run);
        if run > 1 && matches!(room, Room::None) {
            // What this thread itself has open may stand in the way of a long run. Only then: what
            // is open was written last, and cannot be evicted.
            self.writers.seal_all(&self.core.arena);
            room = self.core.make_room(run);
        }
        if was_online {
            self.enter();
        }
        if let Room::Run(head) = room {
            let mut writer = self.writers.for_new();
            writer.adopt_run(&self.core.arena, head, size, expiry, self.now());
        }
        !matches!(room, Room::None)
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
