//! Keys that have been found to be this server's own.
//!
//! On a ketama ring the hash of a key is its MD5, which takes as long as a fifth of all that a GET
//! over the fabric takes. Most requests are for few keys, so each worker remembers some that it has
//! looked at.

use rapidhash::v3::rapidhash_v3;
use std::cell::Cell;

/// Keys that are remembered, each in a line of its own: 64 KiB.
const LINES: usize = 1 << 10;
const LINE_WORDS: usize = 8;
/// The longest key that is remembered: behind its length in a line.
const KNOWN_BYTES_MAX: usize = LINE_WORDS * size_of::<u64>() - 1;

/// A key's length, the key, and zeros.
type Line = [u64; LINE_WORDS];

/// A line of the processor's cache.
#[repr(align(64))]
struct Slot(Cell<Line>);

/// Some keys that are known to be this server's own, under one map. Each has one slot, which it
/// shares with others: the last one that was looked at is known.
pub struct KnownKeys {
    slots: Box<[Slot]>,
}

impl KnownKeys {
    /// None is known.
    pub fn new() -> KnownKeys {
        // Zeros are the line of no key, as keys are not empty.
        let slots = (0..LINES).map(|_| Slot(Cell::new([0; LINE_WORDS])));
        KnownKeys {
            slots: slots.collect(),
        }
    }

    /// Whether this key is known, or `is_own` says that it is, which is remembered then.
    #[inline]
    pub fn has(&self, key: &[u8], is_own: impl FnOnce() -> bool) -> bool {
        if !(1..=KNOWN_BYTES_MAX).contains(&key.len()) {
            return is_own();
        }
        let line = line_of(key);
        let slot = &self.slots[rapidhash_v3(key) as usize % LINES].0;
        if slot.get() == line {
            return true;
        }
        let is_own = is_own();
        if is_own {
            slot.set(line);
        }
        is_own
    }
}

#[inline]
fn line_of(key: &[u8]) -> Line {
    let mut bytes = [0; KNOWN_BYTES_MAX + 1];
    bytes[0] = key.len() as u8;
    bytes[1..][..key.len()].copy_from_slice(key);
    let (words, _) = bytes.as_chunks::<{ size_of::<u64>() }>();
    std::array::from_fn(|index| u64::from_le_bytes(words[index]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a key is known without anybody being asked.
    fn knows(known: &KnownKeys, key: &[u8]) -> bool {
        known.has(key, || false)
    }

    #[test]
    fn a_key_is_known_once_it_has_been_found_to_be_own() {
        let known = KnownKeys::new();
        assert!(!knows(&known, b"key"));
        assert!(known.has(b"key", || true));
        assert!(known.has(b"key", || panic!("it is known")));
        for other in [&b"ke"[..], b"key\0", b"kez", b""] {
            assert!(!knows(&known, other), "{other:?}");
        }
    }

    #[test]
    fn keys_of_every_length_are_told_apart_and_long_ones_asked_for_each_time() {
        for length in 1..=2 * KNOWN_BYTES_MAX {
            let known = KnownKeys::new();
            let key = vec![b'k'; length];
            assert!(known.has(&key, || true));
            assert_eq!(knows(&known, &key), length <= KNOWN_BYTES_MAX, "{length}");
            let mut other = key;
            other[length - 1] = b'l';
            assert!(!knows(&known, &other));
        }
    }

    #[test]
    fn a_key_whose_slot_another_has_taken_is_asked_for_again() {
        let known = KnownKeys::new();
        let keys: Vec<Vec<u8>> = (0..8 * LINES)
            .map(|number| number.to_string().into())
            .collect();
        for key in &keys {
            assert!(known.has(key, || true));
        }
        let count = keys.iter().filter(|key| knows(&known, key)).count();
        assert!((LINES / 2..=LINES).contains(&count), "{count}");
    }
}
