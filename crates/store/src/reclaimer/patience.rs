//! How long reclaiming waits for devices that take nothing.

use crate::schedule::Instant;
use std::time::Duration;

/// How long devices may take nothing before items that wait for them are refused.
const STANDSTILL_MAX: Duration = Duration::from_secs(10);

/// Patience with the devices, for all items together: were each of them to wait anew, emptying one
/// segment of small items would take hours where a device hangs.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    standstill: Option<Standstill>,
}

#[derive(Clone, Copy, Debug)]
struct Standstill {
    began: Instant,
    last_seen: Instant,
}

impl Patience {
    /// A device has taken an item.
    pub fn renew(&mut self) {
        self.standstill = None;
    }

    /// The devices are too busy to take an item at `now`. Whether that has gone on for so long that
    /// the item is refused; `end` is when nothing waits any longer, if there is such a time.
    pub fn ends(&mut self, now: Instant, end: Option<Instant>) -> bool {
        // One seen so long ago may be over: nobody has tried since.
        let recent = self
            .standstill
            .filter(|last| now.duration_since(last.last_seen) < STANDSTILL_MAX);
        let began = recent.map_or(now, |last| last.began);
        self.standstill = Some(Standstill {
            began,
            last_seen: now,
        });
        now.duration_since(began) >= STANDSTILL_MAX || end.is_some_and(|end| now >= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Patience {
        /// Devices have taken nothing for so long that the next item is refused at once.
        pub fn exhausted() -> Patience {
            let now = Instant::now();
            let standstill = Standstill {
                began: now - STANDSTILL_MAX,
                last_seen: now,
            };
            Patience {
                standstill: Some(standstill),
            }
        }
    }

    const STEP: Duration = Duration::from_millis(10);

    #[test]
    fn all_items_together_wait_no_longer_than_one() {
        let begin = Instant::now();
        let mut patience = Patience::default();
        let mut now = begin;
        while !patience.ends(now, None) {
            now += STEP;
        }
        assert_eq!(now, begin + STANDSTILL_MAX);
        assert!(patience.ends(now + STEP, None), "the next item");
    }

    #[test]
    fn an_item_that_was_taken_renews_patience() {
        let begin = Instant::now();
        let mut patience = Patience::default();
        assert!(!patience.ends(begin, None));
        patience.renew();
        assert!(!patience.ends(begin + STANDSTILL_MAX, None));
    }

    #[test]
    fn a_standstill_long_ago_does_not_count() {
        let mut patience = Patience::default();
        let mut now = Instant::now();
        while !patience.ends(now, None) {
            now += STEP;
        }
        assert!(!patience.ends(now + STANDSTILL_MAX, None));
    }

    #[test]
    fn nobody_waits_beyond_the_end() {
        let begin = Instant::now();
        let mut patience = Patience::default();
        assert!(!patience.ends(begin, Some(begin + STEP)));
        assert!(patience.ends(begin + STEP, Some(begin + STEP)));
    }
}
