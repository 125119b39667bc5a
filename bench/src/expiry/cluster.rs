//! Traffic after the statistics that Twitter has published of its clusters.
//!
//! Source: the table `stat/2020Mar.md` beside the traces of J. Yang, Y. Yue and K. V. Rashmi, *A
//! large scale analysis of hundreds of in-memory cache clusters at Twitter*, OSDI 2020. What it
//! does not tell is chosen here: sizes are spread evenly from half to one and a half times the
//! mean, keys are drawn independently, and there are as many as fill the memory several times.

use crate::load::keys::{KeyId, KeyPicker, KeyShape};
use crate::load::values::{ValueSizes, Values, mix};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::Serialize;

/// Which cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
pub enum Cluster {
    /// Small values, mostly read, that hardly ever expire.
    #[value(name = "52")]
    #[serde(rename = "52")]
    C52,
    /// Mostly written; values live for five minutes.
    #[value(name = "12")]
    #[serde(rename = "12")]
    C12,
    /// Mostly read; values live for one hour or two.
    #[value(name = "29")]
    #[serde(rename = "29")]
    C29,
    /// Large values, most of which live for 20 seconds.
    #[value(name = "37")]
    #[serde(rename = "37")]
    C37,
}

/// What is published of a cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// Mean size of a key, in bytes.
    pub key_bytes: usize,
    /// Mean size of a value, in bytes.
    pub value_bytes: usize,
    /// Parts of a hundred of the requests that store, `add` and `cas` among them.
    pub sets_percent: u32,
    /// Exponent of the law of the keys' popularity.
    pub zipf: f64,
    /// How long values live, in seconds, and how many of a hundred so long.
    pub ttls: &'static [(u32, u32)],
    /// Whether a value that is missed is stored, as a cache is filled. Else the sets are all.
    pub fills: bool,
}

const HOUR_S: u32 = 3600;
const DAY_S: u32 = 24 * HOUR_S;

impl Cluster {
    /// All of them.
    pub const ALL: [Cluster; 4] = [Cluster::C52, Cluster::C12, Cluster::C29, Cluster::C37];

    /// Its number.
    pub fn name(self) -> &'static str {
        match self {
            Cluster::C52 => "52",
            Cluster::C12 => "12",
            Cluster::C29 => "29",
            Cluster::C37 => "37",
        }
    }

    /// What is published of it.
    pub fn statistics(self) -> Statistics {
        match self {
            Cluster::C52 => Statistics {
                key_bytes: 20,
                value_bytes: 273,
                sets_percent: 9,
                zipf: 1.2117,
                ttls: &[(DAY_S, 65), (14 * DAY_S, 28), (DAY_S / 2, 7)],
                fills: true,
            },
            Cluster::C12 => Statistics {
                key_bytes: 44,
                value_bytes: 1030,
                sets_percent: 80,
                zipf: 0.3048,
                ttls: &[(300, 98), (299, 2)],
                fills: false,
            },
            Cluster::C29 => Statistics {
                key_bytes: 36,
                value_bytes: 799,
                sets_percent: 14,
                zipf: 1.2323,
                ttls: &[(HOUR_S, 67), (2 * HOUR_S, 33)],
                fills: true,
            },
            Cluster::C37 => Statistics {
                key_bytes: 72,
                value_bytes: 20_134,
                sets_percent: 37,
                zipf: 0.4251,
                ttls: &[(20, 91), (300, 6), (2 * HOUR_S, 2), (600, 1)],
                fills: false,
            },
        }
    }

    /// How many times faster than there time passes here, by default: what lives for 300 or 20 s
    /// lives for 3 or 2 s, few of memcached's seconds.
    pub fn speed(self) -> u32 {
        match self {
            Cluster::C37 => 10,
            _ => 100,
        }
    }
}

impl Statistics {
    /// Key and value of a mean item, in bytes.
    pub fn item_bytes(&self) -> usize {
        self.key_bytes + self.value_bytes
    }

    /// How long most values live, in seconds, where time passes so many times faster.
    pub fn most_live_s(&self, speed: u32) -> u32 {
        (self.ttls[0].0 / speed).max(1)
    }

