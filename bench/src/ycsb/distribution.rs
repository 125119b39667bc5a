//! The distributions of YCSB: which record an operation asks for.
//!
//! Ranks follow Zipf's law by the method of Gray et al., *Quickly Generating Billion-Record
//! Synthetic Databases*, SIGMOD 1994, section 3.2, as in YCSB 0.17. *Scrambled* has popular
//! records anywhere among the others; *latest* has the newest ones popular.

use rand::Rng;
use rand::rngs::SmallRng;

/// The exponent that YCSB's workloads have.
pub const EXPONENT: f64 = 0.99;

/// Ranks from which scrambled records are drawn, however many records there are. Source: YCSB 0.17,
/// `ScrambledZipfianGenerator.ITEM_COUNT`.
const SCRAMBLED_RANKS: u64 = 10_000_000_000;
/// The sum of their weights, which takes minutes to add up. Source: the same, `ZETAN`.
const SCRAMBLED_WEIGHTS: f64 = 26.469_028_201_783_02;

/// FNV-1a of 64 bits over the number's eight bytes, lowest first; without a sign, as YCSB has it.
/// Source: YCSB 0.17, `Utils.fnvhash64`; constants by Fowler, Noll and Vo.
pub fn hash(number: u64) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mixed = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    let hash = number.to_le_bytes().into_iter().fold(OFFSET_BASIS, mixed);
    (hash as i64).unsigned_abs()
}

/// Ranks by Zipf's law, the most frequent first. Their number may grow.
#[derive(Clone, Debug)]
pub struct Ranks {
    exponent: f64,
    count: u64,
    /// The sum of the weights of all ranks.
    weights: f64,
    /// What follows of these.
    eta: f64,
}

/// The weights of the ranks in `from..to`, counted from 0.
fn weights(from: u64, to: u64, exponent: f64) -> f64 {
    let weight = |rank: u64| 1.0 / ((rank + 1) as f64).powf(exponent);
    (from..to).map(weight).sum()
}

impl Ranks {
    /// So many ranks.
    pub fn new(count: u64, exponent: f64) -> Self {
        Self::of_weights(count, weights(0, count, exponent), exponent)
    }

    fn of_weights(count: u64, weights: f64, exponent: f64) -> Self {
        let mut ranks = Ranks {
            exponent,
            count,
            weights,
            eta: 0.0,
        };
        ranks.update();
        ranks
    }

    fn update(&mut self) {
        let of_two = weights(0, 2, self.exponent);
        let share = (2.0 / self.count as f64).powf(1.0 - self.exponent);
        self.eta = (1.0 - share) / (1.0 - of_two / self.weights);
    }

    /// There are so many now, not fewer than before.
    pub fn grow(&mut self, count: u64) {
        if count > self.count {
            self.weights += weights(self.count, count, self.exponent);
            self.count = count;
            self.update();
        }
    }

    /// A rank, from 0.
    pub fn draw(&self, random: &mut SmallRng) -> u64 {
        let place: f64 = random.random();
        let weight = place * self.weights;
        if weight < 1.0 {
            return 0;
        }
        if weight < 1.0 + 0.5_f64.powf(self.exponent) {
            return 1;
        }
        let base = self.eta * place - self.eta + 1.0;
        let rank = self.count as f64 * base.powf(1.0 / (1.0 - self.exponent));
        (rank as u64).min(self.count - 1)
    }
}

/// How records are chosen.
#[derive(Clone, Debug)]
pub enum Choice {
    /// Some popular, wherever they are.
    Scrambled(Ranks),
    /// The newest popular.
    Latest(Ranks),
}

impl Choice {
    /// YCSB's `zipfian`.
    pub fn scrambled() -> Self {
        let ranks = Ranks::of_weights(SCRAMBLED_RANKS, SCRAMBLED_WEIGHTS, EXPONENT);
        Choice::Scrambled(ranks)
    }

    /// YCSB's `latest`, of so many records.
    pub fn latest(records: u64) -> Self {
        Choice::Latest(Ranks::new(records, EXPONENT))
    }

    /// One of the records that there are now.
    pub fn draw(&mut self, records: u64, random: &mut SmallRng) -> u64 {
        match self {
            Choice::Scrambled(ranks) => hash(ranks.draw(random)) % records,
            Choice::Latest(ranks) => {
                ranks.grow(records);
                records - 1 - ranks.draw(random)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const DRAWS: u32 = 200_000;

    fn counts(mut draw: impl FnMut(&mut SmallRng) -> u64, records: u64) -> Vec<u32> {
        let mut random = SmallRng::seed_from_u64(3);
        let mut counts = vec![0; records as usize];
        (0..DRAWS).for_each(|_| counts[draw(&mut random) as usize] += 1);
        counts
    }

    fn is_near(found: u32, share: f64) -> bool {
        let expected = share * f64::from(DRAWS);
        (f64::from(found) - expected).abs() < 5.0 * expected.sqrt().max(1.0)
    }

    #[test]
    fn hashes_are_those_of_ycsb() {
        // The first keys that YCSB 0.17 loads: user6284781860667377211, user8517097267634966620.
        assert_eq!(hash(0), 6_284_781_860_667_377_211);
        assert_eq!(hash(1), 8_517_097_267_634_966_620);
    }

    #[test]
    fn the_first_ranks_are_drawn_by_their_weights() {
        let records = 1000;
        let ranks = Ranks::new(records, EXPONENT);
        let found = counts(|random| ranks.draw(random), records);
        let sum = weights(0, records, EXPONENT);
        // The method is exact for the first two.
        assert!(is_near(found[0], 1.0 / sum), "{}", found[0]);
        assert!(is_near(found[1], 0.5_f64.powf(EXPONENT) / sum));
        let tail: u32 = found[500..].iter().sum();
        let share = weights(500, records, EXPONENT) / sum;
        let found = f64::from(tail) / f64::from(DRAWS);
        assert!((found / share - 1.0).abs() < 0.1, "{found} of {share}");
    }

    #[test]
    fn growing_ranks_are_those_made_at_once() {
        let mut grown = Ranks::new(10, EXPONENT);
        grown.grow(1000);
        grown.grow(500);
        let whole = Ranks::new(1000, EXPONENT);
        assert_eq!(grown.count, 1000);
        assert!((grown.weights - whole.weights).abs() < 1e-9);
        assert!((grown.eta - whole.eta).abs() < 1e-9);
    }

    #[test]
    fn scrambled_has_one_popular_record_somewhere() {
        let records = 1000;
        let mut choice = Choice::scrambled();
        let found = counts(|random| choice.draw(records, random), records);
        let popular = (hash(0) % records) as usize;
        assert_eq!((0..1000).max_by_key(|at| found[*at]), Some(popular));
        // Its own share, and what falls upon it of ten billion other ranks.
        let share = (1.0 / SCRAMBLED_WEIGHTS) + 1.0 / records as f64;
        let relative = f64::from(found[popular]) / (share * f64::from(DRAWS));
        assert!((relative - 1.0).abs() < 0.1, "{relative}");
    }

    #[test]
    fn latest_follows_what_is_newest() {
        let mut choice = Choice::latest(500);
        let found = counts(|random| choice.draw(1000, random), 1000);
        let sum = weights(0, 1000, EXPONENT);
        assert!(is_near(found[999], 1.0 / sum));
        assert!(found[999] > found[998] && found[998] > found[500]);
    }
}
