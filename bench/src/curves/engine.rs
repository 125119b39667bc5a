//! The store without a network.

use super::{Figures, KEY_BYTES, Ssd, SsdFigures};
use crate::load::keys::KeyShape;
use crate::traces::Trace;
use farcache_base::time::START;
use farcache_store::{Access, Device, SetOptions, Store, StoreConfig, StoreHandle, TierConfig};
use std::io;
use std::sync::Arc;

/// Requests that pass for a second of the store's time.
const REQUESTS_PER_S: usize = 100_000;
/// Requests between two quiescent points.
const REQUESTS_PER_PASS: usize = 16;

/// A store with so much memory, and an SSD where one is given.
fn open(memory_bytes: u64, ssd: Option<&Ssd>) -> io::Result<Arc<Store>> {
    let config = StoreConfig {
        memory_bytes,
        segment_bytes: StoreConfig::segment_bytes_for(memory_bytes),
        handles_max: 1,
        ..StoreConfig::default()
    };
    let Some(ssd) = ssd else {
        return Store::new(config);
    };
    let tier = TierConfig {
        segment_bytes: config.segment_bytes,
        ..TierConfig::new(vec![Arc::new(ssd.make(memory_bytes)?) as Arc<dyn Device>])
    };
    Store::open(config, tier)
}

/// Replays a trace on a store with so much memory, and an SSD where one is given.
///
/// # Errors
/// If the memory cannot be had, or the file.
pub fn replay_on_store(trace: &Trace, memory_bytes: u64, ssd: Option<&Ssd>) -> io::Result<Figures> {
    let store = open(memory_bytes, ssd)?;
    let mut handle = store.handle();
    let (shape, mut key) = (KeyShape::new(KEY_BYTES), Vec::with_capacity(KEY_BYTES));
    let longest = trace
        .requests
        .iter()
        .map(|request| request.value_bytes)
        .max();
    let value = vec![0; longest.unwrap_or(0) as usize];
    let mut figures = Figures::default();
    for (number, request) in trace.requests.iter().enumerate() {
        if number.is_multiple_of(REQUESTS_PER_PASS) {
            handle.quiescent();
            handle.set_now(START + (number / REQUESTS_PER_S) as u32);
        }
        key.clear();
        shape.push(request.object, &mut key);
        let look = |handle: &StoreHandle| Ok(handle.get(&key, Access::Use)?.is_some());
        let is_hit = handle.run_blocking(look)?;
        figures.count(request, is_hit);
        if !is_hit {
            let value = &value[..request.value_bytes as usize];
            let stored = handle.set(&key, value, &SetOptions::default());
            figures.refused += u64::from(stored.is_err());
        }
    }
    figures.ssd = store.tier_stats().map(|stats| SsdFigures {
        bytes: stats.device_bytes,
        bytes_written: stats.bytes_written,
        reads: stats.reads,
    });
    Ok(figures)
}
