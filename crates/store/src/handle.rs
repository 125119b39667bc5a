//! One thread's access to the store.

use crate::BATCH_MAX;
use crate::core::Core;
use crate::events::Events;
use crate::found::Item;
use crate::index::{Hint, Location};
use crate::item::{Layout, RawItem};
use crate::options::{Access, StoreError};
use crate::prefetch::prefetch_line;
use crate::reclaim::Room;
use crate::segment::{Placed, Queue, RECLAIMER_SEGMENTS, Writer, least_run};
use crate::store::Store;
use arrayvec::ArrayVec;
use farcache_base::time::{START, Seconds};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Changes in the number of entries that a handle reports together.
const ENTRIES_PER_REPORT: i64 = 16;
/// Tries to find room for one item before the store counts as full.
const ROOM_TRIES: u32 = 8;

/// One thread's access to the store.
///
/// Items found through a handle borrow from it; [`StoreHandle::quiescent`], which the compiler
/// allows only when none is left, lets others reuse what was deleted. Call it once in every round of
/// the thread's loop, and [`StoreHandle::park`] before sleeping.
pub struct StoreHandle {
    store: Arc<Store>,
    pub(crate) core: Arc<Core>,
    participant: usize,
    is_online: Cell<bool>,
    now: Cell<Seconds>,
    /// Items handed out and not dropped: while there are any, the handle may not go offline.
    pub(crate) borrowed: Cell<usize>,
    pub(crate) writer: RefCell<Writer>,
    entries: Cell<i64>,
}

impl StoreHandle {
    /// A handle for the participant place just joined.
    pub(crate) fn new(store: Arc<Store>, core: Arc<Core>, participant: usize) -> StoreHandle {
        StoreHandle {
            store,
            core,
            participant,
            is_online: Cell::new(false),
            now: Cell::new(START),
            borrowed: Cell::new(0),
            writer: RefCell::new(Writer::new(Queue::Probation, RECLAIMER_SEGMENTS)),
            entries: Cell::new(0),
        }
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
        if self.is_online.get() {
            self.core.epochs.pass(self.participant);
        }
    }

    /// The thread will not touch the store until its next operation; call it before sleeping.
    pub fn park(&mut self) {
        self.go_offline();
    }

    fn go_offline(&self) {
        debug_assert_eq!(self.borrowed.get(), 0);
        self.core.epochs.suspend(self.participant);
        self.is_online.set(false);
    }

    /// Must come before the first look into the index or the arena in every operation.
    #[inline]
    pub(crate) fn enter(&self) {
        if !self.is_online.get() {
            self.core.epochs.resume(self.participant);
            self.is_online.set(true);
        }
    }

    pub(crate) fn events(&self) -> &Events {
        &self.core.events[self.participant]
    }

