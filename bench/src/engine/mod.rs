//! The store without a network: lookups and stores on one core, next to what the memory allows.

mod full;

use crate::load::keys::{KeyId, KeyShape};
use crate::load::measurement::CpuStopwatch;
use crate::memory_limit::{self, ReadRate};
use farcache_base::time::START;
use farcache_store::{Access, BATCH_MAX, Interrupt, SetOptions, Store, StoreConfig, StoreHandle};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::Serialize;
use std::hint::black_box;
use std::io;
use std::time::Duration;

/// Size of the keys in bytes.
const KEY_BYTES: usize = 16;
/// Size of the values in bytes.
const VALUE_BYTES: usize = 64;
/// Room per item that the store gets: enough that nothing is evicted.
const ROOM_BYTES_PER_ITEM: u64 = 112;
/// Room that the store gets besides.
const ROOM_BYTES: u64 = 64 << 20;
/// Keys looked up or stored between two looks at the clock.
const KEYS_PER_LOOK: usize = 8192;

/// What was measured with so many items.
#[derive(Clone, Debug, Serialize)]
pub struct EngineFigures {
    /// Items in the store.
    pub items: KeyId,
    /// Stores of new keys a second.
    pub inserts_per_s: f64,
    /// Stores over present keys a second.
    pub overwrites_per_s: f64,
    /// Stores a second where memory is full, by processor time with that of the store's own thread.
    pub full_sets_per_s: f64,
    /// Lookups a second, for each size of batch.
    pub lookups_per_s: Vec<(usize, f64)>,
    /// Random reads a second over the same footprint.
    pub memory_limit: ReadRate,
    /// Bytes of live items and of the index per item, above key and value, by the store's count.
    pub overhead_bytes_by_stats: f64,
    /// Resident bytes per item above key and value.
    pub overhead_bytes_by_rss: f64,
}

impl EngineFigures {
    /// Lookups a second in batches of this size.
    pub fn lookups_per_s(&self, batch: usize) -> Option<f64> {
        self.lookups_per_s
            .iter()
            .find(|(size, _)| *size == batch)
            .map(|(_, rate)| *rate)
    }
}

/// Fills a store with `items` items and measures each batch size for `duration`.
///
/// # Errors
/// If the memory cannot be had, or the store loses an item or refuses one.
///
/// # Panics
/// If a batch is larger than the store takes.
pub fn measure(items: KeyId, batches: &[usize], duration: Duration) -> io::Result<EngineFigures> {
    let resident_before = resident_bytes()?;
    let config = StoreConfig {
        memory_bytes: u64::from(items) * ROOM_BYTES_PER_ITEM + ROOM_BYTES,
        handles_max: 1,
        ..StoreConfig::default()
    };
    let store = Store::new(config)?;
    let mut bench = EngineBench::new(store.handle(), items);
    let inserts_per_s = bench.insert_all()?;
    let (stats, resident_bytes) = (store.stats(), resident_bytes()? - resident_before);
    let footprint_bytes = stats.bytes_live + stats.index_bytes;
    let mut lookups_per_s = Vec::new();
    for &batch in batches {
        lookups_per_s.push((batch, bench.lookups(batch, duration)?));
    }
    let overwrites_per_s = bench.overwrites(duration)?;
    drop(bench);
    drop(store);
    Ok(EngineFigures {
        items,
        inserts_per_s,
        overwrites_per_s,
        full_sets_per_s: full::sets_per_s(items, duration)?,
        lookups_per_s,
        memory_limit: memory_limit::random_reads(footprint_bytes as usize, duration),
        overhead_bytes_by_stats: above_key_and_value(footprint_bytes, items),
        overhead_bytes_by_rss: above_key_and_value(resident_bytes, items),
    })
}

fn above_key_and_value(bytes: u64, items: KeyId) -> f64 {
    bytes as f64 / f64::from(items) - (KEY_BYTES + VALUE_BYTES) as f64
}

/// A store with its keys.
struct EngineBench {
    handle: StoreHandle,
    items: KeyId,
    random: SmallRng,
    shape: KeyShape,
}

impl EngineBench {
    fn new(handle: StoreHandle, items: KeyId) -> Self {
        handle.set_now(START);
        EngineBench {
            handle,
            items,
            random: SmallRng::seed_from_u64(1),
            shape: KeyShape::new(KEY_BYTES),
        }
    }