    /// Sizes of the values.
    pub fn sizes(&self) -> ValueSizes {
        ValueSizes {
            bytes_min: self.value_bytes / 2,
            bytes_max: self.value_bytes + self.value_bytes / 2,
        }
    }
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Of which key.
    pub key: KeyId,
    /// Whether it stores; else it reads.
    pub is_set: bool,
}

/// The requests of a cluster, the same each time.
pub struct Stream {
    statistics: Statistics,
    speed: u32,
    picker: KeyPicker,
    random: SmallRng,
    shape: KeyShape,
    values: Values,
}

impl Stream {
    /// Of so many keys, in a time that passes so many times faster.
    pub fn new(statistics: Statistics, speed: u32, keys: KeyId) -> Self {
        Stream {
            statistics,
            speed,
            picker: KeyPicker::zipf(keys, statistics.zipf),
            random: SmallRng::seed_from_u64(1),
            shape: KeyShape::new(statistics.key_bytes),
            values: Values::new(statistics.sizes()),
        }
    }

    /// The next request.
    pub fn draw(&mut self) -> Request {
        Request {
            is_set: self.random.random_range(0..100) < self.statistics.sets_percent,
            key: self.picker.pick(&mut self.random),
        }
    }

    /// How long a key's values live, in seconds of here; the same for a key each time.
    pub fn lives_s(&self, key: KeyId) -> u32 {
        let mut place = (mix(key ^ 0x7474_6c73) % 100) as u32;
        let mut ttls = self.statistics.ttls.iter();
        let found = ttls.find(|(_, share)| {
            let is_its = place < *share;
            place = place.saturating_sub(*share);
            is_its
        });
        let (ttl_s, _) = found.unwrap_or(&self.statistics.ttls[0]);
        (ttl_s / self.speed).max(1)
    }

    /// What a key and its value take together, in bytes.
    pub fn item_bytes(&self, key: KeyId) -> u64 {
        (self.statistics.key_bytes + self.values.sizes().of(key)) as u64
    }

    /// Keys.
    pub fn shape(&self) -> &KeyShape {
        &self.shape
    }

    /// Values.
    pub fn values(&self) -> &Values {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_follow_what_is_published() {
        for cluster in Cluster::ALL {
            let statistics = cluster.statistics();
            let shares: u32 = statistics.ttls.iter().map(|(_, share)| share).sum();
            assert_eq!(shares, 100, "{cluster:?}");
            let mut stream = Stream::new(statistics, 1, 10_000);
            let drawn: Vec<Request> = (0..20_000).map(|_| stream.draw()).collect();
            let sets = drawn.iter().filter(|request| request.is_set).count();
            let percent = sets as f64 / 200.0;
            assert!(
                (percent - f64::from(statistics.sets_percent)).abs() < 1.5,
                "{cluster:?}"
            );
            let bytes: u64 = (0..10_000).map(|key| stream.item_bytes(key)).sum();
            let mean = bytes as f64 / 10_000.0;
            let wanted = statistics.item_bytes() as f64;
            assert!((mean / wanted - 1.0).abs() < 0.02, "{cluster:?}: {mean}");
            let (first_s, first_share) = statistics.ttls[0];
            let found = (0..10_000)
                .filter(|key| stream.lives_s(*key) == first_s)
                .count();
            assert!(
                (found as f64 / 100.0 - f64::from(first_share)).abs() < 2.0,
                "{cluster:?}"
            );
        }
    }

    #[test]
    fn time_that_passes_faster_shortens_lives_to_a_second_at_least() {
        let stream = Stream::new(Cluster::C37.statistics(), 10, 1000);
        let mut lives: Vec<u32> = (0..1000).map(|key| stream.lives_s(key)).collect();
        lives.sort_unstable();
        lives.dedup();
        assert_eq!(lives, [2, 30, 60, 720]);
        assert_eq!(Cluster::C37.statistics().most_live_s(1000), 1);
        // 0 would be for ever.
        let fast = Stream::new(Cluster::C37.statistics(), 1000, 1000);
        assert_eq!((0..1000).map(|key| fast.lives_s(key)).min(), Some(1));
    }
}
