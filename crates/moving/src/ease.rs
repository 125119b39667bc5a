//! How much of its rate a stream uses, so that clients come first.
//!
//! An old owner answers between its clients' requests, and the new one stores between its own. So
//! where processors, or the network between them, have all they can do, answers come late, as do
//! those to clients. Then the stream takes half of what it took, and more again, little by little,
//! with each answer that comes in time. An idea of LEDBAT (RFC 6817): what yields to others by the
//! time that answers take above the shortest seen needs to know nothing of these others.

/// Parts of the rate.
pub const WHOLE: u64 = 64;
/// The stream goes on, however late answers come: with so many parts.
const LEAST: u64 = 4;
/// An answer is late that took so many milliseconds more than the quickest.
const LATE_MS: u64 = 4;

/// What a stream uses of its rate.
#[derive(Debug)]
pub struct Ease {
    parts: u64,
    quickest_ms: u64,
    /// Answers to questions that were asked before this time tell nothing new.
    since_ms: u64,
}

impl Default for Ease {
    fn default() -> Self {
        Ease {
            parts: WHOLE,
            quickest_ms: u64::MAX,
            since_ms: 0,
        }
    }
}

impl Ease {
    /// An answer has come to a question that was asked at `asked_ms`. Whether that changes
    /// [`Ease::of`].
    pub fn answered(&mut self, asked_ms: u64, now_ms: u64) -> bool {
        let before = self.parts;
        let took_ms = now_ms.saturating_sub(asked_ms);
        self.quickest_ms = self.quickest_ms.min(took_ms);
        if took_ms < self.quickest_ms + LATE_MS {
            self.parts = (self.parts + 1).min(WHOLE);
        } else if asked_ms >= self.since_ms {
            self.parts = (self.parts / 2).max(LEAST);
            self.since_ms = now_ms;
        }
        self.parts != before
    }

    /// What is used of so many bytes a second; 0 is no limit, and stays so.
    #[must_use]
    pub fn of(&self, bytes_per_second: u64) -> u64 {
        bytes_per_second.div_ceil(WHOLE) * self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u64 = 640;

    #[test]
    fn who_is_answered_in_time_uses_all_and_who_is_not_half() {
        let mut ease = Ease::default();
        assert!(!ease.answered(0, 3));
        assert_eq!(ease.of(RATE), RATE);
        assert!(ease.answered(10, 13 + LATE_MS));
        assert_eq!(ease.of(RATE), RATE / 2);
        assert_eq!(ease.of(0), 0, "no limit");
    }

    #[test]
    fn questions_that_were_under_way_together_count_once() {
        let mut ease = Ease::default();
        ease.answered(0, 0);
        assert!(ease.answered(1, 10));
        assert!(!ease.answered(2, 12), "asked before it was eased");
        assert!(ease.answered(10, 20));
        assert_eq!(ease.of(RATE), RATE / 4);
    }

    #[test]
    fn it_goes_on_however_late_answers_are_and_uses_more_with_each_in_time() {
        let mut ease = Ease::default();
        ease.answered(0, 0);
        (1..20).for_each(|number| _ = ease.answered(100 * number, 100 * number + 50));
        assert_eq!(ease.of(RATE), 10 * LEAST);
        let answers = (0..).take_while(|number| ease.answered(9_000 + number, 9_001 + number));
        assert_eq!(answers.count() as u64, WHOLE - LEAST);
        assert_eq!(ease.of(RATE), RATE);
    }

    #[test]
    fn a_long_way_is_not_late() {
        let mut ease = Ease::default();
        (0..50).for_each(|number| _ = ease.answered(number, number + 80));
        assert_eq!(ease.of(RATE), RATE);
    }
}
