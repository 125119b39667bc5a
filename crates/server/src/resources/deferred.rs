//! Work that lets others go first: the queue of it, and whether it has to wait.

use farcache_store::ReadId;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// For how long others let go first after such a connection's request.
const DEFER_TIME: Duration = Duration::from_millis(1);

/// Work that lets others go first.
#[derive(Clone, Copy, Debug)]
pub enum Piece {
    /// These reads have ended: their request goes on.
    Ended(ReadId),
    /// This connection has input, and its last request needed a device.
    Input(usize),
}

/// What waits, and whether it has to.
#[derive(Default)]
pub struct DeferredQueue {
    /// The oldest first.
    pub pieces: VecDeque<Piece>,
    /// When a request that goes first was last served.
    served_at: Option<Instant>,
}

impl DeferredQueue {
    /// A request that goes first was served.
    pub fn note_served(&mut self, now: Instant) {
        self.served_at = Some(now);
    }

    /// Whether there are connections that go first.
    pub fn is_claimed(&self, now: Instant) -> bool {
        self.served_at
            .is_some_and(|at| now.duration_since(at) < DEFER_TIME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_let_it_go_first_for_a_while() {
        let start = Instant::now();
        let mut deferred = DeferredQueue::default();
        assert!(!deferred.is_claimed(start));
        deferred.note_served(start);
        assert!(deferred.is_claimed(start + DEFER_TIME / 2));
        assert!(!deferred.is_claimed(start + DEFER_TIME));
    }
}
