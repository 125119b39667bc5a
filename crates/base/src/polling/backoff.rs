//! How long polling pauses after a loss.

use super::interference::Loss;
use std::time::Duration;

/// The shortest pause, in times of what was lost.
pub(super) const PAUSE_FACTOR_MIN: u32 = 4;

/// The longest pause, in times of what was lost: a trial that fails costs 0.4 % of the time.
pub(super) const PAUSE_FACTOR_MAX: u32 = 256;

/// The longest pause: so long after the end of all interference polling is back.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// A trial goes well if the thread keeps its processor for so many times what it loses in the end.
pub(super) const KEPT_FACTOR: u32 = 16;

/// When polling is permitted.
#[derive(Debug, Default)]
pub struct Backoff {
    barred_until: Duration,
    pause: Duration,
}

impl Backoff {
    /// Whether to poll at `now`.
    #[inline]
    pub fn may_poll(&self, now: Duration) -> bool {
        now >= self.barred_until
    }

    /// A thread that polled has lost its processor and has it again since `now`.
    pub fn interfered(&mut self, now: Duration, loss: Loss) {
        if !self.may_poll(now) {
            // Another thread has told before.
            return;
        }
        let Loss { lost, kept } = loss;
        let shortest = lost * PAUSE_FACTOR_MIN;
        let longest = PAUSE_MAX.min(lost * PAUSE_FACTOR_MAX);
        // A thread that is asked little polls little, so what it knows grows old as well.
        let age = now - self.barred_until;
        let halvings = kept.div_duration_f64(lost * KEPT_FACTOR) + age.div_duration_f64(longest);
        let wanted = match halvings as u32 {
            0 => self.pause * 2,
            halvings => self.pause / 2u32.saturating_pow(halvings),
        };
        self.pause = wanted.max(shortest).min(longest);
        self.barred_until = now + self.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_millis(4);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn threads_that_tell_of_the_same_interference_make_one_pause() {
        let mut backoff = Backoff::default();
        let loss = Loss {
            lost: SLICE,
            kept: SLICE,
        };
        backoff.interfered(SECOND, loss);
        backoff.interfered(SECOND, loss);
        assert!(backoff.may_poll(SECOND + SLICE * PAUSE_FACTOR_MIN));
    }
}
