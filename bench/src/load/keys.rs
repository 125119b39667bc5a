//! Which keys are asked for, and how a key looks.

use rand::Rng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Zipf};

/// Number of a key among the keys of a run.
pub type KeyId = u32;

/// Fewest bytes of a key: the number takes this many hexadecimal digits.
pub const KEY_BYTES_MIN: usize = 8;

/// Writes keys of one fixed size.
#[derive(Clone, Debug)]
pub struct KeyShape {
    filler: Vec<u8>,
}

impl KeyShape {
    /// Keys of `key_bytes` bytes.
    ///
    /// # Panics
    /// If `key_bytes` is not from [`KEY_BYTES_MIN`] to memcached's limit.
    pub fn new(key_bytes: usize) -> Self {
        let allowed = KEY_BYTES_MIN..=farcache_base::limits::KEY_BYTES_MAX;
        assert!(
            allowed.contains(&key_bytes),
            "key size of {key_bytes} bytes"
        );
        let filler = b"key-".iter().copied().cycle();
        KeyShape {
            filler: filler.take(key_bytes - KEY_BYTES_MIN).collect(),
        }
    }

    /// Size of every key, in bytes.
    pub fn key_bytes(&self) -> usize {
        self.filler.len() + KEY_BYTES_MIN
    }

    /// Appends the key.
    pub fn push(&self, id: KeyId, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.filler);
        buffer.extend_from_slice(&hex_digits(id));
    }
}

