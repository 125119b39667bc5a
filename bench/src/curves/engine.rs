//! The store without a network.

use super::{Figures, KEY_BYTES};
use crate::load::keys::KeyShape;
use crate::traces::Trace;
use farcache_base::time::START;
use farcache_store::{Access, SetOptions, Store, StoreConfig};
use std::io;

/// Requests that pass for a second of the store's time.
const REQUESTS_PER_S: usize = 100_000;
/// Requests between two quiescent points.
const REQUESTS_PER_PASS: usize = 16;

/// Replays a trace on a store with so much memory.
///
/// # Errors
/// If the memory cannot be had.
pub fn replay_on_store(trace: &Trace, memory_bytes: u64) -> io::Result<Figures> {
    let store = Store::new(StoreConfig {
        memory_bytes,
        segment_bytes: StoreConfig::segment_bytes_for(memory_bytes),
        handles_max: 1,
        ..StoreConfig::default()
    })?;
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
        // Without a device nothing is waited for.
        let is_hit = handle
            .get(&key, Access::Use)
            .is_ok_and(|item| item.is_some());
        figures.count(request, is_hit);
        if !is_hit {
            let value = &value[..request.value_bytes as usize];
            let stored = handle.set(&key, value, &SetOptions::default());
            figures.refused += u64::from(stored.is_err());
        }
    }
    Ok(figures)
}
