//! What the rest of the server knows of the repair: how it fares, and that somebody wants a pass.

mod told;

use farcache_redundancy::plan::repair::Figures;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How the repair is known to the rest of the server.
#[derive(Default)]
pub struct Repairs {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_wanted: bool,
    status: Status,
}

/// How the repair fares.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// What was done since the start.
    pub figures: Figures,
    /// Passes that have ended.
    pub passes: u64,
    /// Whether one is under way, and how much of it is done, in 1024ths.
    pub progress: Option<u64>,
    /// When the last one ended.
    pub last_finished: Option<SystemTime>,
    /// How long the last one took, or the present one so far.
    pub duration: Duration,
    /// Bytes fetched in the last pass, or the present one so far.
    pub pass_bytes: u64,
    /// Whether the last pass left nothing undone.
    pub is_complete: bool,
    /// Other servers that could not be reached in the last pass.
    pub unreachable: u64,
    /// Whether memory is full, so that only what is held already is brought up to date.
    pub is_full: bool,
}

impl Status {
    /// Bytes fetched a second, in the last pass or the present one.
    pub fn bytes_per_second(&self) -> u64 {
        let milliseconds = self.duration.as_millis().max(1);
        (u128::from(self.pass_bytes) * 1000 / milliseconds) as u64
    }
}

impl Repairs {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it fares now.
    pub fn status(&self) -> Status {
        self.state().status.clone()
    }

    /// Has a pass begin, now or when the present one has ended.
    pub fn demand(&self) {
        self.state().is_wanted = true;
        self.changed.notify_all();
    }

    /// Whether a pass was demanded since the last call; waits for that until `deadline`.
    pub fn take_demand(&self, deadline: Instant) -> bool {
        let mut state = self.state();
        loop {
            if std::mem::take(&mut state.is_wanted) {
                return true;
            }
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return false;
            }
            let waited = self.changed.wait_timeout(state, rest);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Tells how it fares now.
    pub fn change(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.state().status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demand_is_met_once_and_nobody_waits_longer_than_wanted() {
        let repairs = Repairs::default();
        repairs.demand();
        repairs.demand();
        let now = Instant::now();
        assert!(repairs.take_demand(now));
        assert!(!repairs.take_demand(now + Duration::from_millis(1)));
    }

    #[test]
    fn a_rate_is_that_of_the_pass() {
        let status = Status {
            pass_bytes: 3000,
            duration: Duration::from_millis(1500),
            ..Status::default()
        };
        assert_eq!(status.bytes_per_second(), 2000);
        assert_eq!(Status::default().bytes_per_second(), 0);
    }
}
