//! Stores where memory is full: what eviction costs.

use super::{EngineBench, KEYS_PER_LOOK};
use crate::load::keys::KeyId;
use crate::load::measurement::process_cpu_time;
use farcache_store::{Store, StoreConfig};
use std::io;
use std::time::Duration;

/// Keys that are stored, in tenths of those that memory holds.
const KEYS_TENTHS: u64 = 16;
/// Memory that an item of the engine's benchmark takes, with its part of the index.
const BYTES_PER_ITEM: u64 = 104;

/// Stores of random keys a second, in a store that holds `items` of 1.6 times as many. Counts the
/// processor time of the whole process: the store's own thread evicts.
///
/// # Errors
/// As [`super::measure`].
pub(super) fn sets_per_s(items: KeyId, duration: Duration) -> io::Result<f64> {
    let memory_bytes = u64::from(items) * BYTES_PER_ITEM;
    let store = Store::new(StoreConfig {
        memory_bytes,
        segment_bytes: StoreConfig::segment_bytes_for(memory_bytes),
        handles_max: 1,
        ..StoreConfig::default()
    })?;
    let keys = (u64::from(items) * KEYS_TENTHS / 10) as KeyId;
    let mut bench = EngineBench::new(store.handle(), keys);
    // What is evicted at first was stored in order, and nothing comes back.
    bench.insert_all()?;
    for _ in 0..2 * keys as usize / KEYS_PER_LOOK {
        bench.set_random_block()?;
    }
    let start = process_cpu_time();
    let mut sets = 0;
    while process_cpu_time() - start < duration {
        sets += bench.set_random_block()?;
    }
    Ok(sets as f64 / (process_cpu_time() - start).as_secs_f64())
}
