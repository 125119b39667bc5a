//! What a client is to do: drawn here, so that programs in all languages draw alike.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Zipf};
use std::fmt::Write as _;
use std::io;

/// The law's exponent, as YCSB has it.
const SKEW: f64 = 0.99;

/// One in so many operations stores a new version.
const UPDATES_ONE_IN: u32 = 20;

/// So many operations on so many keys, a line each: `r` or `u`, and the number of the key.
///
/// # Errors
/// There is no key.
pub fn draw(seed: u64, keys: usize, count: u64) -> io::Result<String> {
    let law = Zipf::new(keys as f64, SKEW).map_err(io::Error::other)?;
    let mut random = SmallRng::seed_from_u64(seed);
    let mut text = String::new();
    for _ in 0..count {
        let number = law.sample(&mut random) as usize - 1;
        let kind = if random.random_ratio(1, UPDATES_ONE_IN) {
            'u'
        } else {
            'r'
        };
        writeln!(text, "{kind} {number}").expect("text");
    }
    Ok(text)
}
