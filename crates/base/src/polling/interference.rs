//! Whether a thread was without its processor between two looks.

use std::time::Duration;

/// Shortest time between two looks after which it is asked whether the processor was taken away.
/// Linux lets a thread run for 0.7 ms at least (`base_slice_ns` with one processor, more with
/// several) before another one that does not sleep gets its turn. Less than that is what a thread
/// takes that shares the processor and soon sleeps again, such as a client on the same one, with
/// which polling does well.
pub(super) const GAP_MIN: Duration = Duration::from_micros(500);

/// The count of switches is read anew after so long, so that a gap is not explained by an old one.
const COUNT_AGE_MAX: Duration = Duration::from_millis(1);

/// What a thread that polls has lost to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// How long it was without its processor.
    pub lost: Duration,
    /// How long it had kept its processor since the last loss, without the times in which it slept.
    pub kept: Duration,
}

/// Notices that its thread lost the processor between two looks.
#[derive(Debug, Default)]
pub struct Interference {
    looked_at: Duration,
    counted_at: Duration,
    switches: Option<u64>,
    kept: Duration,
}

impl Interference {
    /// The thread has slept or done something else until `now`, which is no loss.
    pub fn resume(&mut self, now: Duration) {
        self.looked_at = now;
    }

    /// The thread looks for something to do at `now`. `switches` reads how often the kernel has
    /// taken the processor from this thread (`ru_nivcsw`); it is called after a long gap, and once
    /// in a millisecond at most besides. Returns what the thread has lost since the last look, if
    /// it was without its processor.
    #[inline]
    pub fn look(&mut self, now: Duration, switches: impl FnOnce() -> u64) -> Option<Loss> {
        let gap = now.saturating_sub(self.looked_at);
        self.looked_at = now;
        let kept = self.kept;
        self.kept += gap;
        let is_fresh = now.saturating_sub(self.counted_at) < COUNT_AGE_MAX;
        if gap < GAP_MIN && is_fresh && self.switches.is_some() {
            return None;
        }
        self.counted_at = now;
        let count = switches();
        let before = self.switches.replace(count)?;
        if gap < GAP_MIN || count == before {
            return None;
        }
        self.kept = Duration::ZERO;
        Some(Loss { lost: gap, kept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_switches_is_read_once_in_a_millisecond() {
        let mut interference = Interference::default();
        let mut reads = 0;
        for micros in 0..10_000 {
            let now = Duration::from_secs(1) + Duration::from_micros(micros);
            let lost = interference.look(now, || {
                reads += 1;
                0
            });
            assert_eq!(lost, None);
        }
        assert_eq!(reads, 10);
    }
}
