//! Clients whose large values wait for others' to arrive, and for how long they do.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long a value waits while none of the others ends: a few times as long as TCP needs to repair
/// the loss of a few packets in a row.
const STALL_TIME: Duration = Duration::from_secs(3);

/// How long a value waits at most. Clients that wait for longer than this for an answer are few.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// How often to look whether a value that arrives at another worker has ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// What the time between two looks counts for at most: while this worker does not run, because the
/// machine stands still, say, the values cannot end.
const LOOK_MAX: Duration = Duration::from_millis(100);

/// The clients that wait at one worker.
#[derive(Default)]
pub struct Arrivals {
    /// The waiting clients' slots, and since when they wait; the longest first.
    waiting: VecDeque<(usize, Duration)>,
    pace: Pace,
}

/// For how long the worker has waited for values to end, and whether they do.
#[derive(Default)]
struct Pace {
    /// When it last looked.
    looked: Option<Instant>,
    /// The time for which somebody has been waiting here.
    waited: Duration,
    /// Values that had ended at the last look, and when another one had.
    ended: (u64, Duration),
}

impl Pace {
    /// So many values have ended by now.
    fn look(&mut self, ended: u64, now: Instant) {
        let looked = self.looked.replace(now).unwrap_or(now);
        self.waited += now.duration_since(looked).min(LOOK_MAX);
        if self.ended.0 != ended {
            self.ended = (ended, self.waited);
        }
    }

    /// Whether no value has ended for too long, for somebody who waits since then.
    fn is_in_vain(&self, since: Duration) -> bool {
        self.waited - since.max(self.ended.1) >= STALL_TIME
    }

    /// Whether somebody who waits since then has done so for too long in any case.
    fn is_too_long(&self, since: Duration) -> bool {
        self.waited - since >= WAIT_MAX
    }
}

/// A client that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its connection's slot.
    pub slot: usize,
    /// No value has ended for too long since it waits.
    pub is_in_vain: bool,
    /// It has waited for too long in any case.
    pub is_too_long: bool,
}

impl Arrivals {
    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How long the worker may sleep; none means for ever.
    pub fn timeout(&self) -> Option<Duration> {
        (!self.waiting.is_empty()).then_some(LOOK_INTERVAL)
    }

    /// The connection in this slot waits from now on.
    pub fn begin(&mut self, slot: usize) {
        self.waiting.push_back((slot, self.pace.waited));
    }

    /// So many values have ended by now.
    pub fn look(&mut self, ended: u64, now: Instant) {
        self.pace.look(ended, now);
    }

    /// Who waits, the longest first.
    pub fn waiting(&self) -> impl Iterator<Item = Waiting> {
        self.waiting.iter().map(|&(slot, since)| Waiting {
            slot,
            is_in_vain: self.pace.is_in_vain(since),
            is_too_long: self.pace.is_too_long(since),
        })
    }

    /// The connection waits no longer, or has gone.
    pub fn forget(&mut self, slot: usize) {
        self.waiting.retain(|(other, _)| *other != slot);
        if self.waiting.is_empty() {
            self.pace = Pace::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many seconds pass, with a look every 100 ms; `ended` tells how many values have ended.
    fn pass(pace: &mut Pace, seconds: u32, ended: impl Fn(u32) -> u64) {
        let begin = pace.looked.unwrap_or_else(Instant::now);
        for look in 1..=10 * seconds {
            pace.look(ended(look), begin + LOOK_MAX * look);
        }
    }

    #[test]
    fn as_long_as_values_end_waiting_is_not_in_vain_but_ends() {
        let mut pace = Pace::default();
        pace.look(0, Instant::now());
        let since = pace.waited;
        pass(&mut pace, 9, |look| u64::from(look / 20));
        assert!(!pace.is_in_vain(since) && !pace.is_too_long(since));
        pass(&mut pace, 1, |_| 5);
        assert!(!pace.is_in_vain(since) && pace.is_too_long(since));
    }

    #[test]
    fn where_no_value_ends_waiting_is_in_vain_after_a_time() {
        let mut pace = Pace::default();
        pace.look(7, Instant::now());
        let first = pace.waited;
        pass(&mut pace, 2, |_| 7);
        let second = pace.waited;
        assert!(!pace.is_in_vain(first));
        pass(&mut pace, 1, |_| 7);
        assert!(pace.is_in_vain(first));
        assert!(!pace.is_in_vain(second), "who came later");
        pass(&mut pace, 1, |_| 8);
        assert!(!pace.is_in_vain(first));
    }

    #[test]
    fn time_in_which_the_worker_does_not_run_does_not_count() {
        let begin = Instant::now();
        let mut pace = Pace::default();
        pace.look(0, begin);
        pace.look(0, begin + 100 * WAIT_MAX);
        assert!(!pace.is_in_vain(Duration::ZERO) && !pace.is_too_long(Duration::ZERO));
    }
}
