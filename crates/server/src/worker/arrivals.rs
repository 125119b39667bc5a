//! Waiting for others' values to arrive: large values may take a part of the memory while they do,
//! and a connection whose value would be too much beside them waits for its turn.
//!
//! It keeps its input, and nothing more is read from it, as while it waits for a device. Who sends
//! half of a value and no more must not stop it for ever: it is refused when none of the others' values
//! has ended for [`STALL_TIME`], or when it has waited for [`WAIT_MAX`].

use super::Worker;
use super::connection::Connection;
use super::resources::Resources;
use farcache_session::{Status, Turn};
use farcache_store::Suspended;
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

/// What a connection knows of its wait.
#[derive(Default)]
pub(super) struct Wait {
    /// Its place among all.
    pub turn: Turn,
    /// The worker's list names it.
    is_listed: bool,
    /// It is to wait on; otherwise its request is tried once more.
    is_waiting: bool,
}

impl Wait {
    /// Whether its input must wait.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }
}

/// The clients that wait at one worker.
#[derive(Default)]
pub(super) struct Arrivals {
    /// Their slots, and since when; the longest first.
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

impl Arrivals {
    /// How long the worker may sleep; none means for ever.
    pub fn timeout(&self) -> Option<Duration> {
        (!self.waiting.is_empty()).then_some(LOOK_INTERVAL)
    }

    /// The connection waits no longer, or has gone.
    fn forget(&mut self, slot: usize) {
        self.waiting.retain(|(other, _)| *other != slot);
        if self.waiting.is_empty() {
            self.pace = Pace::default();
        }
    }
}

/// The session has run: begins its wait, goes on with it, or ends it.
#[inline]
pub(super) fn settle(connection: &mut Connection, status: Status, resources: &mut Resources) {
    let begins = status == Status::Suspended(Suspended::OnArrivals);
    if begins || connection.wait.is_listed {
        list(connection, begins, resources);
    }
}

fn list(connection: &mut Connection, begins: bool, resources: &mut Resources) {
    let arrivals = &mut resources.waits.arrivals;
    let wait = &mut connection.wait;
    wait.is_waiting = begins;
    if begins && !wait.is_listed {
        let since = arrivals.pace.waited;
        arrivals.waiting.push_back((connection.slot, since));
    } else if !begins {
        wait.turn.leave();
        arrivals.forget(connection.slot);
    }
    wait.is_listed = begins;
}

impl Worker {
    /// Lets those try again for whom there may be room now, or who have waited for long enough.
    pub(super) fn tend_arrivals(&mut self) {
        if self.resources.waits.arrivals.waiting.is_empty() {
            return;
        }
        let now = self.resources.turn_began;
        let limit = &self.resources.shared.service.arriving;
        let ended = limit.ended();
        let arrivals = &mut self.resources.waits.arrivals;
        arrivals.pace.look(ended, now);
        let mut blocked = Vec::new();
        for &(slot, since) in &arrivals.waiting {
            let connection = &mut self.connections[slot];
            let is_in_vain = arrivals.pace.is_in_vain(since);
            if is_in_vain || arrivals.pace.is_too_long(since) {
                connection.wait.turn.give_up();
            } else if !limit.may_try(&connection.wait.turn) {
                continue;
            }
            if is_in_vain {
                limit.note_in_vain(ended);
            }
            connection.wait.is_waiting = false;
            connection.unfinished = true;
            if connection.has_unsent() {
                blocked.push(slot);
            } else if !connection.is_queued {
                connection.is_queued = true;
                self.unfinished.push(slot);
            }
        }
        for slot in blocked {
            self.let_pass(slot);
        }
    }

    /// The client has yet to take replies that come first: others must not wait for that.
    fn let_pass(&mut self, slot: usize) {
        let wait = &mut self.connections[slot].wait;
        wait.is_listed = false;
        wait.turn.leave();
        self.resources.waits.arrivals.forget(slot);
    }

    /// A connection that may wait closes.
    pub(super) fn stop_queueing(&mut self, connection: &Connection) {
        if connection.wait.is_listed {
            self.resources.waits.arrivals.forget(connection.slot);
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
