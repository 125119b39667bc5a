//! Whether a thread may poll: only while it has its processor to itself.
//!
//! Polling saves the time of a wake-up as long as both ends run. Where other threads want the same
//! processor it does harm: Linux gives a thread that has slept the processor at once when it is
//! woken, and lets one that has spent its share by polling wait for whole time slices, some
//! milliseconds each. One that offers its processor to others (`sched_yield`) even gives up a slice
//! each time. A container's quota of processor time ends in the same way: who polls spends it in
//! vain and is then stopped for up to a tenth of a second.
//!
//! So a thread that polls watches the time between two looks ([`Interference`]). Where it is long,
//! and the kernel has taken the processor away meanwhile, polling ends at once, and is tried again
//! after a pause that grows with each trial that fails ([`Backoff`]).
//!
//! Times are those since any one moment. Nothing here asks for the time or the kernel's counts.

use std::time::Duration;

/// Shortest time between two looks after which it is asked whether the processor was taken away.
/// Linux lets a thread run for 0.7 ms at least (`base_slice_ns` with one processor, more with
/// several) before another one that does not sleep gets its turn. Less than that is what a thread
/// takes that shares the processor and soon sleeps again, such as a client on the same one, with
/// which polling does well.
pub const GAP_MIN: Duration = Duration::from_micros(500);

/// The count of switches is read anew after so long, so that a gap is not explained by an old one.
const COUNT_AGE_MAX: Duration = Duration::from_millis(1);

/// The first pause, in times of what was lost.
const PAUSE_FACTOR_MIN: u32 = 8;

/// The longest pause, in times of what was lost: a trial that fails costs a thousandth of the time.
const PAUSE_FACTOR_MAX: u32 = 1024;

/// The longest pause: so long after the end of all interference polling is back.
pub const PAUSE_MAX: Duration = Duration::from_secs(10);

/// A trial has failed if it ends within so many times the pause before it.
const TRIAL_FACTOR: u32 = 4;

/// Notices that its thread lost the processor between two looks.
#[derive(Debug, Default)]
pub struct Interference {
    looked_at: Duration,
    counted_at: Duration,
    switches: Option<u64>,
}

impl Interference {
    /// The thread has slept or done something else until `now`, which is no loss.
    pub fn resume(&mut self, now: Duration) {
        self.looked_at = now;
    }

    /// The thread looks for something to do at `now`. `switches` reads how often the kernel has
    /// taken the processor from this thread (`ru_nivcsw`); it is called after a long gap, and once
    /// in a millisecond at most besides. Returns for how long the thread was without its processor,
    /// if it was.
    #[inline]
    pub fn look(&mut self, now: Duration, switches: impl FnOnce() -> u64) -> Option<Duration> {
        let gap = now.saturating_sub(self.looked_at);
        self.looked_at = now;
        let is_fresh = now.saturating_sub(self.counted_at) < COUNT_AGE_MAX;
        if gap < GAP_MIN && is_fresh && self.switches.is_some() {
            return None;
        }
        self.counted_at = now;
        let count = switches();
        let before = self.switches.replace(count)?;
        (gap >= GAP_MIN && count != before).then_some(gap)
    }
}

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

    /// A thread that polled was without its processor for the time `lost` until `now`.
    pub fn interfered(&mut self, now: Duration, lost: Duration) {
        if !self.may_poll(now) {
            // Another thread has told before.
            return;
        }
        let went_well = now - self.barred_until;
        let first = lost * PAUSE_FACTOR_MIN;
        let wanted = match went_well < self.pause * TRIAL_FACTOR {
            true => first.max(self.pause * 2),
            false => first,
        };
        self.pause = wanted.min(lost * PAUSE_FACTOR_MAX).min(PAUSE_MAX);
        self.barred_until = now + self.pause;
    }
}

/// Both, for a thread that polls on its own.
#[derive(Debug, Default)]
pub struct PollPermit {
    interference: Interference,
    backoff: Backoff,
}

impl PollPermit {
    /// As [`Interference::resume`].
    pub fn resume(&mut self, now: Duration) {
        self.interference.resume(now);
    }

    /// Whether to poll at `now`.
    #[inline]
    pub fn may_poll(&self, now: Duration) -> bool {
        self.backoff.may_poll(now)
    }

