//! What kind of store a seed stands for.

use crate::image::Image;
use crate::random::Random;
use farcache_store::*;
use std::sync::Arc;

pub const SEGMENT_BYTES: u64 = 64 << 10;
const MEMORY_BYTES: u64 = 512 << 10;
/// Keys at most, and where values are tiny.
const KEYS_MAX: u64 = 120;
const TINY_KEYS: u64 = 6500;

/// How large values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Tens of bytes to some kilobytes.
    Mixed,
    /// Some of them larger than a segment.
    Runs,
    /// So small that more of them die at once than a segment can tell of.
    Tiny,
}

/// A kind of store.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub seed: u64,
    pub durability: Durability,
    pub evict: bool,
    pub devices: usize,
    pub slots: u64,
    pub sizes: Sizes,
    pub keys: usize,
    pub flushes: bool,
    pub expires: bool,
}

impl Scenario {
    /// Every combination comes with some seed; `devices` asks for so many.
    pub fn of(seed: u64, devices: Option<u64>) -> Scenario {
        let mut random = Random::new(seed);
        let devices = devices.unwrap_or(1 + random.below(3)) as usize;
        let durability = match random.below(5) {
            0 => Durability::Cache,
            1 | 2 => Durability::Writeback,
            _ => Durability::Sync,
        };
        let sizes = match random.below(8) {
            0 => Sizes::Tiny,
            1 => Sizes::Runs,
            _ => Sizes::Mixed,
        };
        Scenario::with(seed, durability, devices, sizes, &mut random)
    }

    /// A given combination; the rest comes from the random numbers.
    pub fn with(
        seed: u64,
        durability: Durability,
        devices: usize,
        sizes: Sizes,
        random: &mut Random,
    ) -> Scenario {
        let slots = match sizes {
            Sizes::Runs => 24 + random.below(3) * 4,
            Sizes::Tiny => 16 + random.below(3),
            Sizes::Mixed => 16 + random.below(3) * 4,
        };
        let usable = (devices as u64 * (slots - 1) - 4) * SEGMENT_BYTES;
        let keys = match sizes {
            Sizes::Mixed => (usable / 2 / 3200).min(KEYS_MAX),
            Sizes::Runs => 40,
            Sizes::Tiny => TINY_KEYS,
        };
        Scenario {
            seed,
            durability,
            evict: durability == Durability::Cache || random.once_in(10),
            devices,
            slots,
            sizes,
            keys: keys as usize,
            flushes: random.once_in(2),
            expires: random.once_in(2),
        }
    }

    /// The store over these devices, opened when it is `epoch_unix` plus 2; others may be missing.
    pub fn open(
        &self,
        devices: Vec<Arc<dyn Device>>,
        allow_missing: bool,
        epoch_unix: i64,
    ) -> std::io::Result<Arc<Store>> {
        let config = StoreConfig {
            memory_bytes: MEMORY_BYTES,
            segment_bytes: SEGMENT_BYTES as u32,
            huge_pages: false,
            evict: self.evict,
            handles_max: 4,
            ..StoreConfig::default()
        };
        let tier = TierConfig {
            durability: self.durability,
            segment_bytes: SEGMENT_BYTES as u32,
            read_buffer_bytes: 1 << 20,
            engine: EngineChoice::Threads,
            allow_missing,
            epoch_unix,
            ..TierConfig::new(devices)
        };
        Store::open(config, tier)
    }

    /// A blank device.
    pub fn image(&self) -> Image {
        Image::zeros(self.slots * SEGMENT_BYTES)
    }

    /// How large a new value of a key is.
    pub fn value_bytes(&self, random: &mut Random) -> usize {
        (match self.sizes {
            Sizes::Mixed => 40 + random.below(6000),
            Sizes::Runs if random.once_in(16) => 66_000 + random.below(80_000),
            Sizes::Runs => 40 + random.below(4000),
            Sizes::Tiny => 16 + random.below(8),
        }) as usize
    }

    /// Whether keys are so many that they are changed in bursts.
    pub fn is_tiny(&self) -> bool {
        self.sizes == Sizes::Tiny
    }
}
