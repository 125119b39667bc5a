//! How long a request waits where the servers' maps differ for an instant.
//!
//! A request that was refused has done nothing, so it is made again: at once when another map comes
//! into force here, and otherwise now and then, since the other server may be the one that is
//! behind. It is given up with the time that a forwarded request has.

/// First wait before a request is made again, in milliseconds.
const FIRST_MS: u64 = 1;
/// Longest.
const LONGEST_MS: u64 = 32;

/// What a request that was refused before waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    deadline_ms: u64,
    tries: u32,
}

impl Patience {
    /// A request that is refused for the first time.
    #[must_use]
    pub fn new(now_ms: u64, timeout_ms: u64) -> Patience {
        Patience {
            deadline_ms: now_ms + timeout_ms,
            tries: 0,
        }
    }

    /// When it is made again; none where it is given up.
    pub fn next_try_ms(&mut self, now_ms: u64) -> Option<u64> {
        let wait = (FIRST_MS << self.tries.min(8)).min(LONGEST_MS);
        self.tries += 1;
        let at = (now_ms + wait).min(self.deadline_ms);
        (now_ms < self.deadline_ms).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_asks_again_until_the_time_is_over() {
        let mut patience = Patience::new(1000, 100);
        let mut tried = Vec::new();
        let mut now = 1000;
        while let Some(next) = patience.next_try_ms(now) {
            tried.push(next);
            now = next;
        }
        assert_eq!(tried, [1001, 1003, 1007, 1015, 1031, 1063, 1095, 1100]);
    }
}