    /// The thread looks for something to do, as in [`Interference::look`]; whether it may poll on.
    #[inline]
    pub fn look(&mut self, now: Duration, switches: impl FnOnce() -> u64) -> bool {
        if !self.backoff.may_poll(now) {
            self.interference.resume(now);
            return false;
        }
        match self.interference.look(now, switches) {
            None => true,
            Some(lost) => {
                self.backoff.interfered(now, lost);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Duration = Duration::from_micros(1);
    const SLICE: Duration = Duration::from_millis(4);
    const SECOND: Duration = Duration::from_secs(1);

    /// A thread on a processor that others want too, in simulated time.
    #[derive(Default)]
    struct Host {
        now: Duration,
        switches: u64,
        permit: PollPermit,
        lost: Duration,
    }

    impl Host {
        /// The thread loses its processor for so long.
        fn preempt(&mut self, time: Duration) {
            self.now += time;
            self.lost += time;
            self.switches += 1;
        }

        fn look(&mut self) -> bool {
            let switches = self.switches;
            self.permit.look(self.now, || switches)
        }

        /// Until `end`: the thread polls while it may, and sleeps while it may not. Whoever polls
        /// for `run` without sleep loses the processor for `stop`.
        fn run_until(&mut self, end: Duration, run: Duration, stop: Duration) {
            let mut polled = Duration::ZERO;
            while self.now < end {
                if self.look() {
                    self.now += LOOK;
                    polled += LOOK;
                } else {
                    self.now += SLICE;
                    polled = Duration::ZERO;
                    self.permit.resume(self.now);
                }
                if polled >= run {
                    self.preempt(stop);
                    polled = Duration::ZERO;
                }
            }
        }
    }

    #[test]
    fn who_keeps_the_processor_may_poll() {
        let mut host = Host::default();
        host.run_until(SECOND, Duration::MAX, Duration::ZERO);
        assert!(host.look());
    }

    #[test]
    fn the_count_of_switches_is_read_once_in_a_millisecond() {
        let mut interference = Interference::default();
        let mut reads = 0;
        for micros in 0..10_000 {
            let now = SECOND + Duration::from_micros(micros);
            let lost = interference.look(now, || {
                reads += 1;
                0
            });
            assert_eq!(lost, None);
        }
        assert_eq!(reads, 10);
    }

    #[test]
    fn who_loses_the_processor_stops_polling_at_once() {
        let mut host = Host::default();
        assert!(host.look());
        host.preempt(SLICE);
        assert!(!host.look());
        assert!(!host.permit.may_poll(host.now + SLICE));
        assert!(host.permit.may_poll(host.now + SLICE * PAUSE_FACTOR_MIN));
    }

    #[test]
    fn a_gap_without_a_switch_is_not_interference() {
        let mut host = Host::default();
        assert!(host.look());
        // The host of a virtual machine has stopped its processor; or the thread has done something
        // long.
        host.now += SLICE;
        assert!(host.look());
    }

    #[test]
    fn a_switch_without_a_gap_is_not_interference() {
        let mut host = Host::default();
        for _ in 0..10_000 {
            // A client on the same processor, which soon sleeps again.
            host.preempt(GAP_MIN / 5);
            assert!(host.look());
        }
    }

    #[test]
    fn a_gap_is_not_explained_by_switches_before_it() {
        let mut host = Host::default();
        assert!(host.look());
        host.preempt(LOOK);
        host.run_until(SECOND, Duration::MAX, Duration::ZERO);
        host.now += SLICE;
        assert!(host.look());
    }

    #[test]
    fn neither_sleep_nor_a_first_look_is_interference() {
        let mut host = Host {
            now: SECOND,
            switches: 7,
            ..Host::default()
        };
        assert!(host.look());
        host.now += SECOND;
        host.switches += 1;
        host.permit.resume(host.now);
        assert!(host.look());
    }

    #[test]
    fn trials_on_a_busy_host_cost_next_to_nothing() {
        let mut host = Host::default();
        host.run_until(60 * SECOND, SLICE, 2 * SLICE);
        assert!(host.lost < 60 * SECOND / 500, "lost {:?}", host.lost);
    }

    #[test]
    fn trials_under_a_quota_cost_next_to_nothing() {
        let mut host = Host::default();
        let (quota, rest) = (Duration::from_millis(20), Duration::from_millis(80));
        host.run_until(600 * SECOND, quota, rest);
        assert!(host.lost < 600 * SECOND / 100, "lost {:?}", host.lost);
    }

    #[test]
    fn polling_is_back_when_the_others_are_gone() {
        let mut host = Host::default();
        let (busy, calm) = (60 * SECOND, 60 * SECOND + PAUSE_MAX);
        host.run_until(busy, SLICE, 2 * SLICE);
        host.run_until(calm, Duration::MAX, Duration::ZERO);
        assert!(host.look());
    }

    #[test]
    fn rare_interference_keeps_pauses_short() {
        let mut host = Host::default();
        for second in 1..60 {
            host.run_until(second * SECOND, Duration::MAX, Duration::ZERO);
            host.preempt(SLICE);
            assert!(!host.look());
            let lost = SLICE + LOOK;
            assert!(host.permit.may_poll(host.now + lost * PAUSE_FACTOR_MIN));
        }
    }

    #[test]
    fn threads_that_tell_of_the_same_interference_make_one_pause() {
        let mut backoff = Backoff::default();
        backoff.interfered(SECOND, SLICE);
        backoff.interfered(SECOND, SLICE);
        assert!(backoff.may_poll(SECOND + SLICE * PAUSE_FACTOR_MIN));
    }
}
