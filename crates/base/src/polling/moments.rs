//! Polling for a moment, also where it is barred otherwise.

use std::time::Duration;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
