//! Which keys servers were told of the use of.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Keys that are told apart at a time. Those of which nothing is known are told of with each read.
const KEYS: usize = 4096;

/// Keys whose use servers were told of, to whom nobody has come who read them.
///
/// A read asks as many owners as make the value. The others would see a part that nobody wants, and
/// evict it first: what is read most would be lost with the next server. So they are told of uses;
/// of each key now and then only, as servers tell few uses apart. Threads may share it.
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

    /// Whether servers are to be told of a use of this key, at a time since whenever: if so, they
    /// count as told.
    pub fn is_due(&self, key: &[u8], now: Duration) -> bool {
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
}
