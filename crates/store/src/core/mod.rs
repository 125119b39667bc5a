//! The shared body of a store, and the rules that all parts of it follow.

mod attendance;
mod evicted;
mod index_size;
mod lending;
mod limit;
mod pinned;
mod predecessors;
mod stalled;

pub(crate) use attendance::Attendance;
pub use evicted::Evicted;
pub use pinned::PinnedValue;
pub(crate) use predecessors::Before;
pub use predecessors::Predecessor;
pub use stalled::StalledValues;

use crate::admission::Admission;
use crate::bell::Bell;
use crate::dirty::Dirty;
use crate::epoch::Epochs;
use crate::events::Events;
use crate::fences::{Fences, KeyArcs};
use crate::flush::Flush;
use crate::ghosts::Ghosts;
use crate::incomplete::Incomplete;
use crate::index::{Index, Location, LockedChain, SlotPlace};
use crate::item::RawItem;
use crate::options::StoreConfig;
use crate::reclaimer::Reclaimer;
use crate::schedule::atomic::{AtomicI64, AtomicU32, Ordering::Relaxed};
use crate::segment::{Arena, SegmentState};
use crate::superseded::Superseded;
use crate::versions::Versions;
use attendance::{OWN_PARTICIPANTS, Participants};
use evicted::Observer;
use farcache_base::time::{START, Seconds};
use farcache_log::{Guard, Log, LogUse, TierPlan};
use index_size::IndexSize;
use lending::Lending;
use limit::MemoryLimit;
use predecessors::Predecessors;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};
use stalled::StalledReaders;
use std::hash::{BuildHasher, RandomState};
use std::io;

/// Least memory limit with which ghosts lie in huge pages: one of them must not count.
const HUGE_GHOSTS_MEMORY_BYTES: u64 = 1 << 30;

pub(crate) struct Core {
    pub config: StoreConfig,
    secrets: RapidSecrets,
    pub index: Index,
    pub ghosts: Ghosts,
    pub arena: Arena,
    limit: MemoryLimit,
    pub epochs: Epochs,
    pub flush: Flush,
    pub fences: Fences,
    pub versions: Versions,
    pub superseded: Superseded,
    pub incomplete: Incomplete,
    pub predecessors: Predecessors,
    pub reclaimer: Reclaimer,
    /// Who keeps segments without taking what lies there.
    pub stalled: StalledReaders,
    /// What networks have.
    pub lending: Lending,
    pub eviction_observer: Observer,
    /// Where items go that leave memory.
    pub tier: Option<Log>,
    /// What is not worth a write to a full device.
    pub admission: Admission,
    /// What is to be made durable, and who waits for it.
    pub dirty: Dirty,
    /// Told when something has become durable, or there is room.
    pub bell: Bell,
    participants: Participants,
    /// One set for each participant and, last, one for the reclaimer.
    pub events: Box<[Events]>,
    /// Entries of the index, to within a few per handle.
    entries: AtomicI64,
    /// The latest time that any handle was told.
    clock: AtomicU32,
}

/// An index entry for a key, found with its chain locked, as it is for `'l`.
pub(crate) struct Entry<'c, 'l> {
    /// Under which it was found.
    pub guard: Guard<'c>,
    pub slot: SlotPlace<'l>,
    pub location: Location,
    /// None for an item on a device that is not at hand.
    pub item: Option<RawItem<'c>>,
    /// The copy on a device of an item in memory.
    pub shadow: Option<Location>,
    /// Neither expired nor flushed, and no tombstone.
    pub is_visible: bool,
}

