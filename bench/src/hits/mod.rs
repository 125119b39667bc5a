//! Hit ratios without a network: the store itself, and an exact LRU beside it.

pub mod lru;

use crate::load::keys::{KeyId, KeyShape};
use crate::load::values::{ValueSizes, Values};
use crate::replay::Hits;
use crate::trace::{Pattern, Trace};
use farcache_base::time::START;
use farcache_store::{Access, SetOptions, Store, StoreConfig};
use lru::Lru;
use serde::Serialize;
use std::io;

/// Size of the keys in bytes.
const KEY_BYTES: usize = 16;
/// Requests that pass for a second of the store's time.
const REQUESTS_PER_S: usize = 100_000;
/// Requests between two quiescent points.
const REQUESTS_PER_PASS: usize = 64;

/// What is replayed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Case {
    /// The trace.
    pub pattern: Pattern,
    /// Its popular keys.
    pub objects: KeyId,
    /// Sizes of its values.
    #[serde(skip)]
    pub sizes: ValueSizes,
    /// Memory for items, in bytes.
    pub memory_bytes: u64,
    /// Size of the store's segments, in bytes.
    pub segment_bytes: u32,
    /// Requests replayed.
    pub requests: usize,
    /// Requests at the start that do not count.
    pub warmup: usize,
}

/// The hit ratios of one case.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CaseResult {
    /// What was replayed.
    pub case: Case,
    /// The store.
    pub store: f64,
    /// Items in the store at the end.
    pub store_items: u64,
    /// Bytes of the store's index at the end.
    pub store_index_bytes: u64,
    /// Exact LRU whose items cost what memcached's slab chunks cost.
    pub lru_of_memcached: f64,
    /// Exact LRU whose items cost what the store's cost: the policies alone.
    pub lru_of_equal_cost: f64,
}

impl Case {
    /// Replays the trace on all three.
    ///
    /// # Errors
    /// If the memory cannot be had.
    pub fn measure(&self) -> io::Result<CaseResult> {
        let store = self.open_store()?;
        let hits = self.replay_on_store(&store)?;
        let stats = store.stats();
        let overhead_bytes = self.overhead_bytes(stats.items);
        let equal_cost = |value_bytes| KEY_BYTES as f64 + value_bytes as f64 + overhead_bytes;
        Ok(CaseResult {
            case: *self,
            store: hits.ratio(),
            store_items: stats.items,
            store_index_bytes: stats.index_bytes,
            lru_of_memcached: self.replay_on_lru(|value_bytes| {
                lru::memcached_chunk_bytes(KEY_BYTES, value_bytes) as u64
            }),
            lru_of_equal_cost: self.replay_on_lru(|value_bytes| equal_cost(value_bytes) as u64),
        })
    }

    fn open_store(&self) -> io::Result<std::sync::Arc<Store>> {
        Store::new(StoreConfig {
            memory_bytes: self.memory_bytes,
            segment_bytes: self.segment_bytes,
            handles_max: 1,
            ..StoreConfig::default()
        })
    }

    /// Bytes per item that the memory limit pays for above key and value.
    fn overhead_bytes(&self, items: u64) -> f64 {
        let each = self.memory_bytes as f64 / items.max(1) as f64;
        (each - KEY_BYTES as f64 - self.sizes.mean_bytes()).max(0.0)
    }

    fn replay_on_store(&self, store: &std::sync::Arc<Store>) -> io::Result<Hits> {
        let mut handle = store.handle();
        let (shape, values) = (KeyShape::new(KEY_BYTES), Values::new(self.sizes));
        let (mut key, mut value, mut hits) = (Vec::new(), Vec::new(), Hits::default());
        for (request, id) in self.trace().enumerate() {
            if request.is_multiple_of(REQUESTS_PER_PASS) {
                handle.quiescent();
                handle.set_now(START + (request / REQUESTS_PER_S) as u32);
            }
            if request == self.warmup {
                hits = Hits::default();
            }
            key.clear();
            shape.push(id, &mut key);
            hits.requests += 1;
            // Without a device nothing is waited for.
            if handle
                .get(&key, Access::Use)
                .is_ok_and(|item| item.is_some())
            {
                hits.hits += 1;
                continue;
            }
            value.clear();
            values.push(id, &mut value);
            let stored = handle.set(&key, &value, &SetOptions::default());
            hits.refused += u64::from(stored.is_err());
        }
        match hits.refused {
            0 => Ok(hits),
            refused => Err(io::Error::other(format!(
                "the store refused {refused} values"
            ))),
        }
    }

    fn replay_on_lru(&self, cost_bytes: impl Fn(usize) -> u64) -> f64 {
        let mut lru = Lru::new(self.memory_bytes);
        let mut hits = Hits::default();
        for (request, id) in self.trace().enumerate() {
            if request == self.warmup {
                hits = Hits::default();
            }
            hits.requests += 1;
            if lru.get(id) {
                hits.hits += 1;
            } else {
                lru.insert(id, cost_bytes(self.sizes.of(id)));
            }
        }
        hits.ratio()
    }

    fn trace(&self) -> impl Iterator<Item = KeyId> + use<> {
        Trace::new(self.pattern, self.objects, 1).take(self.requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_that_holds_everything_hits_alike() {
        let case = Case {
            pattern: Pattern::Zipf,
            objects: 1000,
            sizes: ValueSizes::fixed(64),
            memory_bytes: 64 << 20,
            segment_bytes: 1 << 20,
            requests: 40_000,
            warmup: 20_000,
        };
        let result = case.measure().unwrap();
        assert!(result.lru_of_memcached > 0.98);
        assert_eq!(result.store, result.lru_of_memcached);
    }
}