    fn set(&self, id: KeyId, key: &mut Vec<u8>) -> io::Result<()> {
        key.clear();
        self.shape.push(id, key);
        let value = [id as u8; VALUE_BYTES];
        self.handle
            .set(key, &value, &SetOptions::default())
            .map_err(refused)?;
        Ok(())
    }

    fn insert_all(&mut self) -> io::Result<f64> {
        let start = CpuStopwatch::start();
        let mut key = Vec::new();
        for id in 0..self.items {
            self.set(id, &mut key)?;
            if (id as usize).is_multiple_of(KEYS_PER_LOOK) {
                self.handle.quiescent();
            }
        }
        self.handle.quiescent();
        Ok(f64::from(self.items) / start.elapsed().as_secs_f64())
    }

    fn overwrites(&mut self, duration: Duration) -> io::Result<f64> {
        repeat(duration, || self.set_random_block())
    }

    /// Stores [`KEYS_PER_LOOK`] random keys.
    fn set_random_block(&mut self) -> io::Result<usize> {
        let mut key = Vec::new();
        for _ in 0..KEYS_PER_LOOK {
            let id = self.random.random_range(0..self.items);
            self.set(id, &mut key)?;
        }
        self.handle.quiescent();
        Ok(KEYS_PER_LOOK)
    }

    fn lookups(&mut self, batch: usize, duration: Duration) -> io::Result<f64> {
        assert!((1..=BATCH_MAX).contains(&batch), "a batch of {batch}");
        let filler = self.shape.clone();
        let mut sample = Vec::new();
        filler.push(0, &mut sample);
        let mut keys = [[0; KEY_BYTES]; BATCH_MAX];
        keys.iter_mut().for_each(|key| key.copy_from_slice(&sample));
        repeat(duration, || {
            let looked_up = self.lookup_block(batch, &mut keys)?;
            self.handle.quiescent();
            Ok(looked_up)
        })
    }

    /// Looks up [`KEYS_PER_LOOK`] random keys in batches, reading both ends of each value.
    fn lookup_block(
        &mut self,
        batch: usize,
        keys: &mut [[u8; KEY_BYTES]; BATCH_MAX],
    ) -> io::Result<usize> {
        let mut found = Vec::with_capacity(batch);
        let batches = KEYS_PER_LOOK / batch;
        for _ in 0..batches {
            for key in &mut keys[..batch] {
                let id = self.random.random_range(0..self.items);
                key[KEY_BYTES - 8..].copy_from_slice(&crate::load::keys::hex_digits(id));
            }
            let borrowed: [&[u8]; BATCH_MAX] = std::array::from_fn(|index| &keys[index][..]);
            self.handle
                .get_batch(&borrowed[..batch], Access::Use, &mut found)
                .map_err(|_| lost())?;
            for item in &found {
                let value = item.as_ref().ok_or_else(lost)?.value();
                black_box(value[0] ^ value[VALUE_BYTES - 1]);
            }
        }
        Ok(batches * batch)
    }
}

/// Repeats `block`, which returns how many keys it did, for `duration`; keys a second.
fn repeat(duration: Duration, mut block: impl FnMut() -> io::Result<usize>) -> io::Result<f64> {
    let start = CpuStopwatch::start();
    let mut done = 0;
    while start.elapsed() < duration {
        done += block()?;
    }
    Ok(done as f64 / start.elapsed().as_secs_f64())
}

fn refused(error: Interrupt) -> io::Error {
    io::Error::other(format!("the store refused an item: {error}"))
}

fn lost() -> io::Error {
    io::Error::other("the store lost an item")
}

/// Resident memory of this process in bytes, explicit huge pages included.
fn resident_bytes() -> io::Result<u64> {
    farcache_harness::server_process::resident_bytes_of("self")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_store_gives_figures_for_every_batch() {
        let figures = measure(10_000, &[1, 16], Duration::from_millis(20)).unwrap();
        assert!(figures.inserts_per_s > 0.0 && figures.overwrites_per_s > 0.0);
        assert!(figures.full_sets_per_s > 0.0);
        assert!(figures.lookups_per_s(1).unwrap() > 0.0);
        assert!(figures.lookups_per_s(16).unwrap() > 0.0);
        assert_eq!(figures.lookups_per_s(32), None);
        assert!(figures.memory_limit.prefetched_per_s > 0.0);
    }
}