/// The number as eight hexadecimal digits, without a branch or a table.
pub fn hex_digits(id: KeyId) -> [u8; 8] {
    let mut nibbles = u64::from(id);
    nibbles = (nibbles | nibbles << 16) & 0x0000_FFFF_0000_FFFF;
    nibbles = (nibbles | nibbles << 8) & 0x00FF_00FF_00FF_00FF;
    nibbles = (nibbles | nibbles << 4) & 0x0F0F_0F0F_0F0F_0F0F;
    let above_nine = ((nibbles + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    let digits = nibbles + 0x3030_3030_3030_3030 + above_nine * u64::from(b'a' - b'0' - 10);
    digits.to_be_bytes()
}

/// Reads back what [`hex_digits`] wrote.
pub fn parse_hex_digits(digits: &[u8]) -> Option<KeyId> {
    let text = std::str::from_utf8(digits.get(..8)?).ok()?;
    KeyId::from_str_radix(text, 16).ok()
}

/// How keys are chosen.
#[derive(Clone, Copy, Debug)]
pub enum KeyPicker {
    /// Each key equally often.
    Uniform {
        /// How many keys there are.
        keys: KeyId,
    },
    /// Popularity by rank, ranks scattered over the key numbers.
    Zipf {
        /// How many keys there are.
        keys: KeyId,
        /// The law of the ranks.
        ranks: Zipf<f64>,
    },
    /// One after the other, from the start again after the last.
    Sequential {
        /// How many keys there are.
        keys: KeyId,
        /// The next key.
        next: KeyId,
    },
    /// Each once, those that were stored one after the other far apart; from the start again after
    /// the last.
    Scattered {
        /// The first key.
        first: KeyId,
        /// How many keys there are.
        keys: KeyId,
        /// From one to the next, in the order of storing.
        step: KeyId,
        /// Keys chosen so far, modulo their number.
        chosen: KeyId,
    },
}

impl KeyPicker {
    /// Zipf with exponent `theta` over `keys` keys.
    ///
    /// # Panics
    /// If `keys` is 0 or `theta` is negative.
    pub fn zipf(keys: KeyId, theta: f64) -> Self {
        let ranks = Zipf::new(f64::from(keys), theta).expect("a Zipf law of at least one key");
        KeyPicker::Zipf { keys, ranks }
    }

    /// The next key.
    pub fn pick(&mut self, random: &mut SmallRng) -> KeyId {
        match self {
            KeyPicker::Uniform { keys } => random.random_range(0..*keys),
            KeyPicker::Zipf { keys, ranks } => {
                scatter(ranks.sample(random) as u64 - 1, u64::from(*keys))
            }
            KeyPicker::Sequential { keys, next } => {
                let id = *next;
                *next = if id + 1 == *keys { 0 } else { id + 1 };
                id
            }
            KeyPicker::Scattered {
                first,
                keys,
                step,
                chosen,
            } => {
                let id = *first + *step * scatter(u64::from(*chosen), u64::from(*keys));
                *chosen = (*chosen + 1) % *keys;
                id
            }
        }
    }
}

/// Maps ranks one to one onto key numbers, so that popular keys are not those stored first.
pub fn scatter(rank: u64, keys: u64) -> KeyId {
    /// A prime above every number of keys, hence coprime to it.
    const PRIME: u64 = 4_294_967_311;
    const { assert!(PRIME > KeyId::MAX as u64) };
    // The product of two 32-bit numbers and a little fits 64 bits because rank < keys < 2^32.
    ((rank * (PRIME % keys) + keys / 2) % keys) as KeyId
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use std::collections::HashSet;

    #[test]
    fn keys_have_the_size_asked_for_and_differ() {
        let shape = KeyShape::new(16);
        let mut first = Vec::new();
        shape.push(0x00c0_ffee, &mut first);
        assert_eq!(first, b"key-key-00c0ffee");
        assert_eq!(shape.key_bytes(), 16);
    }

    #[test]
    fn hex_digits_are_those_of_the_formatter() {
        for id in [0, 9, 10, 15, 16, 0x1234_5678, 0x9abc_def0, KeyId::MAX] {
            assert_eq!(hex_digits(id), format!("{id:08x}").as_bytes());
            assert_eq!(parse_hex_digits(&hex_digits(id)), Some(id));
        }
        assert_eq!(parse_hex_digits(b"0000000"), None);
        assert_eq!(parse_hex_digits(b"0000000g"), None);
    }

    #[test]
    fn scatter_is_one_to_one() {
        for keys in [1u64, 2, 1000, 65_537] {
            let seen: HashSet<KeyId> = (0..keys).map(|rank| scatter(rank, keys)).collect();
            assert_eq!(seen.len() as u64, keys);
            assert!(seen.iter().all(|&id| u64::from(id) < keys));
        }
    }

    #[test]
    fn zipf_follows_its_law() {
        let (keys, draws, theta) = (10_000, 400_000, 0.99);
        let mut picker = KeyPicker::zipf(keys, theta);
        let mut random = SmallRng::seed_from_u64(1);
        let mut counts = vec![0u32; keys as usize];
        (0..draws).for_each(|_| counts[picker.pick(&mut random) as usize] += 1);
        let harmonic: f64 = (1..=keys).map(|rank| f64::from(rank).powf(-theta)).sum();
        for rank in [1u64, 2, 10, 100] {
            let expected = f64::from(draws) * (rank as f64).powf(-theta) / harmonic;
            let found = f64::from(counts[scatter(rank - 1, u64::from(keys)) as usize]);
            let tolerance = 5.0 * expected.sqrt();
            assert!(
                (found - expected).abs() < tolerance,
                "rank {rank}: {found} of {expected}"
            );
        }
    }

    #[test]
    fn sequential_wraps_and_the_others_reach_all() {
        let mut random = SmallRng::seed_from_u64(2);
        let mut sequential = KeyPicker::Sequential { keys: 3, next: 1 };
        let order: Vec<_> = (0..5).map(|_| sequential.pick(&mut random)).collect();
        assert_eq!(order, [1, 2, 0, 1, 2]);
        let mut scattered = KeyPicker::Scattered {
            first: 10,
            keys: 5,
            step: 3,
            chosen: 0,
        };
        let once: HashSet<_> = (0..5).map(|_| scattered.pick(&mut random)).collect();
        assert_eq!(once, HashSet::from([10, 13, 16, 19, 22]));
        let mut uniform = KeyPicker::Uniform { keys: 8 };
        let seen: HashSet<_> = (0..400).map(|_| uniform.pick(&mut random)).collect();
        assert_eq!(seen.len(), 8);
    }
}
