//! More tombstones than one segment has room for: what was deleted durably stays deleted, wherever
//! the process is killed.

use crate::common::*;
use farcache_store::*;
use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex};

const DEVICE_BYTES: u64 = 2 << 20;
/// Small items, about as many as the device holds.
const KEYS: u32 = 24_000;

/// A device that remembers all that was written to it, in order.
struct Recorder {
    inner: FaultyDevice,
    log: Mutex<Vec<(u64, Vec<u8>)>>,
}

impl Recorder {
    fn new() -> Recorder {
        Recorder {
            inner: FaultyDevice::new(DEVICE_BYTES),
            log: Mutex::default(),
        }
    }

    fn writes(&self) -> usize {
        self.log.lock().unwrap().len()
    }
}

impl Device for Recorder {
    fn name(&self) -> String {
        "a device that remembers".into()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn block_bytes(&self) -> usize {
        self.inner.block_bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let mut log = self.log.lock().unwrap();
        self.inner.write_at(buffer, offset)?;
        log.push((offset, buffer.to_vec()));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }
}

/// What has been promised once so many writes have been done: these keys are deleted.
struct Promise {
    writes: usize,
    deleted: Vec<u32>,
}

struct Life {
    log: Vec<(u64, Vec<u8>)>,
    promises: Vec<Promise>,
    seed: u64,
}

struct Random(u64);

impl Random {
    fn next(&mut self, below: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32 % below
    }
}

fn open_on(device: Arc<dyn Device>, evict: bool) -> Arc<Store> {
    let config = StoreConfig {
        evict,
        ..config(512 << 10)
    };
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        engine: EngineChoice::Threads,
        ..TierConfig::new(vec![device])
    };
    Store::open(config, tier).unwrap()
}

/// Fills a device with small items and deletes all of them in some order, several at a time until
/// it is promised that these stay deleted.
fn delete_everything(seed: u64, evict: bool) -> Life {
    let device = Arc::new(Recorder::new());
    let store = open_on(Arc::clone(&device) as Arc<dyn Device>, evict);
    let mut handle = store.handle();
    for number in 0..KEYS {
        // With eviction off what has no room is refused.
        let _ = handle.set(&key(number), b"small", &SetOptions::default());
        handle.quiescent();
    }
    handle.park();
    assert!(store.sync_tier(PATIENCE));
    // How many in ten are deleted out of turn.
    let swaps = [0, 1, 3, 9][seed as usize % 4];
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut order: Vec<u32> = (0..KEYS).collect();
    // From the order of storing, in which segments die one after the other, to one in which all do
    // at the end.
    for place in 0..order.len() {
        if random.next(10) < swaps {
            let other = random.next(KEYS) as usize;
            order.swap(place, other);
        }
    }
    let mut promises = Vec::new();
    let mut rest = &order[..];
    while !rest.is_empty() {
        let many = 1 + random.next([1500, 6000, 24_000][seed as usize / 4 % 3]) as usize;
        let (now, later) = rest.split_at(many.min(rest.len()));
        for &number in now {
            handle
                .delete(&key(number), &DeleteOptions::default())
                .unwrap();
            handle.quiescent();
        }
        handle.park();
        assert!(store.sync_tier(PATIENCE), "{:?}", stats(&store));
        promises.push(Promise {
            writes: device.writes(),
            deleted: now.to_vec(),
        });
        rest = later;
    }
    drop(handle);
    drop(store);
    let log = std::mem::take(&mut *device.log.lock().unwrap());
    Life {
        log,
        promises,
        seed,
    }
}

/// Whether the index has an entry for a key.
fn is_there(handle: &mut StoreHandle, number: u32) -> bool {
    // It must be read to be shown where it is on the device.
    let found = handle.get(&key(number), Access::Peek);
    let is_there = found.map_or(true, |item| item.is_some());
    handle.forget_reads();
    handle.quiescent();
    is_there
}

impl Life {
    /// Kills the process after so many writes, and checks what is left; also after all of what was
    /// left free has been used.
    fn kill_after(&self, writes: usize) {
        let mut contents = vec![0; DEVICE_BYTES as usize];
        for (offset, bytes) in &self.log[..writes] {
            contents[*offset as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        let promises = self.promises.iter().filter(|one| one.writes <= writes);
        let deleted: HashSet<u32> = promises.flat_map(|one| one.deleted.clone()).collect();
        let device = Arc::new(FaultyDevice::with_contents(contents));
        let store = open_on(Arc::clone(&device) as Arc<dyn Device>, true);
        self.check(&store, &deleted, writes, "after the kill");
        let mut handle = store.handle();
        for number in KEYS..KEYS + 300 {
            set(&mut handle, number, 0, 2000);
        }
        drop(handle);
        assert!(store.sync_tier(PATIENCE));
        drop(store);
        let again = Arc::new(FaultyDevice::with_contents(device.contents()));
        let store = open_on(again, true);
        self.check(&store, &deleted, writes, "after one more");
    }

    fn check(&self, store: &Arc<Store>, deleted: &HashSet<u32>, writes: usize, when: &str) {
        let mut handle = store.handle();
        let back = deleted.iter().filter(|&&one| is_there(&mut handle, one));
        let count = back.count();
        assert_eq!(
            count,
            0,
            "seed {}, killed after write {writes} of {}, {when}: deleted keys are back",
            self.seed,
            self.log.len()
        );
    }
}

/// Lives in which everything is deleted, each killed after every write; `FARCACHE_TOMBSTONE_SEEDS`
/// asks for more.
fn kill_at_every_write(evict: bool) {
    let seeds = std::env::var("FARCACHE_TOMBSTONE_SEEDS");
    let seeds = seeds.ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(3);
    for seed in 1..=seeds {
        let life = delete_everything(seed, evict);
        let first = life.promises.first().expect("there is one").writes;
        (first..=life.log.len()).for_each(|writes| life.kill_after(writes));
    }
}

#[test]
fn what_was_deleted_durably_stays_deleted_wherever_a_kill_comes() {
    kill_at_every_write(true);
}

#[test]
fn it_does_where_nothing_is_evicted_too() {
    kill_at_every_write(false);
}
