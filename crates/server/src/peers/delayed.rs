//! Requests that were refused, because maps differed or nobody decided on their keys, until they
//! are made again.

use super::Asker;
use std::time::Instant;

/// Who waits to ask again.
#[derive(Default)]
pub(super) struct Delayed {
    waiting: Vec<(Instant, Asker)>,
    /// How often this server had begun to decide on keys when that was looked at last.
    decisions: u64,
}

impl Delayed {
    /// This one asks again at this time, or as soon as something has changed here.
    pub(super) fn add(&mut self, at: Instant, asker: Asker) {
        self.waiting.push((at, asker));
    }

    /// Something has changed here: all ask again now.
    pub(super) fn hurry(&mut self, now: Instant) {
        self.waiting.iter_mut().for_each(|(at, _)| *at = now);
    }

    /// Those who ask again now. `decisions` is how often this server has begun to decide on keys.
    pub(super) fn take(&mut self, now: Instant, decisions: u64) -> Vec<Asker> {
        if std::mem::replace(&mut self.decisions, decisions) != decisions {
            self.hurry(now);
        }
        let due = self.waiting.extract_if(.., |(at, _)| *at <= now);
        due.map(|(_, asker)| asker).collect()
    }

    /// When the next one asks again.
    pub(super) fn next(&self) -> Option<Instant> {
        self.waiting.iter().map(|(at, _)| *at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Waiter;
    use std::time::Duration;

    fn asker(slot: usize) -> Asker {
        Asker {
            waiter: Waiter::Connection(slot),
            wait: 1,
            index: 0,
        }
    }

    #[test]
    fn each_asks_again_at_its_time() {
        let (mut delayed, now) = (Delayed::default(), Instant::now());
        let later = now + Duration::from_millis(8);
        delayed.add(later, asker(1));
        delayed.add(now, asker(2));
        assert_eq!(delayed.next(), Some(now));
        assert_eq!(delayed.take(now, 0), [asker(2)]);
        assert_eq!(delayed.next(), Some(later));
        assert_eq!(delayed.take(later, 0), [asker(1)]);
        assert_eq!(delayed.next(), None);
    }

    #[test]
    fn all_ask_again_once_this_server_has_begun_to_decide() {
        let (mut delayed, now) = (Delayed::default(), Instant::now());
        let later = now + Duration::from_millis(8);
        delayed.add(later, asker(1));
        assert_eq!(delayed.take(now, 1), [asker(1)]);
        delayed.add(later, asker(2));
        assert_eq!(delayed.take(now, 1), [], "nothing has changed since");
    }
}
