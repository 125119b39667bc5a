//! One thread's access to the store.

mod batch;
mod durable;
mod found;
mod on_device;
mod presence;
mod reads;
mod room;
mod writing;

pub use found::Item;
pub use reads::ReadId;

use crate::core::{Core, Entry, PinnedValue, StalledValues};
use crate::events::Events;
use crate::index::{Location, LockedChain};
use crate::item::{Layout, RawItem};
use crate::options::{Access, StoreError};
use crate::reclaimer::Room;
use crate::segment::{Queue, RECLAIMER_SEGMENTS, Writer, least_run};
use crate::store::Store;
use crate::suspended::{Interrupt, Suspended};
use farcache_base::time::{START, Seconds};
use farcache_log::Guard;
use presence::Presence;
use reads::Reads;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Changes in the number of entries that a handle reports together.
const ENTRIES_PER_REPORT: i64 = 16;
/// Tries to find room for one item before the store counts as full.
const ROOM_TRIES: u32 = 8;
/// What an item is looked up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be shown: one on a device is worth a copy in memory if it is read again.
    Read,
    /// To be rewritten: its successor lies in memory. A copy of what is on a device could take the
    /// room that has been made for the successor.
    Rewrite,
}

/// One thread's access to the store.
///
/// Items found through a handle borrow from it; [`StoreHandle::quiescent`], which the compiler
/// allows only when none is left, lets others reuse what was deleted. Call it once in every round
/// of the thread's loop, and [`StoreHandle::park`] before sleeping.
pub struct StoreHandle {
    store: Arc<Store>,
    pub(crate) core: Arc<Core>,
    presence: Presence,
    now: Cell<Seconds>,
    /// Items handed out and not dropped: while there are any, the handle may not go offline.
    pub(crate) borrowed: Cell<usize>,
    pub(crate) writer: RefCell<Writer>,
    entries: Cell<i64>,
    pub(crate) reads: Reads,
    /// Something was looked up that may not be durable yet.
    has_seen_undurable: Cell<bool>,
}

impl Store {
    /// Opens a handle for the calling thread.
    ///
    /// # Panics
    /// With more than `handles_max` handles open.
    pub fn handle(self: &Arc<Self>) -> StoreHandle {
        let presence = Presence::join(&self.core.epochs);
        let presence = presence.expect("at most handles_max handles are open");
        StoreHandle::new(Arc::clone(self), Arc::clone(&self.core), presence)
    }
}

impl StoreHandle {
    fn new(store: Arc<Store>, core: Arc<Core>, presence: Presence) -> StoreHandle {
        StoreHandle {
            store,
            core,
            presence,
            now: Cell::new(START),
            borrowed: Cell::new(0),
            writer: RefCell::new(Writer::new(Queue::Probation, RECLAIMER_SEGMENTS)),
            entries: Cell::new(0),
            reads: Reads::default(),
            has_seen_undurable: Cell::new(false),
        }
    }

    /// Takes values that wait for one client, until [`StalledValues::resume`].
    pub fn stall(&self, values: Vec<PinnedValue>) -> StalledValues {
        StalledValues::of(&self.core, values)
    }

    /// How many readers of the store have lost what waited for them so far.
    pub fn readers_given_up(&self) -> u64 {
        self.core.stalled.given_up()
    }

    /// The store behind it.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Tells the handle what time it is; every operation until the next call uses it.
    pub fn set_now(&self, now: Seconds) {
        self.now.set(now);
        self.core.advance_clock(now);
        if self.core.flush.take_due(now) {
            self.flush_all(None);
        }
    }

    /// The time it was told.
    pub fn now(&self) -> Seconds {
        self.now.get()
    }

    /// The thread holds no item: what others deleted may be reused.
    pub fn quiescent(&mut self) {
        self.reads.quiescent();
        self.presence.pass(&self.core.epochs);
    }

    /// The thread will not touch the store until its next operation; call it before sleeping.
    pub fn park(&mut self) {
        self.reads.quiescent();
        self.go_offline();
    }

