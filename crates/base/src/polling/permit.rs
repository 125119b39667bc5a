//! Interference and backoff together: whether a thread that polls on its own may go on.

use super::backoff::Backoff;
use super::interference::Interference;
use std::time::Duration;

/// Interference and backoff, for a thread that polls on its own.
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
            Some(loss) => {
                self.backoff.interfered(now, loss);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::backoff::{KEPT_FACTOR, PAUSE_FACTOR_MAX, PAUSE_FACTOR_MIN};
    use super::super::interference::GAP_MIN;
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
        polled: Duration,
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
            let mut awake = Duration::ZERO;
            while self.now < end {
                if self.look() {
                    self.now += LOOK;
                    self.polled += LOOK;
                    awake += LOOK;
                } else {
                    self.now += SLICE;
                    awake = Duration::ZERO;
                    self.permit.resume(self.now);
                }
                if awake >= run {
                    self.preempt(stop);
                    awake = Duration::ZERO;
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
        assert!(host.lost < 60 * SECOND / 200, "lost {:?}", host.lost);
    }

    #[test]
    fn who_is_idle_in_between_pays_no_more_for_trials_on_a_busy_host() {
        let mut host = Host::default();
        let (turns, turn) = (100, SECOND / 3);
        for _ in 0..turns {
            host.run_until(host.now + turn, SLICE, 2 * SLICE);
            host.now += turn;
            host.permit.resume(host.now);
        }
        assert!(host.lost < turns * turn / 100, "lost {:?}", host.lost);
    }

    #[test]
    fn what_is_known_of_a_busy_host_grows_old() {
        let mut host = Host::default();
        host.run_until(60 * SECOND, SLICE, 2 * SLICE);
        host.now += 60 * SECOND;
        host.permit.resume(host.now);
        assert!(host.look());
        host.preempt(SLICE);
        assert!(!host.look());
        assert!(host.permit.may_poll(host.now + SLICE * PAUSE_FACTOR_MIN));
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
        let (stop, busy) = (2 * SLICE, 60 * SECOND);
        host.run_until(busy, SLICE, stop);
        host.run_until(
            busy + stop * PAUSE_FACTOR_MAX,
            Duration::MAX,
            Duration::ZERO,
        );
        assert!(host.look());
    }

    #[test]
    fn rare_interference_keeps_pauses_short() {
        let mut host = Host::default();
        let calm = SLICE * (KEPT_FACTOR + PAUSE_FACTOR_MIN + 1);
        for _ in 0..100 {
            host.run_until(host.now + calm, Duration::MAX, Duration::ZERO);
            host.preempt(SLICE);
            assert!(!host.look());
            let lost = SLICE + LOOK;
            assert!(host.permit.may_poll(host.now + lost * PAUSE_FACTOR_MIN));
        }
    }

    #[test]
    fn one_loss_after_a_busy_time_that_is_over_makes_a_short_pause() {
        let mut host = Host::default();
        host.run_until(60 * SECOND, SLICE, 2 * SLICE);
        host.run_until(host.now + 4 * SECOND, Duration::MAX, Duration::ZERO);
        host.preempt(SLICE);
        assert!(!host.look());
        let lost = SLICE + LOOK;
        assert!(host.permit.may_poll(host.now + lost * PAUSE_FACTOR_MIN));
    }

    #[test]
    fn processes_that_start_leave_most_of_the_time_to_polling() {
        let mut host = Host::default();
        let (turns, turn) = (60, SECOND / 2);
        for _ in 0..turns {
            // Something starts when the thread is asked first, and something else soon after that.
            let began = host.now;
            for started in [LOOK, SECOND / 6] {
                host.run_until(began + started, Duration::MAX, Duration::ZERO);
                host.preempt(3 * SLICE);
            }
            host.run_until(began + turn, Duration::MAX, Duration::ZERO);
            // Then it is asked nothing for as long.
            host.now = began + 2 * turn;
            host.permit.resume(host.now);
        }
        let polled = host.polled;
        assert!(polled > turns * turn / 2, "polled for {polled:?}");
    }
}