    /// Looks a key up.
    #[inline]
    pub fn get(&self, key: &[u8], access: Access) -> Option<Item<'_>> {
        self.enter();
        self.get_hashed(self.core.hash(key), key, access)
    }

    #[inline]
    pub(crate) fn get_hashed(&self, hash: u64, key: &[u8], access: Access) -> Option<Item<'_>> {
        self.core
            .index
            .find(hash, |location| self.accept(location, key, access))
    }

    /// The item at a location, if it has this key and may be seen.
    #[inline]
    fn accept(&self, location: Location, key: &[u8], access: Access) -> Option<Item<'_>> {
        let item = self.core.arena.item(location);
        if !item.has_key(key) {
            return None;
        }
        if !self.core.is_visible(location, item, self.now()) {
            self.note_invisible(item);
            return None;
        }
        Some(self.found(location, item, access))
    }

    #[cold]
    fn note_invisible(&self, item: RawItem) {
        let events = self.events();
        if item.is_expired(self.now()) {
            events.reads_expired.add(1);
        } else {
            events.reads_flushed.add(1);
        }
    }

    /// An item just found, its use noted.
    #[inline]
    pub(crate) fn found(&self, location: Location, item: RawItem, access: Access) -> Item<'_> {
        let state = match access {
            Access::Use => item.note_use(self.now()),
            Access::Peek => item.state(),
        };
        Item::new(self, location, item, state)
    }

    /// Looks up to [`BATCH_MAX`] keys up together, which overlaps their cache misses; `found`
    /// receives one entry a key, in order.
    ///
    /// # Panics
    /// With more than [`BATCH_MAX`] keys.
    pub fn get_batch<'h>(
        &'h self,
        keys: &[&[u8]],
        access: Access,
        found: &mut Vec<Option<Item<'h>>>,
    ) {
        assert!(keys.len() <= BATCH_MAX, "at most {BATCH_MAX} keys at once");
        self.enter();
        found.clear();
        let hinted = self.prefetch_hinted(keys);
        found.extend(hinted.iter().zip(keys).map(|(&(hash, hint), key)| {
            // The hint is right but for keys whose tags are alike, and for what others change.
            match hint {
                Hint::At(location) => self.accept(location, key, access),
                _ => None,
            }
            .or_else(|| self.get_hashed(hash, key, access))
        }));
    }

    /// Starts fetching what operations on up to [`BATCH_MAX`] keys will touch; keys beyond that are
    /// left alone. Worth it before several operations that follow each other closely.
    pub fn prefetch(&self, keys: &[&[u8]]) {
        self.enter();
        self.prefetch_hinted(&keys[..keys.len().min(BATCH_MAX)]);
    }

    /// Fetches, each stage for all keys before the next: first buckets, then items or overflow
    /// buckets, then the items that those lead to.
    #[inline]
    fn prefetch_hinted(&self, keys: &[&[u8]]) -> ArrayVec<(u64, Hint), BATCH_MAX> {
        let index = &self.core.index;
        let mut hinted: ArrayVec<(u64, Hint), BATCH_MAX> = ArrayVec::new();
        for key in keys {
            let hash = self.core.hash(key);
            index.prefetch(hash);
            hinted.push((hash, Hint::Nowhere));
        }
        let mut goes_further = false;
        for (hash, hint) in &mut hinted {
            *hint = index.hint(*hash);
            match *hint {
                Hint::At(location) => self.prefetch_item(location),
                Hint::Further(overflow) => {
                    index.prefetch_further(overflow);
                    goes_further = true;
                }
                Hint::Nowhere => {}
            }
        }
        if goes_further {
            self.prefetch_behind_overflow(&mut hinted);
        }
        hinted
    }

    fn prefetch_behind_overflow(&self, hinted: &mut [(u64, Hint)]) {
        for (hash, hint) in hinted {
            let Hint::Further(overflow) = *hint else {
                continue;
            };
            *hint = self.core.index.hint_further(overflow, *hash);
            if let Hint::At(location) = *hint {
                self.prefetch_item(location);
            }
        }
    }

    /// Starts fetching an item: header and key lie on its first line, the rest of a small item on
    /// the next.
    #[inline]
    fn prefetch_item(&self, location: Location) {
        let address = self.core.arena.address_of(location).cast_const();
        prefetch_line(address);
        prefetch_line(address.wrapping_add(64));
    }

    /// Drops everything stored so far, now or at a later instant.
    pub fn flush_all(&self, at: Option<Seconds>) {
        match at {
            Some(at) if at > self.now() => self.core.flush.schedule(at),
            _ => {
                self.core.flush.begin(|| self.core.arena.last_sequence());
                self.core.reclaimer.wake();
            }
        }
    }

    /// Room for an item of this layout, for this thread alone until it is published.
    pub(crate) fn place(&self, layout: &Layout, expiry: Seconds) -> Option<Placed> {
        let floor = self.core.flush.floor();
        let mut writer = self.writer.borrow_mut();
        writer.place(&self.core.arena, layout.size(), expiry, self.now(), floor)
    }

    /// Makes sure that [`StoreHandle::place`] finds room for an item of this layout. May pass a
    /// quiescent point: what the caller read from the store before is void.
    ///
    /// # Errors
    /// [`StoreError::OutOfMemory`].
    pub(crate) fn ensure_room(&self, layout: &Layout, expiry: Seconds) -> Result<(), StoreError> {
        let size = layout.size();
        for _ in 0..ROOM_TRIES {
            if self.has_room(size, expiry) {
                return Ok(());
            }
            if !self.make_room(size, expiry) {
                break;
            }
        }
        self.events().out_of_memory.add(1);
        Err(StoreError::OutOfMemory)
    }

    fn has_room(&self, size: usize, expiry: Seconds) -> bool {
        let arena = &self.core.arena;
        let mut writer = self.writer.borrow_mut();
        if writer.fits(arena, size, expiry, self.now(), self.core.flush.floor()) {
            return true;
        }
        self.core.arena.collect(&self.core.epochs);
        let was_opened = writer.open_for(arena, size, expiry, self.now());
        if self.core.is_low() {
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
        let was_online = self.is_online.get();
        self.go_offline();
        let run = least_run(&self.core.arena, size);
        if run > 1 {
            // What this thread itself has open would stand in the way of a long run.
            self.writer.borrow_mut().seal_all(&self.core.arena);
        }
        let room = self.core.make_room(run);
        if was_online {
            self.enter();
        }
        if let Room::Run(head) = room {
            let mut writer = self.writer.borrow_mut();
            writer.adopt_run(&self.core.arena, head, size, expiry, self.now());
        }
        !matches!(room, Room::None)
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
        self.writer.borrow_mut().seal_all(&self.core.arena);
        self.core.note_entries(self.entries.get());
        self.go_offline();
        self.core.epochs.leave(self.participant);
    }
}
