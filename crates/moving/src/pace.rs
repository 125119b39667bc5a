//! How fast items come.

/// Nanoseconds in a millisecond.
const NS_PER_MS: u64 = 1_000_000;

/// What was not used while nobody asked may be used later, up to so much time: who asks is woken
/// late where a machine is busy.
const LATE_NS_MAX: u64 = 5 * NS_PER_MS;

/// Lets through so many bytes a second. Counts in nanoseconds: an item of a kilobyte takes a small
/// part of a millisecond.
#[derive(Debug)]
pub struct Pace {
    /// 0 is no limit.
    bytes_per_second: u64,
    free_at_ns: u64,
}

impl Pace {
    /// So many bytes a second; 0 is no limit.
    #[must_use]
    pub fn new(bytes_per_second: u64) -> Pace {
        Pace {
            bytes_per_second,
            free_at_ns: 0,
        }
    }

    /// From now on so many bytes a second; 0 is no limit.
    pub fn set(&mut self, bytes_per_second: u64) {
        self.bytes_per_second = bytes_per_second;
    }

    /// So many bytes have come, or are about to.
    pub fn spend(&mut self, bytes: u64, now_ms: u64) {
        let earliest_ns = (now_ms * NS_PER_MS).saturating_sub(LATE_NS_MAX);
        self.free_at_ns = self
            .free_at_ns
            .max(earliest_ns)
            .saturating_add(self.time_ns(bytes));
    }

    /// Of `expected` bytes that were spent ahead of time, so many have come.
    pub fn correct(&mut self, expected: u64, bytes: u64) {
        let free_at_ns = self.free_at_ns;
        self.free_at_ns = match bytes.checked_sub(expected) {
            Some(more) => free_at_ns.saturating_add(self.time_ns(more)),
            None => free_at_ns.saturating_sub(self.time_ns(expected - bytes)),
        };
    }

    /// When the next may come, in milliseconds.
    #[must_use]
    pub fn next_ms(&self) -> u64 {
        self.free_at_ns / NS_PER_MS
    }

    fn time_ns(&self, bytes: u64) -> u64 {
        let time_ns = u128::from(bytes) * 1_000_000_000;
        let time_ns = time_ns
            .checked_div(self.bytes_per_second.into())
            .unwrap_or(0);
        u64::try_from(time_ns).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_kept_on_the_whole() {
        let mut pace = Pace::new(1000);
        pace.spend(500, 100);
        assert_eq!(pace.next_ms(), 595);
        pace.spend(100, 200);
        assert_eq!(pace.next_ms(), 695);
        let mut unlimited = Pace::new(0);
        unlimited.spend(u64::MAX, 5);
        assert_eq!(unlimited.next_ms(), 0);
    }

    #[test]
    fn what_comes_counts_not_what_was_expected() {
        let mut pace = Pace::new(1000);
        pace.spend(500, 100);
        pace.correct(500, 700);
        assert_eq!(pace.next_ms(), 795);
        pace.spend(500, 200);
        pace.correct(500, 0);
        assert_eq!(pace.next_ms(), 795);
    }

    #[test]
    fn many_small_items_are_as_fast_as_a_few_large_ones() {
        let mut pace = Pace::new(25_000_000);
        (0..25_000).for_each(|_| pace.spend(1000, 100));
        assert_eq!(pace.next_ms(), 100 + 1000 - 5);
    }

    #[test]
    fn only_the_last_moment_that_was_not_used_may_be_used_later() {
        let mut pace = Pace::new(1_000_000);
        pace.spend(1000, 10_000);
        assert_eq!(pace.next_ms(), 9_996);
        pace.spend(4000, 10_000);
        assert_eq!(pace.next_ms(), 10_000);
        pace.spend(1000, 20_000);
        assert_eq!(pace.next_ms(), 19_996);
    }
}