impl Core {
    /// The parts of a store; with the tier's, if it has one.
    ///
    /// # Errors
    /// `InvalidInput` for a configuration that cannot be, else the system's.
    pub fn new(config: StoreConfig, tier: Option<&TierPlan>) -> io::Result<Core> {
        let seed = match tier {
            Some(plan) => plan.index_seed(),
            None => RandomState::new().hash_one("farcache index"),
        };
        let how = LogUse {
            evicts: config.evict,
            memory_bytes: config.memory_bytes,
            huge_pages: config.huge_pages,
        };
        let tier = tier.map(|plan| Log::new(plan, how)).transpose()?;
        let arena = Arena::new(&config)?;
        let memory_max = u64::from(arena.segment_count()) * arena.segment_bytes() as u64;
        let device_max = tier.as_ref().map_or(0, Log::bytes);
        let size = IndexSize::of(config.memory_bytes, memory_max, device_max);
        let has_huge_ghosts = config.huge_pages && config.memory_bytes >= HUGE_GHOSTS_MEMORY_BYTES;
        let epochs = Epochs::new(config.handles_max + OWN_PARTICIPANTS);
        let participants = Participants::join(&epochs);
        let core = Core {
            limit: MemoryLimit::new(config.memory_bytes),
            index: Index::new(size.initial_level, size.capacity, config.huge_pages)?,
            ghosts: Ghosts::new(memory_max, has_huge_ghosts)?,
            epochs,
            participants,
            secrets: RapidSecrets::seed(seed),
            flush: Flush::default(),
            fences: Fences::new(config.key_hash),
            versions: Versions::default(),
            superseded: Superseded::default(),
            incomplete: Incomplete::default(),
            predecessors: Predecessors::new(config.memory_bytes),
            reclaimer: Reclaimer::default(),
            stalled: StalledReaders::new(config.memory_bytes),
            lending: Lending::new(config.memory_bytes, config.segment_bytes),
            eviction_observer: Observer::default(),
            events: (0..=config.handles_max + OWN_PARTICIPANTS)
                .map(|_| Events::default())
                .collect(),
            entries: AtomicI64::new(0),
            clock: AtomicU32::new(START),
            tier,
            admission: Admission::default(),
            dirty: Dirty::default(),
            bell: Bell::default(),
            arena,
            config,
        };
        core.fit_segments();
        Ok(core)
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

    /// Whether flushes and fences have left an item in memory standing.
    #[inline]
    pub fn survives_flush(&self, location: Location, item: RawItem<'_>) -> bool {
        !self.flush.is_sweeping() || self.survives_sweep(location, item)
    }

    #[cold]
    fn survives_sweep(&self, location: Location, item: RawItem<'_>) -> bool {
        let sequence = self.arena.meta_of(location).sequence();
        !self.flush.voids(|| sequence) && !self.is_fenced(sequence, item)
    }

    /// Whether a fence has voided an item in the filling with this sequence number. None voids what
    /// has a version: that says for itself what it is worth beside others'.
    #[inline]
    pub fn is_fenced(&self, sequence: u64, item: RawItem<'_>) -> bool {
        sequence <= self.fences.newest()
            && item.stamp().is_none()
            && self.fences.void(sequence, item.key())
    }

    /// Whether a flush, or a fence, has voided an item in a filling that is about to hold it as
    /// something new. To be asked with the chain locked in which the new entry will stand: a flush
    /// that comes later sweeps it away, one that came before would leave it, void and unseen.
    #[inline]
    pub fn is_void(&self, head: u32, item: RawItem<'_>) -> bool {
        let sequence = self.arena.meta(head).sequence();
        sequence <= self.flush.floor() || self.is_fenced(sequence, item)
    }

    /// Only fillings with a higher sequence number take anything new.
    #[inline]
    pub fn floor_for_new(&self) -> u64 {
        self.flush.floor().max(self.fences.newest())
    }

    /// Drops everything stored so far.
    ///
    /// What is stored until the end of the beginning may be void; what is void may leave the index
    /// from the beginning on, and nobody knows the versions that go with it.
    pub fn flush_now(&self) {
        self.versions.forget_all();
        self.flush.begin(|| self.arena.last_sequence());
        self.versions.forget_all();
        self.predecessors.void_all();
        self.have_swept();
    }

    /// Voids what was stored so far of these keys without a version, for ever.
    pub fn fence(&self, keys: KeyArcs) {
        self.fences
            .begin(keys, &self.flush, || self.arena.last_sequence());
        self.have_swept();
    }

    /// Has what is void removed.
    fn have_swept(&self) {
        self.reclaimer.wake();
        if let Some(tier) = &self.tier {
            tier.wake();
        }
    }

    /// The copy on a device of an item in memory whose chain is locked.
    #[inline]
    pub fn shadow_of(
        &self,
        guard: Guard<'_>,
        chain: &LockedChain<'_>,
        key: &[u8],
    ) -> Option<Location> {
        let tier = self.tier.as_ref()?;
        let mut fingerprint = None;
        let is_shadow = |location: Location| {
            location.is_on_device()
                && tier.has_fingerprint(
                    guard,
                    location,
                    *fingerprint.get_or_insert_with(|| tier.fingerprint(key)),
                )
        };
        chain.find(is_shadow).map(|(_, location)| location)
    }

    /// Whether an entry on a device is that of a copy: the item is in memory as well. `chain` is
    /// all that is, or was a moment ago, in the entry's chain, which is locked.
    pub fn is_shadow(&self, guard: Guard<'_>, location: Location, chain: &[Location]) -> bool {
        let Some(tier) = &self.tier else {
            return false;
        };
        let fingerprint = tier.fingerprint_at(guard, location);
        let mut in_memory = chain.iter().filter(|other| !other.is_on_device());
        in_memory.any(|&other| {
            // SAFETY: the entry's chain, which is locked, has the location, or has just lost it.
            let item = unsafe { self.arena.item(other) };
            fingerprint == Some(tier.fingerprint(item.key()))
        })
    }

    /// Takes a copy on a device out of its locked chain, for good.
    pub fn kill_shadow(&self, guard: Guard<'_>, chain: &LockedChain<'_>, shadow: Location) {
        if let (Some(tier), Some(slot)) = (&self.tier, chain.place_of(shadow)) {
            chain.remove(slot);
            tier.kill(guard, shadow);
        }
    }

    /// Whether readers may see an item.
    #[inline]
    pub fn is_visible(&self, location: Location, item: RawItem<'_>, now: Seconds) -> bool {
        !item.is_hidden(now) && self.survives_flush(location, item)
    }

    /// Whether an item is still of use: readers may see it, or it is a tombstone.
    pub fn is_alive(&self, location: Location, item: RawItem<'_>, now: Seconds) -> bool {
        !item.is_expired(now) && self.survives_flush(location, item)
    }

    /// An item is about to be dropped, and its version with it. With its chain locked.
    #[inline]
    pub fn forget_version(&self, item: RawItem<'_>) {
        if let Some(stamp) = item.stamp() {
            self.versions.forget(stamp.version.bits());
        }
    }

    /// An entry is about to be removed, or replaced by an item without a version. With its chain
    /// locked.
    #[inline]
    pub fn forget_version_of(&self, entry: &Entry<'_, '_>) {
        match entry.item {
            Some(item) => self.forget_version(item),
            None => self.forget_version_at(entry.location),
        }
    }

    /// As [`Core::forget_version`], of an item on a device that is not at hand.
    #[cold]
    pub fn forget_version_at(&self, location: Location) {
        if let Some(tier) = &self.tier {
            self.versions.forget(tier.newest_version_at(location));
        }
    }

    /// An item's token: the one stored with it, or the one that its place gives it.
    pub fn cas_of(&self, location: Location, item: RawItem<'_>) -> u64 {
        item.explicit_cas()
            .unwrap_or_else(|| self.arena.derived_cas(location))
    }

    /// Takes an entry, and the item's copy on a device, out of the index. Returns how many entries
    /// were taken out.
    pub fn unlink(&self, chain: &LockedChain<'_>, entry: &Entry<'_, '_>) -> i64 {
        self.forget_version_of(entry);
        chain.remove(entry.slot);
        self.note_replaced(entry.location, entry.item);
        self.bury(chain, entry)
    }

    /// Accounts for what lies in memory of an item whose entry was removed or replaced.
    #[inline]
    pub fn note_replaced(&self, location: Location, item: Option<RawItem<'_>>) {
        if let Some(item) = item.filter(|_| !location.is_on_device()) {
            self.note_dead(location, item);
        }
    }

    /// Whether marks and expiries of the item at a location may change where it lies: not on a
    /// device, nor where every change must reach one.
    pub fn changes_in_place(&self, location: Location) -> bool {
        !location.is_on_device() && !self.tier.as_ref().is_some_and(Log::is_sync)
    }

    /// Notes an item in memory that is to be made durable.
    #[inline]
    pub fn note_dirty(&self, hash: u64, location: Location) {
        if self.tier.as_ref().is_some_and(Log::is_sync) {
            self.dirty.note(hash, location);
        }
    }

    /// Whether nothing is told before it is durable.
    #[inline]
    pub fn is_sync(&self) -> bool {
        self.tier.as_ref().is_some_and(Log::is_sync)
    }

    /// What is there under this hash changes now, or has just been changed.
    #[inline]
    pub fn touch_dirty(&self, hash: u64) {
        if self.is_sync() {
            self.dirty.touch(hash);
        }
    }

    /// Accounts for what lies on a device of an item whose entry in its locked chain was removed or
    /// replaced. Returns how many entries the item had.
    pub fn bury(&self, chain: &LockedChain<'_>, entry: &Entry<'_, '_>) -> i64 {
        if entry.location.is_on_device() {
            if let Some(tier) = &self.tier {
                tier.kill(entry.guard, entry.location);
            }
            return 1;
        }
        if let Some(shadow) = entry.shadow {
            self.kill_shadow(entry.guard, chain, shadow);
            return 2;
        }
        1
    }

    /// Accounts for an item that the index no longer points at. A segment that this leaves with
    /// nothing alive is retired at once: overwriting large values reuses memory that is warm.
    pub fn note_dead(&self, location: Location, item: RawItem<'_>) {
        let head = self.arena.head_of(location);
        let meta = self.arena.meta(head);
        let is_last = meta.remove_live(item.layout().size());
        if is_last
            && meta.state() == SegmentState::Sealed
            && let Some(emptied) = self.arena.begin_emptying(head)
        {
            // SAFETY: nothing in it is alive, so the index has no location in it; readers are
            // participants of the store's epochs.
            unsafe { self.arena.retire(emptied, &self.epochs) };
        }
    }

    /// Frees the retired segments that nobody can be looking at any longer.
    pub fn collect_retired(&self) {
        // SAFETY: a store has one set of epochs.
        unsafe { self.arena.collect(&self.epochs) };
    }

    /// Entries of the index, to within a few per handle.
    pub fn entries(&self) -> u64 {
        self.entries.load(Relaxed).max(0) as u64
    }

    /// Accounts for entries added (or removed) and grows the index where that calls for it.
    pub fn note_entries(&self, change: i64) {
        let entries = self.entries.fetch_add(change, Relaxed) + change;
        let entries = entries.max(0) as u64;
        let mut growth_max = change;
        while growth_max > 0 && self.index.wants_growth(entries) {
            if self.index.grow() {
                self.fit_segments();
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
