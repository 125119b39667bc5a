//! The store as its owner sees it.

mod devices;
mod tenure;

use crate::core::{Core, Evicted, PinnedValue};
use crate::fences::KeyArcs;
use crate::options::StoreConfig;
use crate::reclaim::ReclaimThread;
use crate::schedule::Instant;
use farcache_base::version::Version;
use farcache_log::{FlusherThread, TierConfig, TierPlan, recover};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// A store, shared by all threads; each opens a [`crate::StoreHandle`].
pub struct Store {
    pub(crate) core: Arc<Core>,
    /// Ends with the store.
    _reclaimer: ReclaimThread,
    /// Ends after the reclaimer, which may be waiting for it.
    _flusher: Option<FlusherThread<Core>>,
}

impl Drop for Store {
    fn drop(&mut self) {
        // Each of these holds the store's body.
        self.core.predecessors.void_all();
    }
}

impl Store {
    /// Makes a store and starts its thread.
    ///
    /// # Errors
    /// `InvalidInput` for a configuration that cannot be (a segment size that is no power of two,
    /// memory for fewer than eight segments or for more than 1 TiB), else the system's.
    pub fn new(config: StoreConfig) -> io::Result<Arc<Store>> {
        let core = Arc::new(Core::new(config, None)?);
        let _reclaimer = ReclaimThread::start(Arc::clone(&core))?;
        Ok(Arc::new(Store {
            core,
            _reclaimer,
            _flusher: None,
        }))
    }

    /// Makes a store with a tier: what lies on the devices is there again, and what leaves memory
    /// goes there.
    ///
    /// # Errors
    /// As [`Store::new`] and [`TierPlan::make`].
    pub fn open(config: StoreConfig, tier: TierConfig) -> io::Result<Arc<Store>> {
        Store::open_planned(config, &TierPlan::make(tier)?)
    }

    /// As [`Store::open`], for those who want to know first what that is going to do.
    ///
    /// # Errors
    /// As [`Store::new`]; also the devices', where they cannot be read or written at all.
    pub fn open_planned(config: StoreConfig, plan: &TierPlan) -> io::Result<Arc<Store>> {
        let core = Core::new(config, Some(plan))?;
        let recovered = recover(&core, plan)?;
        let core = Arc::new(core);
        let flusher = FlusherThread::start(&core, recovered)?;
        let _reclaimer = ReclaimThread::start(Arc::clone(&core))?;
        Ok(Arc::new(Store {
            core,
            _reclaimer,
            _flusher: Some(flusher),
        }))
    }

    /// Writes out what is in memory and returns when it is durable; without a tier it does nothing.
    /// Where the devices have no room for everything, what was written first gives way, counted as
    /// evicted, or, with eviction off, what is left stays in memory. Items that open handles have
    /// stored last stay behind: drop the handles first. False if something stayed in memory, or not
    /// everything became durable within `time`.
    pub fn shutdown(&self, time: Duration) -> bool {
        let Some(tier) = &self.core.tier else {
            return true;
        };
        let start = Instant::now();
        // What has been written must still become durable.
        let all = self.core.write_out(start + time / 4 * 3);
        tier.set_at_rest(true);
        let rest = time.saturating_sub(start.elapsed());
        tier.drain(rest) && all && tier.is_in_service()
    }

    /// Waits until everything that has left memory so far is durable, and every deletion; false if
    /// that takes longer than `time`. True without a tier. The calling thread parks its handles
    /// first ([`crate::StoreHandle::park`]): what one of them may still be looking at cannot be
    /// written over, and on a full device nothing becomes durable then.
    pub fn sync_tier(&self, time: Duration) -> bool {
        let tier = self.core.tier.as_ref();
        tier.is_none_or(|tier| tier.drain(time))
    }

    /// Up to which version a key that the store does not hold counts as deleted; none where nothing
    /// that has a version was ever dropped.
    pub fn horizon(&self) -> Option<Version> {
        self.core.versions.horizon()
    }

    /// What the store has may be older than what others have: until
    /// [`Store::end_catching_up`] it speaks of nothing that it forgot before this moment. Returns
    /// the newest version that it may have.
    pub fn begin_catching_up(&self) -> Option<Version> {
        self.core.versions.begin_catching_up()
    }

    /// The store has what others have, or it is nobody's concern any more.
    pub fn end_catching_up(&self) {
        self.core.versions.end_catching_up();
    }

    /// Whether it has begun to catch up and not ended.
    pub fn is_catching_up(&self) -> bool {
        self.core.versions.is_catching_up()
    }

    /// Voids all items of these keys that were stored so far without a version, for ever: nobody
    /// sees them again, whatever becomes of the store. For somebody who is about to answer for keys
    /// that others may have changed meanwhile. Across a restart that holds only once
    /// [`Store::note_tenure`] has been called.
    pub fn fence(&self, keys: KeyArcs) {
        self.core.fence(keys);
    }

    /// How it was configured.
    pub fn config(&self) -> &StoreConfig {
        &self.core.config
    }

    /// Where the memory for items begins and how many bytes of it the limit may let be used, to be registered
    /// with a network. It stays in place for the life of the store, and from now on a lower limit
    /// gives no page of it back to the system: the network would go on to use those that it knows.
    pub fn lend_memory(&self) -> (NonNull<u8>, usize) {
        self.core.arena.lend()
    }

    /// Changes the memory limit (`cache_memlimit`), in bytes; false below eight segments or above
    /// four times the limit at start. A lower limit takes effect as segments are evicted.
    pub fn set_memory_bytes(&self, bytes: u64) -> bool {
        let was_set = self.core.set_memory_limit(bytes);
        self.core.reclaimer.wake();
        was_set
    }

    /// Has a value ready for a network, which keeps it for as long as it likes: where it lies, or
    /// where too much of the memory is lent already, in a copy.
    #[must_use]
    pub fn lend(&self, mut value: PinnedValue) -> PinnedValue {
        if !value.lend() {
            // Where the system has no memory for a copy, the value is better lent than lost.
            let _ = value.move_out(|bytes| Some(self.core.stalled.count(bytes)));
        }
        value
    }

    /// Whether so much is lent, or copied for those who do not take it, that nobody should have
    /// much of it, and whoever takes nothing should lose it.
    pub fn is_lending_short(&self) -> bool {
        self.core.lending.is_half_full() || self.core.stalled.is_half_full()
    }

    /// Has every eviction from memory told to `observer`, by the thread that evicts and while it
    /// does: it should take little time, and must not use the store. Only the first observer is
    /// told.
    pub fn on_eviction(&self, observer: impl Fn(&Evicted<'_>) + Send + Sync + 'static) {
        self.core.eviction_observer.set(Box::new(observer));
    }
}
