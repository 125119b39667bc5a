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
//! after a pause ([`Backoff`]).
//!
//! How long the pause is depends on the share of its time that a thread loses while it polls. A
//! quiet processor is taken away now and then too, by a process that starts or a timer that is due.
//! That costs little, while polling often makes a request three times as fast. So one loss makes a
//! short pause. The pause doubles while polling loses more than a sixteenth of the time, and halves
//! while it loses less.
//!
//! Who has lost the processor may still poll for a moment, where that brings what it waits for
//! ([`Moments`]): the other end of a conversation that answers within microseconds is worth the
//! processor's time, which would be spent on sleeping and waking up otherwise. Nobody yields then.
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

/// The shortest pause, in times of what was lost.
const PAUSE_FACTOR_MIN: u32 = 4;

/// The longest pause, in times of what was lost: a trial that fails costs 0.4 % of the time.
const PAUSE_FACTOR_MAX: u32 = 256;

/// The longest pause: so long after the end of all interference polling is back.
pub const PAUSE_MAX: Duration = Duration::from_secs(10);

/// A trial goes well if the thread keeps its processor for so many times what it loses in the end.
const KEPT_FACTOR: u32 = 16;

/// How long a moment is: less than falling asleep and being woken up takes at both ends.
pub const MOMENT: Duration = Duration::from_micros(25);

/// Longest row of waits in which no moment is tried, after as many in vain.
const MOMENTS_SKIPPED_MAX: u32 = 64;

/// Whether to poll for a [`MOMENT`] where polling is barred. It is, as long as that finds
/// something; after a moment in vain waits are slept through, twice as many after each, and then it
/// is tried anew.
#[derive(Debug, Default)]
pub struct Moments {
    skipped: u32,
    left: u32,
}

impl Moments {
    /// A wait begins: whether to poll for a moment.
    pub fn begin(&mut self) -> bool {
        let is_tried = self.left == 0;
        self.left = self.left.saturating_sub(1);
        is_tried
    }

    /// A moment has ended, with something found or in vain.
    pub fn ended(&mut self, has_found: bool) {
        self.skipped = match has_found {
            true => 0,
            false => (self.skipped * 2).clamp(1, MOMENTS_SKIPPED_MAX),
        };
        self.left = self.skipped;
    }
}

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

    /// Moments among so many waits, of which `is_answered` says which are answered within one.
    fn moments_tried(waits: u32, is_answered: impl Fn(u32) -> bool) -> u32 {
        let mut moments = Moments::default();
        let mut tried = 0;
        for wait in 0..waits {
            if moments.begin() {
                tried += 1;
                moments.ended(is_answered(wait));
            }
        }
        tried
    }

    #[test]
    fn a_moment_that_finds_something_is_followed_by_another() {
        assert_eq!(moments_tried(1000, |_| true), 1000);
    }

    #[test]
    fn moments_in_vain_become_rare() {
        let tried = moments_tried(10_000, |_| false);
        assert!(tried <= 10_000 / MOMENTS_SKIPPED_MAX + 7, "{tried}");
    }

    #[test]
    fn moments_are_back_when_they_find_something_again() {
        let answered = 5000;
        let tried = moments_tried(10_000, |wait| wait >= answered);
        assert!(tried >= 10_000 - answered - MOMENTS_SKIPPED_MAX, "{tried}");
    }

    #[test]
    fn one_moment_in_vain_costs_one_wait() {
        assert_eq!(moments_tried(1000, |wait| wait != 500), 999);
    }

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
