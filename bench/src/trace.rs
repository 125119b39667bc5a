//! Deterministic sequences of keys for hit-ratio measurements.

use crate::load::keys::{KeyId, KeyPicker};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Requests between the starts of two scans.
const SCAN_EVERY_REQUESTS: u64 = 300_000;

/// Requests of one scan.
const SCAN_REQUESTS: u64 = 100_000;

/// Exponent of the popular keys' law, as in YCSB.
const THETA: f64 = 0.99;

/// What a trace is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Popular keys by Zipf's law with exponent 0.99.
    Zipf,
    /// Popular keys by Zipf's law, a third of all requests being long scans of keys that nobody
    /// else asks for.
    ZipfScans,
    /// Popular keys by Zipf's law, every second request being for a key that is never asked for
    /// again.
    OneHitWonders,
}

impl Pattern {
    /// Every pattern.
    pub const ALL: [Pattern; 3] = [Pattern::Zipf, Pattern::ZipfScans, Pattern::OneHitWonders];

    /// A name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::Zipf => "zipf(0.99)",
            Pattern::ZipfScans => "zipf with scans",
            Pattern::OneHitWonders => "one-hit wonders",
        }
    }
}

/// An endless sequence of keys: the popular ones are numbered below `objects`, all others above.
pub struct Trace {
    pattern: Pattern,
    objects: KeyId,
    popular: KeyPicker,
    random: SmallRng,
    requests: u64,
    cold_keys: KeyId,
}

impl Trace {
    /// A trace over `objects` popular keys, the same for the same arguments.
    pub fn new(pattern: Pattern, objects: KeyId, seed: u64) -> Self {
        let random = SmallRng::seed_from_u64(seed);
        let popular = KeyPicker::zipf(objects, THETA);
        Trace {
            pattern,
            objects,
            popular,
            random,
            requests: 0,
            cold_keys: 0,
        }
    }

    fn next_is_cold(&mut self) -> bool {
        match self.pattern {
            Pattern::Zipf => false,
            Pattern::ZipfScans => {
                self.requests % SCAN_EVERY_REQUESTS >= SCAN_EVERY_REQUESTS - SCAN_REQUESTS
            }
            Pattern::OneHitWonders => self.random.random(),
        }
    }
}

impl Iterator for Trace {
    type Item = KeyId;

    fn next(&mut self) -> Option<KeyId> {
        let cold = self.next_is_cold();
        self.requests += 1;
        if !cold {
            return Some(self.popular.pick(&mut self.random));
        }
        self.cold_keys += 1;
        Some(self.objects + self.cold_keys - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: usize = 600_000;

    fn cold(pattern: Pattern) -> Vec<KeyId> {
        Trace::new(pattern, 1000, 1)
            .take(REQUESTS)
            .filter(|&id| id >= 1000)
            .collect()
    }

    #[test]
    fn traces_repeat_exactly() {
        for pattern in Pattern::ALL {
            let one: Vec<_> = Trace::new(pattern, 1000, 1).take(1000).collect();
            assert_eq!(
                one,
                Trace::new(pattern, 1000, 1).take(1000).collect::<Vec<_>>()
            );
            assert_ne!(
                one,
                Trace::new(pattern, 1000, 2).take(1000).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn cold_keys_have_their_share_and_never_come_back() {
        assert_eq!(cold(Pattern::Zipf).len(), 0);
        assert_eq!(cold(Pattern::ZipfScans).len(), REQUESTS / 3);
        let wonders = cold(Pattern::OneHitWonders);
        assert!(wonders.len().abs_diff(REQUESTS / 2) < 4000);
        assert!(wonders.is_sorted_by(|one, next| one < next));
    }
}
