//! Counters of what happened, one set for each thread: only its owner writes it.

use crate::schedule::atomic::{AtomicU64, Ordering::Relaxed};

/// A counter with one writer at a time.
#[derive(Debug, Default)]
pub(crate) struct Event(AtomicU64);

impl Event {
    /// Only by the owner of the set.
    #[inline]
    pub fn add(&self, amount: u64) {
        self.0
            .store(self.0.load(Relaxed).wrapping_add(amount), Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// One thread's counters, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Events {
    /// Items that became reachable under a key that had none.
    pub added: Event,
    /// Items that were removed without a successor.
    pub removed: Event,
    pub stored: Event,
    pub out_of_memory: Event,
    pub evicted: Event,
    pub evicted_unread: Event,
    pub expired: Event,
    pub expired_unread: Event,
    pub moved: Event,
    /// Reads that found their key expired.
    pub reads_expired: Event,
    /// Reads that found their key flushed.
    pub reads_flushed: Event,
    pub segments_evicted: Event,
    pub segments_expired: Event,
    pub segments_cleaned: Event,
}
