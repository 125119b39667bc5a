//! Memory behind the segments that are filled for the first time: the kernel clears a page when it
//! is touched first, a huge page in a tenth of a millisecond or, in a virtual machine, in some
//! milliseconds. The store's own thread has that done ahead of those who answer requests.

use crate::schedule::atomic::{AtomicU32, Ordering::Relaxed};

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

    /// The next segment, below `end`, that is to be backed; from now on it counts as backed. None
    /// while enough are, and before any has been taken. For one thread.
    pub fn next(&self, ahead: u32, end: u32) -> Option<u32> {
        let taken = self.taken.load(Relaxed);
        let next = self.backed.load(Relaxed).max(taken);
        let is_wanted = taken > 0 && next < taken.saturating_add(ahead).min(end);
        is_wanted.then(|| {
            self.backed.store(next + 1, Relaxed);
            next
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that are backed now.
    fn backed(backing: &Backing, end: u32) -> Vec<u32> {
        std::iter::from_fn(|| backing.next(8, end)).collect()
    }

    #[test]
    fn nothing_is_backed_before_the_first_segment_is_taken() {
        let backing = Backing::default();
        assert_eq!(backed(&backing, 100), []);
        backing.note_taken(0);
        assert!(backing.is_short(8, 100));
        assert_eq!(backed(&backing, 100), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(!backing.is_short(8, 100));
    }

    #[test]
    fn what_is_ahead_follows_the_highest_segment_taken_up_to_the_end() {
        let backing = Backing::default();
        backing.note_taken(0);
        backed(&backing, 100);
        backing.note_taken(4);
        assert!(!backing.is_short(8, 100), "half is left");
        backing.note_taken(5);
        assert!(backing.is_short(8, 100));
        assert_eq!(backed(&backing, 100), [9, 10, 11, 12, 13]);
        backing.note_taken(50);
        assert_eq!(backed(&backing, 53), [51, 52], "what was passed is backed");
        assert!(!backing.is_short(8, 53));
        backing.note_taken(2);
        assert_eq!(backed(&backing, 53), [], "one that was used before");
    }

    #[test]
    fn little_is_backed_ahead_of_a_small_store() {
        assert_eq!(ahead(1024, 1 << 20), 8);
        assert_eq!(ahead(64, 1 << 20), 4);
        assert_eq!(ahead(1024, 16 << 20), 1);
        assert_eq!(ahead(8, 1 << 20), 0);
    }
}
