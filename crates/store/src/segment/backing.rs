//! Memory behind the segments that are filled for the first time: the kernel clears a page when it
//! is touched first, a huge page in a tenth of a millisecond or, in a virtual machine, in some
//! milliseconds. The store's own thread has that done ahead of those who answer requests.

use crate::schedule::atomic::{AtomicU32, Ordering::Relaxed};
use std::ops::Range;

/// So much is backed ahead of the last segment that was taken.
const AHEAD_BYTES: usize = 8 << 20;
/// At most such a part of all memory.
const AHEAD_PART: u32 = 16;

/// Which segments have been backed. Single ones are taken from below, so a mark says it.
#[derive(Default)]
pub(super) struct Backing {
    /// Behind the highest single segment that has been taken.
    taken: AtomicU32,
    /// Those below this one are backed, or have been.
    backed: AtomicU32,
}

/// How many segments are backed ahead, of so many of such a size.
pub(super) fn ahead(segments: u32, segment_bytes: usize) -> u32 {
    let most = (AHEAD_BYTES / segment_bytes).max(1) as u32;
    most.min(segments / AHEAD_PART)
}

impl Backing {
    /// A single segment has been taken.
    pub fn note_taken(&self, segment: u32) {
        if segment >= self.taken.load(Relaxed) {
            self.taken.fetch_max(segment + 1, Relaxed);
        }
    }

    /// Whether [`Backing::next`] should be asked: less than half of what should be ahead is.
    pub fn is_short(&self, ahead: u32, end: u32) -> bool {
        let wanted = self.taken.load(Relaxed).saturating_add(ahead.div_ceil(2));
        self.backed.load(Relaxed) < wanted.min(end)
    }

    /// Segments, below `end`, that are to be backed now; from now on they count as backed. For one
    /// thread.
    pub fn next(&self, ahead: u32, end: u32) -> Range<u32> {
        let taken = self.taken.load(Relaxed);
        let first = self.backed.load(Relaxed).max(taken);
        let last = taken.saturating_add(ahead).min(end).max(first);
        if taken > 0 {
            self.backed.store(last, Relaxed);
        }
        first..if taken > 0 { last } else { first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_backed_before_the_first_segment_is_taken() {
        let backing = Backing::default();
        assert!(backing.next(8, 100).is_empty());
        backing.note_taken(0);
        assert!(backing.is_short(8, 100));
        assert_eq!(backing.next(8, 100), 1..9);
        assert!(!backing.is_short(8, 100));
        assert!(backing.next(8, 100).is_empty());
    }

    #[test]
    fn what_is_ahead_follows_the_highest_segment_taken_up_to_the_end() {
        let backing = Backing::default();
        backing.note_taken(0);
        backing.next(8, 100);
        backing.note_taken(4);
        assert!(!backing.is_short(8, 100), "half is left");
        backing.note_taken(5);
        assert!(backing.is_short(8, 100));
        assert_eq!(backing.next(8, 100), 9..14);
        backing.note_taken(50);
        assert_eq!(
            backing.next(8, 53),
            51..53,
            "what was passed is backed already"
        );
        assert!(!backing.is_short(8, 53));
        backing.note_taken(2);
        assert!(backing.next(8, 53).is_empty(), "one that was used before");
    }

    #[test]
    fn little_is_backed_ahead_of_a_small_store() {
        assert_eq!(ahead(1024, 1 << 20), 8);
        assert_eq!(ahead(64, 1 << 20), 4);
        assert_eq!(ahead(1024, 16 << 20), 1);
        assert_eq!(ahead(8, 1 << 20), 0);
    }
}
