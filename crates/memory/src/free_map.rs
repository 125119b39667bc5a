//! Which segments hold nothing: a bit each. Single segments are taken from below and runs from
//! above, so that runs find room.

use std::ops::Range;

/// Which of many segments are free.
pub struct FreeMap {
    words: Vec<u64>,
    free: u32,
    /// No word below this one has a bit set.
    lowest: usize,
}

impl FreeMap {
    /// Room for this many segments, none of them free.
    pub fn new(segments: u32) -> FreeMap {
        let words = vec![0; (segments as usize).div_ceil(64)];
        FreeMap {
            lowest: words.len(),
            words,
            free: 0,
        }
    }

    /// How many are free.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Whether this one is free.
    pub fn is_free(&self, segment: u32) -> bool {
        self.words[segment as usize / 64] >> (segment % 64) & 1 != 0
    }

    /// This one, which was not, is free from now on.
    pub fn give(&mut self, segment: u32) {
        debug_assert!(!self.is_free(segment));
        let word = segment as usize / 64;
        self.words[word] |= 1 << (segment % 64);
        self.lowest = self.lowest.min(word);
        self.free += 1;
    }

    fn take(&mut self, segment: u32) {
        debug_assert!(self.is_free(segment));
        self.words[segment as usize / 64] &= !(1 << (segment % 64));
        self.free -= 1;
    }

    /// Takes this very segment if it is free.
    pub fn take_this(&mut self, segment: u32) -> bool {
        let is_free = self.is_free(segment);
        if is_free {
            self.take(segment);
        }
        is_free
    }

    /// Takes the lowest free segment.
    pub fn take_one(&mut self) -> Option<u32> {
        while *self.words.get(self.lowest)? == 0 {
            self.lowest += 1;
        }
        let segment = (self.lowest * 64) as u32 + self.words[self.lowest].trailing_zeros();
        self.take(segment);
        Some(segment)
    }

    /// Takes the lowest free segment of a range.
    pub fn take_one_of(&mut self, range: Range<u32>) -> Option<u32> {
        let first = (range.start / 64) as usize;
        let words = first.max(self.lowest)..(range.end as usize).div_ceil(64);
        for word in words {
            // What lies before the range in its first word does not count.
            let before = if word == first { range.start % 64 } else { 0 };
            let bits = self.words[word] & (u64::MAX << before);
            let segment = (word * 64) as u32 + bits.trailing_zeros();
            if bits != 0 && segment < range.end {
                self.take(segment);
                return Some(segment);
            }
        }
        None
    }

    /// Whether there are `run` free segments in a row in a range.
    pub fn has_run_in(&self, range: Range<u32>, run: u32) -> bool {
        self.highest_run(range, run).is_some()
    }

    /// Takes the highest `run` free segments in a row and returns the first of them.
    pub fn take_run(&mut self, run: u32) -> Option<u32> {
        self.take_run_of(0..self.words.len() as u32 * 64, run)
    }

    /// Takes the highest `run` free segments in a row of a range and returns the first of them.
    pub fn take_run_of(&mut self, range: Range<u32>, run: u32) -> Option<u32> {
        let first = self.highest_run(range, run)?;
        (first..first + run).for_each(|one| self.take(one));
        Some(first)
    }

    fn highest_run(&self, range: Range<u32>, run: u32) -> Option<u32> {
        let mut length = 0;
        range.rev().find(|&segment| {
            length = if self.is_free(segment) { length + 1 } else { 0 };
            length == run
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(segments: u32) -> FreeMap {
        let mut map = FreeMap::new(segments);
        (0..segments).for_each(|segment| map.give(segment));
        map
    }

    #[test]
    fn singles_come_from_below_and_runs_from_above() {
        let mut map = map(130);
        assert_eq!((map.take_one(), map.take_one()), (Some(0), Some(1)));
        assert_eq!(map.take_run(3), Some(127));
        assert_eq!(map.free(), 125);
        map.give(0);
        assert_eq!(map.take_one(), Some(0));
    }

    #[test]
    fn a_run_needs_segments_in_a_row() {
        let mut map = map(10);
        assert!(map.take_this(5) && !map.take_this(5));
        assert!(!map.has_run_in(0..10, 6) && map.has_run_in(0..10, 5));
        assert!(map.has_run_in(1..9, 4) && !map.has_run_in(1..9, 5));
        assert_eq!(map.take_run_of(2..9, 4), None);
        assert_eq!(map.take_run(6), None);
        assert_eq!(map.take_run(5), Some(0));
        assert_eq!(map.take_run(4), Some(6));
        assert_eq!((map.take_one(), map.free()), (None, 0));
    }

    #[test]
    fn a_range_gives_only_its_own() {
        let mut map = map(130);
        assert_eq!(map.take_one_of(60..66), Some(60));
        assert_eq!(map.take_one_of(60..66), Some(61));
        assert_eq!(map.take_one(), Some(0));
        let rest: Vec<u32> = std::iter::from_fn(|| map.take_one_of(60..66)).collect();
        assert_eq!(rest, [62, 63, 64, 65]);
        assert_eq!(map.take_one_of(129..130), Some(129));
        assert_eq!(map.take_one_of(129..130), None);
        assert_eq!(map.take_one_of(0..0), None);
        assert_eq!(map.free(), 130 - 8);
    }
}
