//! Values that show whether they are whole.

use super::Outcome;
use super::expect::{holds, same_value};

/// Bytes of the number that a sample begins with.
const SEED_BYTES: usize = 8;

/// A value of any size; another seed makes another one of it from the first byte to the last.
pub fn sample(seed: u64, bytes: usize) -> Vec<u8> {
    let mut value = seed.to_le_bytes().to_vec();
    let mut state = seed;
    while value.len() < bytes {
        // The multiplier of Knuth's MMIX, whose high bits are the good ones.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        value.extend_from_slice(&(state >> 32).to_le_bytes()[..4]);
    }
    value.truncate(bytes);
    value
}

/// A fault unless the value is one whole sample of that size.
pub fn check_whole(what: &str, value: &[u8], bytes: usize) -> Outcome {
    holds(
        &format!("{what}: {} bytes instead of {bytes}", value.len()),
        value.len() == bytes,
    )?;
    let seed = value.first_chunk::<SEED_BYTES>().copied();
    let seed = u64::from_le_bytes(seed.ok_or("too short to be a sample")?);
    same_value(what, value, &sample(seed, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_their_size_and_seed() {
        for bytes in [0, 1, 7, 8, 9, 1000] {
            assert_eq!(sample(3, bytes).len(), bytes);
        }
        assert_ne!(sample(1, 100)[50..], sample(2, 100)[50..]);
    }

    #[test]
    fn a_mixture_of_samples_is_a_fault() {
        let (one, two) = (sample(1, 100), sample(2, 100));
        assert!(check_whole("one", &one, 100).is_ok());
        assert!(check_whole("mixed", &[&one[..60], &two[60..]].concat(), 100).is_err());
        assert!(check_whole("short", &one[..99], 100).is_err());
    }
}
