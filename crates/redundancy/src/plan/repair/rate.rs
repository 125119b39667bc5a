//! How fast a repair may go.

use std::time::Duration;

/// So much may be fetched at once after a pause.
const BURST: Duration = Duration::from_millis(50);

/// Lets so many bytes a second through, on the whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    bytes_per_second: u64,
    /// When what was let through is paid for.
    free_at: Duration,
}

impl Rate {
    /// # Panics
    /// With a rate of 0.
    pub fn new(bytes_per_second: u64) -> Rate {
        assert!(bytes_per_second > 0, "a repair that fetches nothing");
        Rate {
            bytes_per_second,
            free_at: Duration::ZERO,
        }
    }

    /// When the next bytes may be fetched; none where that is now.
    pub fn wait_until(&self, now: Duration) -> Option<Duration> {
        (self.free_at > now + BURST).then(|| self.free_at - BURST)
    }

    /// So many bytes are fetched now.
    pub fn take(&mut self, bytes: u64, now: Duration) {
        let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second);
        let cost = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        self.free_at = self.free_at.max(now).saturating_add(cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_goes_through_than_the_rate_allows() {
        let mut rate = Rate::new(1 << 20);
        let (mut now, mut bytes) = (Duration::ZERO, 0_u64);
        while now < Duration::from_secs(10) {
            match rate.wait_until(now) {
                Some(until) => {
                    assert!(until > now);
                    now = until;
                }
                None => {
                    rate.take(100_000, now);
                    bytes += 100_000;
                }
            }
        }
        let expected = 10 << 20;
        assert!((expected..expected + 200_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn a_pause_is_not_caught_up_with() {
        let mut rate = Rate::new(1000);
        rate.take(10, Duration::ZERO);
        let later = Duration::from_secs(100);
        rate.take(100, later);
        assert_eq!(
            rate.wait_until(later),
            Some(later + Duration::from_millis(50))
        );
    }
}
