//! How long an idle worker polls before it sleeps.
//!
//! Waking a sleeping thread costs several microseconds, which a request that comes soon should not
//! pay; polling in vain costs a core. So the budget follows what happens, by the rule by which
//! KVM polls before it halts a virtual CPU: a sleep that was shorter than the budget allows
//! polling to grow, a longer one makes it shrink, to nothing if that goes on.
//!
//! All of this holds only while the worker has its processor to itself
//! ([`farcache_base::polling`]).

use super::{device, messages};
use farcache_base::polling::PollPermit;
use nix::sys::resource::{UsageWho, getrusage};
use std::time::{Duration, Instant};

/// Fraction of the most that a grown budget starts with.
const START_FRACTION: u32 = 8;

/// Growth and shrinkage per sleep.
const FACTOR: u32 = 2;

/// Decides between polling and sleeping.
#[derive(Debug)]
pub(super) struct Polling {
    most: Duration,
    budget: Duration,
    idle_since: Option<Instant>,
}

impl Polling {
    /// Polls for at most `most` after activity; not at all if that is zero.
    pub fn new(most: Duration) -> Self {
        Polling {
            most,
            budget: most,
            idle_since: None,
        }
    }

    /// Whether it polls at all, now.
    pub fn is_wanted(&self) -> bool {
        !self.budget.is_zero()
    }

    /// There was something to do.
    pub fn active(&mut self) {
        self.idle_since = None;
    }

    /// There was nothing to do at `now`: whether to sleep instead of looking again.
    pub fn should_sleep(&mut self, now: Instant) -> bool {
        let since = *self.idle_since.get_or_insert(now);
        now.duration_since(since) >= self.budget
    }

    /// The worker slept and was woken at `now`, by something to do.
    pub fn woken(&mut self, now: Instant) {
        let Some(since) = self.idle_since.take() else {
            return;
        };
        if now.duration_since(since) <= self.most {
            self.budget = (self.budget * FACTOR)
                .max(self.most / START_FRACTION)
                .min(self.most);
        } else {
            self.budget /= FACTOR;
            if self.budget < Duration::from_micros(1) {
                self.budget = Duration::ZERO;
            }
        }
    }
}

/// How long a worker polls, by what it waits for.
#[derive(Debug)]
pub(super) struct Budgets {
    pub sockets: Polling,
    /// While reads of the SSD tier are under way, which take longer than the next request.
    pub devices: Polling,
    /// While there are sessions on the fabric.
    pub messages: Polling,
}

impl Budgets {
    /// Polls for at most `most` for requests over sockets, and for its multiples for what takes
    /// longer.
    pub fn new(most: Duration) -> Self {
        Budgets {
            sockets: Polling::new(most),
            devices: Polling::new(most * device::POLL_FACTOR),
            messages: Polling::new(most * messages::POLL_FACTOR),
        }
    }

    /// There was something to do.
    pub fn active(&mut self) {
        self.sockets.active();
        self.devices.active();
        self.messages.active();
    }
}

/// Whether a worker may poll at all. Used by the worker's thread alone, whose switches are counted.
#[derive(Debug)]
pub(super) struct Permit {
    is_wanted: bool,
    start: Instant,
    /// None where the thread has other workers, too: what passes between this one's looks tells
    /// nothing then.
    permit: Option<PollPermit>,
}

impl Permit {
    /// Never permits anything unless polling `is_wanted`.
    pub fn new(is_wanted: bool) -> Self {
        Permit {
            is_wanted,
            start: Instant::now(),
            permit: Some(PollPermit::default()),
        }
    }

    /// The thread has other workers, too, from now on, which are next when this one has nothing to
    /// do: polling is permitted at all times, if it is wanted.
    pub fn share_thread(&mut self) {
        self.permit = None;
    }

    /// Whether the thread has other workers, too.
    pub fn shares_thread(&self) -> bool {
        self.permit.is_none()
    }

    /// Whether there is to be any polling at all.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// The worker looks for something to do at `now`; whether it may look again without sleeping.
    pub fn look(&mut self, now: Instant) -> bool {
        let since_start = now.duration_since(self.start);
        let looks = |permit: &mut PollPermit| permit.look(since_start, involuntary_switches);
        self.is_wanted && self.permit.as_mut().is_none_or(looks)
    }

    /// Whether the worker may poll at `now`.
    pub fn may_poll(&self, now: Instant) -> bool {
        let since_start = now.duration_since(self.start);
        let may_poll = |permit: &PollPermit| permit.may_poll(since_start);
        self.is_wanted && self.permit.as_ref().is_none_or(may_poll)
    }

    /// The worker has slept until `now`.
    pub fn woken(&mut self, now: Instant) {
        if let Some(permit) = &mut self.permit {
            permit.resume(now.duration_since(self.start));
        }
    }
}

/// How often the kernel has taken the processor from this thread.
fn involuntary_switches() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD);
    // It cannot fail; if it did, nothing would ever seem to interfere.
    usage.map_or(0, |usage| usage.involuntary_context_switches() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Duration = Duration::from_micros(50);

    fn sleep_for(polling: &mut Polling, at: Instant, pause: Duration) {
        polling.active();
        assert!(polling.should_sleep(at) || polling.budget > Duration::ZERO);
        polling.woken(at + pause);
    }

    #[test]
    fn a_busy_worker_polls_for_the_whole_budget() {
        let start = Instant::now();
        let mut polling = Polling::new(MOST);
        assert!(!polling.should_sleep(start));
        assert!(!polling.should_sleep(start + MOST / 2));
        assert!(polling.should_sleep(start + MOST));
        polling.active();
        assert!(!polling.should_sleep(start + MOST));
    }

    #[test]
    fn rare_requests_end_polling_and_frequent_ones_bring_it_back() {
        let start = Instant::now();
        let mut polling = Polling::new(MOST);
        for _ in 0..10 {
            sleep_for(&mut polling, start, MOST * 100);
        }
        assert!(polling.should_sleep(start), "polling has stopped");
        polling.woken(start + MOST / 2);
        assert_eq!(polling.budget, MOST / START_FRACTION);
        for _ in 0..4 {
            sleep_for(&mut polling, start, MOST / 2);
        }
        assert_eq!(polling.budget, MOST);
    }

    #[test]
    fn without_a_budget_it_never_polls() {
        let start = Instant::now();
        let mut polling = Polling::new(Duration::ZERO);
        assert!(polling.should_sleep(start));
        polling.woken(start);
        assert!(polling.should_sleep(start));
    }
}
