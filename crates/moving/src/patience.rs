//! How long a request waits where the servers' maps differ for an instant.
//!
//! A request that was refused has done nothing, so it is made again: at once when another map comes
//! into force here or this server begins to decide on keys, and otherwise now and then, since the
//! other server may be the one that is behind. It is given up with the time that a forwarded
//! request has.

/// Shortest wait before anything is asked again, in milliseconds.
const SHORTEST_MS: u64 = 1;
/// Longest before a request is made again.
const LONGEST_MS: u64 = 32;
/// What part of the time that was waited already is waited once more.
const PART: u64 = 4;

/// How long to wait before asking again, after so much time in vain. Whoever asks so waits longer
/// than need be by a quarter at most, however long it takes; waits that double would make that as
/// long again.
#[must_use]
pub fn pause_ms(waited_ms: u64, longest_ms: u64) -> u64 {
    (waited_ms / PART).clamp(SHORTEST_MS, longest_ms)
}

/// What a request that was refused before waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    began_ms: u64,
    deadline_ms: u64,
}

impl Patience {
    /// A request that is refused for the first time.
    #[must_use]
    pub fn new(now_ms: u64, timeout_ms: u64) -> Patience {
        Patience {
            began_ms: now_ms,
            deadline_ms: now_ms + timeout_ms,
        }
    }

    /// When it is made again; none where it is given up.
    #[must_use]
    pub fn next_try_ms(&self, now_ms: u64) -> Option<u64> {
        let waited_ms = now_ms.saturating_sub(self.began_ms);
        let at = (now_ms + pause_ms(waited_ms, LONGEST_MS)).min(self.deadline_ms);
        (now_ms < self.deadline_ms).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_asks_again_until_the_time_is_over() {
        let tried = tries(Patience::new(1000, 45), 1000);
        let expected = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 41, 45];
        assert_eq!(tried, expected.map(|after| 1000 + after));
    }

    #[test]
    fn nobody_waits_longer_than_need_be_by_more_than_a_quarter() {
        let tried = tries(Patience::new(0, 1000), 0);
        for pair in tried.windows(2) {
            let wait = pair[1] - pair[0];
            assert!(wait == 1 || 4 * wait <= pair[0], "{tried:?}");
        }
        assert!(tried.len() < 50, "{tried:?}");
    }

    fn tries(patience: Patience, began_ms: u64) -> Vec<u64> {
        let next = |now: &u64| patience.next_try_ms(*now);
        std::iter::successors(next(&began_ms), next).collect()
    }
}
