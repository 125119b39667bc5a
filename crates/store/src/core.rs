//! The shared body of a store, and the rules that all parts of it follow.

use crate::epoch::Epochs;
use crate::events::Events;
use crate::flush::Flush;
use crate::index::{Index, Location, LockedChain, SlotPlace};
use crate::item::RawItem;
use crate::options::StoreConfig;
use crate::reclaim::Reclaimer;
use crate::segment::{Arena, SegmentState};
use farcache_base::time::{START, Seconds};
use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering::Relaxed};

/// The index starts with a bucket for so many bytes of item memory: small enough not to matter,
/// large enough that it rarely grows for large values.
const MEMORY_PER_INITIAL_BUCKET: u64 = 32 << 10;
const INITIAL_LEVEL_RANGE: (u32, u32) = (10, 24);
/// Least memory that an item with its share of a bucket can take; bounds the address space of the
/// index.
const ITEM_BYTES_MIN: u64 = 16;

pub(crate) struct Core {
    pub config: StoreConfig,
    secrets: RapidSecrets,
    pub index: Index,
    pub arena: Arena,
    pub epochs: Epochs,
    pub flush: Flush,
    pub reclaimer: Reclaimer,
    /// One set for each handle and, last, one for the reclaimer.
    pub events: Box<[Events]>,
    /// Entries of the index, to within a few per handle.
    entries: AtomicI64,
    /// The latest time that any handle was told.
    clock: AtomicU32,
}

/// An index entry for a key, found with its chain locked.
pub(crate) struct Entry<'c> {
    pub slot: SlotPlace<'c>,
    pub location: Location,
    pub item: RawItem,
    /// Neither expired nor flushed.
    pub is_visible: bool,
}

impl Core {
    pub fn new(config: StoreConfig) -> io::Result<Core> {
        let arena = Arena::new(&config)?;
        let buckets = config.memory_bytes / MEMORY_PER_INITIAL_BUCKET;
        let level = buckets
            .max(1)
            .ilog2()
            .clamp(INITIAL_LEVEL_RANGE.0, INITIAL_LEVEL_RANGE.1);
        let memory_max = u64::from(arena.segment_count()) * arena.segment_bytes() as u64;
        let capacity = memory_max / ITEM_BYTES_MIN / 6;
        Ok(Core {
            index: Index::new(level, capacity, config.huge_pages)?,
            epochs: Epochs::new(config.handles_max),
            secrets: RapidSecrets::seed(RandomState::new().hash_one("farcache index")),
            flush: Flush::default(),
            reclaimer: Reclaimer::default(),
            events: (0..=config.handles_max)
                .map(|_| Events::default())
                .collect(),
            entries: AtomicI64::new(0),
            clock: AtomicU32::new(START),
            arena,
            config,
        })
    }

    /// The hash of a key. Seeded at random, so that nobody outside can make keys collide.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        rapidhash_v3_seeded(key, &self.secrets)
    }

    pub fn now(&self) -> Seconds {
        self.clock.load(Relaxed)
    }

    /// Moves the store's time forward.
    pub fn advance_clock(&self, now: Seconds) {
        if self.clock.load(Relaxed) < now {
            self.clock.fetch_max(now, Relaxed);
        }
    }

    /// Whether a flush has left an item standing.
    #[inline]
    pub fn survives_flush(&self, location: Location) -> bool {
        !self.flush.is_sweeping() || self.arena.meta_of(location).sequence() > self.flush.floor()
    }

    /// Whether readers may see an item.
    #[inline]
    pub fn is_visible(&self, location: Location, item: RawItem, now: Seconds) -> bool {
        !item.is_expired(now) && self.survives_flush(location)
    }

    /// The entry of a key in its locked chain, visible or not.
    pub fn entry<'c>(
        &self,
        chain: &LockedChain<'c>,
        key: &[u8],
        now: Seconds,
    ) -> Option<Entry<'c>> {
        let (slot, location) = chain.find(|location| self.arena.item(location).has_key(key))?;
        let item = self.arena.item(location);
        Some(Entry {
            slot,
            location,
            item,
            is_visible: self.is_visible(location, item, now),
        })
    }

    /// An item's token: the one stored with it, or the one that its place gives it.
    pub fn cas_of(&self, location: Location, item: RawItem) -> u64 {
        item.explicit_cas()
            .unwrap_or_else(|| self.arena.derived_cas(location))
    }

    /// Takes an entry out of the index.
    pub fn unlink(&self, chain: &LockedChain<'_>, entry: &Entry<'_>) {
        chain.remove(entry.slot);
        self.note_dead(entry.location, entry.item);
    }

    /// Accounts for an item that the index no longer points at. A segment that this leaves with
    /// nothing alive is retired at once: overwriting large values reuses memory that is warm.
    pub fn note_dead(&self, location: Location, item: RawItem) {
        let head = self.arena.head_of(location);
        let meta = self.arena.meta(head);
        let is_last = meta.remove_live(item.layout().size());
        if is_last && meta.state() == SegmentState::Sealed && self.arena.begin_emptying(head) {
            self.arena.retire(head, self.epochs.retire());
        }
    }

    /// Accounts for entries added (or removed) and grows the index where that calls for it.
    pub fn note_entries(&self, change: i64) {
        let entries = self.entries.fetch_add(change, Relaxed) + change;
        let entries = entries.max(0) as u64;
        let mut growth_max = change;
        while growth_max > 0 && self.index.wants_growth(entries) {
            if self.index.grow() {
                self.reclaimer.wake();
            }
            growth_max -= 1;
        }
    }

    /// The reclaimer's counters.
    pub fn reclaimer_events(&self) -> &Events {
        self.events.last().expect("one set more than handles")
    }
}
