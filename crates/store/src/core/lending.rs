//! Values that a network takes from where they lie, in its own time.
//!
//! Unlike what waits for a socket, such a value cannot be moved: the network may be reading it. So
//! that clients which take nothing leave segments to those who store, no more than a part of all
//! segments is lent at a time. A value beyond that is copied first, and lent from there.

use super::Core;
use crate::schedule::atomic::{AtomicU32, Ordering::Relaxed};

/// So many of all segments may be lent: one in so many.
const LENT_PART: u64 = 4;

/// How many segments are lent.
pub(crate) struct Lending {
    segments: AtomicU32,
    segments_max: u32,
}

impl Lending {
    /// Nothing is lent yet of so many bytes in segments of this size.
    pub fn new(memory_bytes: u64, segment_bytes: u32) -> Lending {
        let segments = memory_bytes / u64::from(segment_bytes) / LENT_PART;
        Lending {
            segments: AtomicU32::new(0),
            segments_max: segments as u32,
        }
    }

    /// Whether half of what may be lent is.
    pub fn is_half_full(&self) -> bool {
        2 * self.lent() >= self.segments_max
    }

    fn lent(&self) -> u32 {
        self.segments.load(Relaxed)
    }
}

impl Core {
    /// Lends a pinned segment, or run, once more; false where too many others are lent already.
    /// Threads that lend at the same time may go beyond that by a segment each.
    pub(crate) fn lend(&self, head: u32) -> bool {
        let meta = self.arena.meta(head);
        let run = meta.run();
        if !meta.is_lent() && self.lending.lent() + run > self.lending.segments_max {
            return false;
        }
        if meta.lend() {
            self.lending.segments.fetch_add(run, Relaxed);
        }
        true
    }

    /// A segment that is still pinned is lent once less.
    pub(crate) fn take_back(&self, head: u32) {
        let meta = self.arena.meta(head);
        let run = meta.run();
        if meta.take_back() {
            self.lending.segments.fetch_sub(run, Relaxed);
        }
    }
}