    pub(crate) fn go_offline(&self) {
        debug_assert_eq!(self.borrowed.get(), 0);
        self.presence.go_offline(&self.core.epochs);
    }

    /// Must come before the first look into the index or the arena in every operation.
    #[inline]
    pub(crate) fn enter(&self) {
        self.presence.enter(&self.core.epochs);
    }

    /// For what looks at devices' tables; of a handle that is online.
    #[inline]
    pub(crate) fn guard(&self) -> Guard<'_> {
        self.presence.guard()
    }

    pub(crate) fn events(&self) -> &Events {
        &self.core.events[self.presence.number()]
    }

    /// Looks a key up.
    ///
    /// # Errors
    /// [`Suspended`], where the item must be read from a device first.
    #[inline]
    pub fn get(&self, key: &[u8], access: Access) -> Result<Option<Item<'_>>, Suspended> {
        self.enter();
        let hash = self.core.hash(key);
        let found = self.get_hashed(hash, key, access);
        self.note_seen(hash);
        found
    }

    /// Counts a use of a key's item, if it lies in memory, as looking it up does: for a part of a
    /// value that was made of others.
    pub fn note_use(&self, key: &[u8]) {
        self.enter();
        let hash = self.core.hash(key);
        let used = |location| self.accept(location, key, Access::Use);
        drop(self.core.index.find(hash, used));
    }

    /// Somebody has looked: what is there, or that nothing is, may not be durable yet.
    #[inline]
    fn note_seen(&self, hash: u64) {
        if self.core.is_sync() && self.core.dirty.is_touched(hash) {
            self.has_seen_undurable.set(true);
        }
    }

    /// Whether something that was looked up since the last call may not be durable yet, with
    /// [`crate::Durability::Sync`]: what it was is durable with the next
    /// [`durable_mark`](Self::durable_mark).
    #[inline]
    pub fn take_seen_undurable(&self) -> bool {
        self.has_seen_undurable.take()
    }

    #[inline]
    pub(crate) fn get_hashed(
        &self,
        hash: u64,
        key: &[u8],
        access: Access,
    ) -> Result<Option<Item<'_>>, Suspended> {
        self.look_up(hash, key, access, Purpose::Read)
    }

    #[inline]
    pub(crate) fn look_up(
        &self,
        hash: u64,
        key: &[u8],
        access: Access,
        purpose: Purpose,
    ) -> Result<Option<Item<'_>>, Suspended> {
        let mut met_device = false;
        let found = self.core.index.find(hash, |location| {
            met_device |= location.is_on_device();
            self.accept(location, key, access)
        });
        if found.is_none() && met_device {
            return self.get_on_device(hash, key, access, purpose);
        }
        Ok(found)
    }

    /// The item at a location in memory, if it has this key and may be seen.
    #[inline]
    fn accept(&self, location: Location, key: &[u8], access: Access) -> Option<Item<'_>> {
        if location.is_on_device() {
            return None;
        }
        // SAFETY: this lookup has found the location in the index, and the item is borrowed from
        // this handle, whose next quiescent point takes it mutably.
        let item = unsafe { self.core.arena.item(location) };
        if !item.has_key(key) {
            return None;
        }
        if !self.core.is_visible(location, item, self.now()) {
            self.note_invisible(item);
            return None;
        }
        Some(self.found(location, item, access))
    }

    /// Where a key's item lies in memory.
    fn in_memory(&self, chain: &LockedChain<'_>, key: &[u8]) -> Option<Location> {
        let is_it = |location: Location| {
            // SAFETY: the locked chain has the location.
            !location.is_on_device() && unsafe { self.core.arena.item(location) }.has_key(key)
        };
        chain.find(is_it).map(|(_, location)| location)
    }

    /// The entry of a key in its locked chain, visible or not.
    pub(crate) fn entry<'c, 'l>(
        &'c self,
        chain: &'l LockedChain<'c>,
        key: &[u8],
    ) -> Option<Entry<'c, 'l>> {
        let core = &self.core;
        let mut met_device = false;
        let found = chain.find(|location| {
            met_device |= location.is_on_device();
            // SAFETY: the locked chain has the location.
            !location.is_on_device() && unsafe { core.arena.item(location) }.has_key(key)
        });
        let Some((slot, location)) = found else {
            return met_device
                .then(|| self.entry_on_device(chain, key))
                .flatten();
        };
        // SAFETY: the locked chain has the location, and the item is borrowed from this handle, as
        // that of `accept`.
        let item = unsafe { core.arena.item(location) };
        Some(Entry {
            guard: self.guard(),
            slot,
            location,
            item: Some(item),
            shadow: core.shadow_of(self.guard(), chain, key),
            is_visible: core.is_visible(location, item, self.now()),
        })
    }

    #[cold]
    fn note_invisible(&self, item: RawItem<'_>) {
        if !item.is_tombstone() {
            self.note_invisible_if(item.is_expired(self.now()));
        }
    }

    fn note_invisible_if(&self, is_expired: bool) {
        let events = self.events();
        if is_expired {
            events.reads_expired.add(1);
        } else {
            events.reads_flushed.add(1);
        }
    }

    /// An item just found, its use noted.
    #[inline]
    pub(crate) fn found<'h>(
        &'h self,
        location: Location,
        item: RawItem<'h>,
        access: Access,
    ) -> Item<'h> {
        let state = match access {
            Access::Use => item.note_use(self.now()),
            Access::Peek => item.state(),
        };
        Item::new(self, location, item, state)
    }

    /// Drops everything stored so far, now or at a later instant.
    pub fn flush_all(&self, at: Option<Seconds>) {
        match at {
            Some(at) if at > self.now() => self.core.flush.schedule(at),
            _ => {
                self.core.flush_now();
            }
        }
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

    fn has_room(&self, size: usize, expiry: Seconds) -> bool {
        let arena = &self.core.arena;
        let mut writer = self.writer.borrow_mut();
        let (now, floor) = (self.now(), self.core.floor_for_new());
        if writer.fits(arena, size, expiry, now, floor)
            || writer.resume(arena, size, expiry, now, floor)
        {
            return true;
        }
        self.core.collect_retired();
        let was_opened = writer.open_for(arena, size, expiry, now);
        if self.core.has_to_reclaim() || arena.wants_backing() {
            self.core.reclaimer.wake();
        }
        was_opened
    }

    /// Reclaims memory. While items are borrowed the handle cannot wait for readers, itself among
    /// them, to leave retired segments.
    fn make_room(&self, size: usize, expiry: Seconds) -> bool {
        if self.borrowed.get() > 0 {
            return false;
        }
        let was_online = self.presence.is_online();
        self.go_offline();
        let run = least_run(&self.core.arena, size);
        let mut room = self.core.make_room(run);
        if run > 1 && matches!(room, Room::None) {
            // What this thread itself has open may stand in the way of a long run. Only then: what
            // is open was written last, and cannot be evicted.
            self.writer.borrow_mut().seal_all(&self.core.arena);
            room = self.core.make_room(run);
        }
        if was_online {
            self.enter();
        }
        match room {
            Room::None => return false,
            Room::Free => {}
            Room::Run(open) => {
                let mut writer = self.writer.borrow_mut();
                writer.adopt_run(&self.core.arena, open, size, expiry, self.now());
            }
        }
        true
    }

    /// Accounts for a change in the number of entries.
    pub(crate) fn note_entries(&self, change: i64) {
        let entries = self.entries.get() + change;
        if entries.abs() < ENTRIES_PER_REPORT {
            self.entries.set(entries);
            return;
        }
        self.entries.set(0);
        self.core.note_entries(entries);
    }
}

impl Drop for StoreHandle {
    fn drop(&mut self) {
        self.note_short(false);
        self.writer.borrow_mut().seal_all(&self.core.arena);
        self.core.note_entries(self.entries.get());
        debug_assert_eq!(self.borrowed.get(), 0);
        self.presence.leave(&self.core.epochs);
    }
}
