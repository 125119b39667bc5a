/// A power of two, so that a hash picks a set by its highest bits.
const SETS: usize = 64;
const WAYS: usize = 8;

/// What was computed for loss patterns lately: 8 ways of each of 64 sets, the least recently used
/// one of a full set makes room.
///
/// A cluster that has lost two servers of a (10,4) ring meets 91 patterns, far fewer than the 512
/// places, so that it computes each matrix once.
pub struct PatternCache<T> {
    /// Most recently used first.
    sets: [Vec<(u64, T)>; SETS],
}

impl<T> PatternCache<T> {
    pub fn new() -> Self {
        Self {
            sets: [const { Vec::new() }; SETS],
        }
    }

    /// What belongs to the pattern, computed now where it is not there.
    pub fn get_or_insert_with(&mut self, pattern: u64, compute: impl FnOnce() -> T) -> &T {
        let set = &mut self.sets[set_of(pattern)];
        match set.iter().position(|(key, _)| *key == pattern) {
            Some(0) => {}
            Some(place) => set[..=place].rotate_right(1),
            None => {
                set.truncate(WAYS - 1);
                set.insert(0, (pattern, compute()));
            }
        }
        &set[0].1
    }
}

/// Fibonacci hashing: patterns that differ in a few bits go to different sets.
fn set_of(pattern: u64) -> usize {
    const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
    (pattern.wrapping_mul(GOLDEN_RATIO) >> (64 - SETS.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The patterns among these that had to be computed.
    fn computed(cache: &mut PatternCache<u64>, patterns: &[u64]) -> Vec<u64> {
        let mut computed = Vec::new();
        for &pattern in patterns {
            let found = cache.get_or_insert_with(pattern, || {
                computed.push(pattern);
                pattern + 1
            });
            assert_eq!(*found, pattern + 1);
        }
        computed
    }

    #[test]
    fn what_is_used_stays_and_the_least_recently_used_goes() {
        let mut cache = PatternCache::new();
        let same_set: Vec<u64> = (0..).filter(|&p| set_of(p) == 5).take(WAYS + 1).collect();
        let (first, second, last) = (same_set[0], same_set[1], same_set[WAYS]);
        assert_eq!(computed(&mut cache, &same_set[..WAYS]), same_set[..WAYS]);
        assert_eq!(computed(&mut cache, &[first, last]), [last]);
        assert_eq!(computed(&mut cache, &[first, last, second]), [second]);
    }
}
