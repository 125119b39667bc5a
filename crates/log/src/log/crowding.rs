//! Whether what is written takes the place of something else.

use super::Log;
use crate::format::HEADER_BYTES;
use crate::guard::Guard;
use crate::schedule::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Segments written without one being dropped, as a part of all slots and at least, after which the
/// devices have room again.
const LATELY_PART: u32 = 16;
const LATELY_MIN: u64 = 8;
/// The devices also have room again where less than this part of them is taken, in 1024ths:
/// cleaning gives back enough. Where segments are dropped to make room all are three quarters
/// alive, and a fifth of a small device is kept free.
const TAKEN_PART_MIN: u64 = 600;

/// What is known of it, by the flusher.
#[derive(Debug, Default)]
pub(super) struct Crowding {
    /// One more than the segments that had been written when one was last dropped to make room; 0
    /// before.
    evicted_at: AtomicU64,
    is_crowded: AtomicBool,
}

impl Log {
    /// Whether what is written takes the place of something that is there and alive.
    pub fn is_crowded(&self) -> bool {
        self.crowding.is_crowded.load(Relaxed)
    }

    /// A segment is dropped to make room.
    pub(crate) fn note_eviction(&self) {
        let written = self.counters.segments_written.get();
        self.crowding.evicted_at.store(written + 1, Relaxed);
    }

    /// Looks whether a segment was dropped not long ago, and much is taken.
    pub(crate) fn note_crowding(&self, guard: Guard<'_>) {
        let is_crowded = self.has_evicted_lately() && self.is_mostly_taken(guard);
        self.crowding.is_crowded.store(is_crowded, Relaxed);
    }

    fn has_evicted_lately(&self) -> bool {
        let evicted_at = self.crowding.evicted_at.load(Relaxed);
        let written = self.counters.segments_written.get() + 1;
        let lately = u64::from(self.slots.count() / LATELY_PART).max(LATELY_MIN);
        evicted_at > 0 && written.saturating_sub(evicted_at) <= lately
    }

    fn is_mostly_taken(&self, guard: Guard<'_>) -> bool {
        let (count, segment_bytes) = (self.slots.count(), self.slots.segment_bytes());
        let taken: u64 = (0..count).map(|slot| self.bytes_taken(guard, slot)).sum();
        taken * 1024 >= u64::from(count) * segment_bytes * TAKEN_PART_MIN
    }

    /// Bytes of a segment that cleaning would not give back. Large records leave room at its end,
    /// and would wherever they lay.
    fn bytes_taken(&self, guard: Guard<'_>, slot: u32) -> u64 {
        let Some(table) = self.slots.table(guard, slot) else {
            return 0;
        };
        let state = self.slots.slot(slot);
        let records = table.table_offset.saturating_sub(HEADER_BYTES as u64);
        let dead = records.saturating_sub(state.live_bytes());
        (u64::from(state.run()) * self.slots.segment_bytes()).saturating_sub(dead)
    }
}
