//! How much of a processor the sweep of the index takes: about half of one that is idle otherwise,
//! and a small part of one that others want.

use crate::schedule::Instant;
use std::ops::RangeInclusive;
use std::time::Duration;

/// After each part of its work the sweep rests for so many times as long as that took, at least and
/// at most.
const TIMES: RangeInclusive<u32> = 1..=32;

/// Whoever goes on so much later than was due has waited for a processor that others want.
const LATE: Duration = Duration::from_micros(250);

/// When the next part is due.
pub(super) struct Rest {
    due: Instant,
    times: u32,
    /// How long the last part took.
    part: Duration,
}

impl Rest {
    /// The first part is due now.
    pub fn over(now: Instant) -> Rest {
        Rest {
            due: now,
            times: *TIMES.start(),
            part: Duration::ZERO,
        }
    }

    /// The next part, after a time without any, is due now; but where others want the processor,
    /// after as long a rest as the last one. Those who gave the work are most likely to want it
    /// just then.
    pub fn anew(&self, now: Instant) -> Rest {
        Rest {
            due: now + self.part * (self.times - TIMES.start()),
            ..*self
        }
    }

    /// How long it lasts still.
    pub fn left(&self, now: Instant) -> Duration {
        self.due.saturating_duration_since(now)
    }

    /// A part has taken from `began` until `ended`: that, and how late it began, says how long the
    /// next rest is.
    pub fn follow(&mut self, began: Instant, ended: Instant) {
        let is_late = began.saturating_duration_since(self.due) >= LATE;
        let times = match is_late {
            true => self.times.saturating_mul(2),
            false => self.times.saturating_sub(1),
        };
        self.times = times.clamp(*TIMES.start(), *TIMES.end());
        self.part = ended.duration_since(began);
        self.due = ended + self.part * self.times;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: Duration = Duration::from_micros(100);

    /// Does parts, each begun so late, and returns for how many times as long the last rest is.
    fn rest_after(parts: usize, late: Duration, rest: &mut Rest) -> u32 {
        for _ in 0..parts {
            let began = rest.due + late;
            rest.follow(began, began + PART);
        }
        let ended = rest.due - PART * rest.times;
        (rest.left(ended).as_micros() / PART.as_micros()) as u32
    }

    #[test]
    fn who_goes_on_late_rests_longer_and_who_does_not_shorter_again() {
        let mut rest = Rest::over(Instant::now());
        assert_eq!(rest_after(1, Duration::ZERO, &mut rest), 1);
        assert_eq!(rest_after(3, LATE, &mut rest), 8);
        assert_eq!(rest_after(9, LATE, &mut rest), 32, "not for ever longer");
        assert_eq!(rest_after(30, PART, &mut rest), 2);
        assert_eq!(rest_after(9, PART, &mut rest), 1);
    }

    #[test]
    fn what_begins_anew_begins_at_once_only_where_the_processor_was_idle() {
        let mut rest = Rest::over(Instant::now());
        let now = Instant::now();
        assert_eq!(rest.anew(now).left(now), Duration::ZERO);
        rest_after(3, Duration::ZERO, &mut rest);
        assert_eq!(rest.anew(now).left(now), Duration::ZERO);
        rest_after(3, LATE, &mut rest);
        assert_eq!(rest.anew(now).left(now), 7 * PART);
    }

    #[test]
    fn a_part_that_took_longer_is_followed_by_a_longer_rest() {
        let began = Instant::now();
        let mut rest = Rest::over(began);
        rest.follow(began, began + 3 * PART);
        assert_eq!(rest.left(began), 6 * PART);
        assert_eq!(rest.left(began + 9 * PART), Duration::ZERO);
    }
}
