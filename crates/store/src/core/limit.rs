//! The memory limit, and what it covers: segments, and in a store without devices also what grows
//! with what they hold. So a store takes as much as it was allowed, however small its items are.

use super::Core;
use crate::schedule::{Mutex, MutexGuard};
use crate::segment::SEGMENTS_MIN;

/// The limit that was set last, in bytes.
pub(super) struct MemoryLimit(Mutex<u64>);

impl MemoryLimit {
    pub fn new(bytes: u64) -> MemoryLimit {
        MemoryLimit(Mutex::new(bytes))
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.0.lock().expect("no holder panics")
    }
}

impl Core {
    /// The memory limit, in bytes.
    pub fn memory_limit(&self) -> u64 {
        *self.limit.lock()
    }

    /// Changes the memory limit; false where that is impossible.
    pub fn set_memory_limit(&self, bytes: u64) -> bool {
        let segments = bytes / self.arena.segment_bytes() as u64;
        let possible = u64::from(SEGMENTS_MIN)..=u64::from(self.arena.segment_count());
        let is_possible = possible.contains(&segments);
        if is_possible {
            *self.limit.lock() = bytes;
            self.fit_segments();
        }
        is_possible
    }

    /// Leaves to segments what the limit leaves beside index, ghosts and the table of segments. To
    /// be called when one of these has grown.
    pub fn fit_segments(&self) {
        // Held to the end, so that the last one to set it has seen the latest of all.
        let limit = self.limit.lock();
        let segment = self.arena.segment_bytes() as u64;
        let for_segments = limit.saturating_sub(self.covered_bytes());
        // To the nearest, so that a few bytes do not cost one of few segments.
        let allowed = ((for_segments + segment / 2) / segment) as u32;
        let allowed = allowed.max(SEGMENTS_MIN);
        if allowed != self.arena.counts().allowed {
            self.arena.set_allowed(allowed);
        }
    }

    /// What the limit covers beside segments. The index of a store with devices is as large as what
    /// lies there demands, however small the memory is: it comes on top.
    fn covered_bytes(&self) -> u64 {
        match self.tier {
            Some(_) => 0,
            None => self.index.bytes() + self.ghosts.bytes() + self.arena.table_bytes(),
        }
    }
}
