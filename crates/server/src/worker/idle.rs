//! Silence: closes connections whose clients say nothing for too long.

use super::Worker;
use farcache_base::time::Seconds;
use std::time::Duration;

/// When to look for silent connections.
pub(super) struct Sweep {
    timeout_seconds: u32,
    next: Seconds,
}

impl Sweep {
    /// Closes after `timeout_seconds` of silence; never if that is 0.
    pub fn new(timeout_seconds: u32) -> Self {
        Sweep {
            timeout_seconds,
            next: 0,
        }
    }

    /// How long the worker may sleep; none means for ever.
    pub fn timeout(&self) -> Option<Duration> {
        (self.timeout_seconds > 0).then(|| Duration::from_secs(1))
    }

    fn is_due(&mut self, now: Seconds) -> bool {
        let due = self.timeout_seconds > 0 && now >= self.next;
        if due {
            self.next = now + 1;
        }
        due
    }
}

impl Worker {
    /// Closes the connections that have been silent for too long, once a second.
    pub(super) fn close_silent(&mut self) {
        let now = self.resources.clock.now;
        if !self.idle.is_due(now) {
            return;
        }
        let timeout = self.idle.timeout_seconds;
        let silent: Vec<usize> = self
            .connections
            .iter()
            .filter(|(_, connection)| now - connection.info.last_command().min(now) > timeout)
            .map(|(slot, _)| slot)
            .collect();
        for slot in silent {
            self.resources.counters.idle_kicks.bump();
            self.close(slot);
        }
    }
}
