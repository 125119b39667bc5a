//! In which order keys are read.

use crate::load::keys::{KeyId, KeyPicker};
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Normal};

/// How keys are chosen.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ScanMode {
    /// Each equally often.
    Uniform,
    /// Those in the middle more often: a normal distribution over the key numbers.
    Normal,
    /// By a Zipf law.
    Zipf,
}

/// Share of the keys within one standard deviation on one side of the middle.
const DEVIATION_SHARE: f64 = 1.0 / 8.0;

/// Chooses keys.
#[derive(Clone, Copy, Debug)]
pub enum ScanKeys {
    /// As the load generator does.
    Picker(KeyPicker),
    /// Those in the middle more often.
    Normal {
        /// Number of keys.
        keys: KeyId,
        /// Place among them.
        places: Normal<f64>,
    },
}

impl ScanKeys {
    /// Chooses among `keys` keys; `theta` is the exponent of the Zipf law.
    ///
    /// # Panics
    /// Without a key, or with a negative exponent.
    pub fn new(mode: ScanMode, keys: KeyId, theta: f64) -> Self {
        match mode {
            ScanMode::Uniform => ScanKeys::Picker(KeyPicker::Uniform { keys }),
            ScanMode::Zipf => ScanKeys::Picker(KeyPicker::zipf(keys, theta)),
            ScanMode::Normal => {
                let (middle, deviation) =
                    (f64::from(keys) / 2.0, f64::from(keys) * DEVIATION_SHARE);
                let places = Normal::new(middle, deviation).expect("a finite deviation");
                ScanKeys::Normal { keys, places }
            }
        }
    }

    /// The next key.
    pub fn pick(&mut self, random: &mut SmallRng) -> KeyId {
        match self {
            ScanKeys::Picker(picker) => picker.pick(random),
            ScanKeys::Normal { keys, places } => {
                let within = 0.0..f64::from(*keys);
                loop {
                    let place = places.sample(random);
                    if within.contains(&place) {
                        return place as KeyId;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn the_middle_is_read_more_often() {
        let mut keys = ScanKeys::new(ScanMode::Normal, 1000, 0.0);
        let mut random = SmallRng::seed_from_u64(1);
        let picked: Vec<KeyId> = (0..10_000).map(|_| keys.pick(&mut random)).collect();
        let middle = picked
            .iter()
            .filter(|key| (375..625).contains(*key))
            .count();
        assert!(
            (6_500..7_100).contains(&middle),
            "{middle} within one deviation"
        );
        assert!(picked.iter().all(|key| *key < 1000));
    }

    #[test]
    fn every_mode_stays_among_the_keys() {
        let mut random = SmallRng::seed_from_u64(2);
        for mode in [ScanMode::Uniform, ScanMode::Normal, ScanMode::Zipf] {
            let mut keys = ScanKeys::new(mode, 7, 0.99);
            assert!((0..1000).all(|_| keys.pick(&mut random) < 7), "{mode:?}");
        }
    }
}
