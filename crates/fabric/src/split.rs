//! Memory that several values are received into at once, each into a range of its own.

use crate::bytes::ReceiveBytes;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A vector of which ranges are lent, to be received into where they lie. No byte is lent twice at
/// once, and nobody else sees the vector while any of it is lent.
#[derive(Default)]
pub struct SplitMemory(Arc<Split>);

#[derive(Default)]
struct Split(Mutex<Ranges>);

#[derive(Default)]
struct Ranges {
    memory: Vec<u8>,
    lent: Vec<Range<usize>>,
}

/// Keeps a range lent, and its memory in place.
struct Loan {
    split: Arc<Split>,
    range: Range<usize>,
}

impl Split {
    fn ranges(&self) -> MutexGuard<'_, Ranges> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SplitMemory {
    /// Memory of which nothing is lent.
    #[must_use]
    pub fn new(memory: Vec<u8>) -> SplitMemory {
        let lent = Vec::new();
        SplitMemory(Arc::new(Split(Mutex::new(Ranges { memory, lent }))))
    }

    /// Room that is this range; none where there is no such range, or a byte of it is lent.
    #[must_use]
    pub fn lend(&self, range: Range<usize>) -> Option<ReceiveBytes> {
        let mut ranges = self.0.ranges();
        let is_there = range.start <= range.end && range.end <= ranges.memory.len();
        let meets = |lent: &Range<usize>| lent.start < range.end && range.start < lent.end;
        if !is_there || ranges.lent.iter().any(meets) {
            return None;
        }
        let start = NonNull::new(ranges.memory.as_mut_ptr().wrapping_add(range.start))?;
        ranges.lent.push(range.clone());
        drop(ranges);
        let split = Arc::clone(&self.0);
        let bytes = range.len();
        let keeper = Box::new(Loan { split, range });
        // SAFETY: the bytes lie in a vector's initialised part. Until the keeper, which is dropped
        // with the room, has taken the range off the list, the vector is neither dropped (the
        // keeper shares it), changed nor given away (`take` refuses), and no byte of the range is
        // lent again.
        Some(unsafe { ReceiveBytes::from_foreign(start, bytes, Some(keeper)) })
    }

    /// How many ranges are lent.
    #[must_use]
    pub fn lent_count(&self) -> usize {
        self.0.ranges().lent.len()
    }

    /// The memory, which is empty from now on; none while anything of it is lent.
    #[must_use]
    pub fn take(&self) -> Option<Vec<u8>> {
        let mut ranges = self.0.ranges();
        let is_whole = ranges.lent.is_empty();
        is_whole.then(|| std::mem::take(&mut ranges.memory))
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let mut ranges = self.split.ranges();
        let at = ranges.lent.iter().position(|lent| *lent == self.range);
        if let Some(at) = at {
            ranges.lent.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_received_into_ranges_lies_in_the_memory() {
        let memory = vec![9; 10];
        let place = memory.as_ptr();
        let split = SplitMemory::new(memory);
        let (mut first, mut second) = (split.lend(0..4).unwrap(), split.lend(4..7).unwrap());
        assert!(second.fill(b"567") && first.fill(b"1234"));
        assert!(!first.fill(b"12345"), "no more than was lent");
        assert_eq!((split.lent_count(), split.take()), (2, None));
        drop(first);
        assert_eq!(split.take(), None);
        drop(second);
        let memory = split.take().expect("nobody has any of it");
        assert_eq!(
            (&memory[..], memory.as_ptr()),
            (&b"1234567\x09\x09\x09"[..], place)
        );
        assert!(split.lend(0..1).is_none(), "it is gone");
    }

    #[test]
    fn no_byte_is_lent_twice_and_none_beyond_the_end() {
        let split = SplitMemory::new(vec![0; 10]);
        let lent = split.lend(3..6).unwrap();
        for range in [3..6, 0..4, 5..10, 4..5, 0..10, 8..11, 11..11] {
            assert!(split.lend(range.clone()).is_none(), "{range:?}");
        }
        let (before, behind) = (split.lend(0..3), split.lend(6..10));
        assert!(before.is_some() && behind.is_some());
        drop(lent);
        assert!(split.lend(3..6).is_some());
    }

    #[test]
    fn the_memory_stays_while_a_range_of_it_is_lent() {
        let split = SplitMemory::new(vec![7; 3]);
        let mut lent = split.lend(1..3).unwrap();
        drop(split);
        assert!(lent.fill(b"12"));
        assert_eq!(lent.into_vec(), b"12");
    }
}
