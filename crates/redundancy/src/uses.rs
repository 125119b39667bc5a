//! Telling owners that a key is in use of whose value they were not asked.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::iter::Peekable;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How many keys are told apart. Of a key that is not among them servers are told with each read.
const KEYS: usize = 4096;

/// When owners were told last that a key is in use.
///
/// A read asks as many owners as make the value. To the others their parts would look unwanted, and
/// they would evict those first: what is read most would be lost with the next server. So they are
/// told of uses, of each key now and then only, as servers tell few uses apart. Threads may share
/// it.
pub struct Uses {
    /// Of each key the upper half of its hash, and when it was told of, in milliseconds; of two
    /// keys with one place the later one.
    told: Box<[AtomicU64]>,
}

impl Default for Uses {
    fn default() -> Self {
        let told = std::iter::repeat_with(AtomicU64::default).take(KEYS);
        Uses {
            told: told.collect(),
        }
    }
}

impl Uses {
    /// How long a key that servers were told of is not told of again.
    pub const PAUSE: Duration = Duration::from_millis(100);

    /// Of the owners that were not asked for a value which was read, those that are to be told;
    /// they count as told then. None where there are none, or it is too soon, at a time since
    /// whenever.
    pub fn owners_to_tell<O: Iterator>(
        &self,
        unasked: O,
        key: &[u8],
        now: Duration,
    ) -> Option<Peekable<O>> {
        let mut unasked = unasked.peekable();
        let has_some = unasked.peek().is_some();
        (has_some && self.is_due(key, now)).then_some(unasked)
    }

    fn is_due(&self, key: &[u8], now: Duration) -> bool {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let hash = hasher.finish();
        let place = &self.told[hash as usize % KEYS];
        let now = now.as_millis() as u32;
        let entry = hash & !u64::from(u32::MAX) | u64::from(now);
        let before = place.load(Relaxed);
        let pause = Self::PAUSE.as_millis() as u32;
        let is_other = before == 0 || before >> 32 != hash >> 32;
        let is_due = is_other || now.wrapping_sub(before as u32) >= pause;
        if is_due {
            // Two at once may both tell.
            place.store(entry, Relaxed);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_told_of_once_in_a_while_and_others_beside_it() {
        let uses = Uses::default();
        let at = |milliseconds| Duration::from_millis(milliseconds);
        let is_due = |key: &[u8], when| uses.is_due(key, at(when));
        assert_eq!(
            [is_due(b"a", 0), is_due(b"a", 0), is_due(b"a", 99)],
            [true, false, false]
        );
        assert_eq!(
            [is_due(b"b", 50), is_due(b"a", 100), is_due(b"b", 149)],
            [true, true, false]
        );
        // The time goes round after 50 days.
        let days = (1 << 32) - 1;
        assert_eq!([is_due(b"a", days), is_due(b"a", days + 50)], [true, false]);
        assert!(is_due(b"a", days + 100));
    }

    #[test]
    fn where_all_were_asked_nobody_counts_as_told() {
        let (uses, now) = (Uses::default(), Duration::from_secs(1));
        let told = |unasked: &[u8]| {
            let owners = uses.owners_to_tell(unasked.iter().copied(), b"a", now);
            owners.map(Iterator::collect::<Vec<_>>)
        };
        assert_eq!((told(&[]), told(&[3, 4])), (None, Some(vec![3, 4])));
        assert_eq!(told(&[3, 4]), None);
    }
}
