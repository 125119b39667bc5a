//! What the tests share.

use farcache_store::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time that a test waits for something.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const SEGMENT_BYTES: u32 = 64 << 10;

pub fn config(memory_bytes: u64) -> StoreConfig {
    StoreConfig {
        memory_bytes,
        segment_bytes: SEGMENT_BYTES,
        huge_pages: false,
        ..StoreConfig::default()
    }
}

pub fn tier(device: &Arc<FaultyDevice>) -> TierConfig {
    TierConfig {
        segment_bytes: SEGMENT_BYTES,
        ..TierConfig::new(vec![Arc::clone(device) as Arc<dyn Device>])
    }
}

pub fn device(bytes: u64) -> Arc<FaultyDevice> {
    Arc::new(FaultyDevice::new(bytes))
}

/// A store of 1 MiB of memory over this device.
pub fn open(device: &Arc<FaultyDevice>) -> Arc<Store> {
    Store::open(config(1 << 20), tier(device)).unwrap()
}

pub fn key(number: u32) -> Vec<u8> {
    format!("key {number}").into_bytes()
}

/// The hash of a key that fences are told by: its number.
pub fn number_of(_: u8, key: &[u8]) -> u32 {
    let text = std::str::from_utf8(key).unwrap();
    text.trim_start_matches("key ").parse().unwrap()
}

/// Keys from number to number.
pub fn keys_between(first: u32, last: u32) -> KeyArcs {
    KeyArcs {
        hash: 1,
        arcs: vec![(first, last)],
    }
}

/// A value that tells its key and version.
pub fn value(number: u32, version: u32, bytes: usize) -> Vec<u8> {
    let mut value = format!("value {number} version {version} ").into_bytes();
    let mut state = number.wrapping_mul(0x9e37_79b9) ^ version;
    while value.len() < bytes {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        value.push((state >> 24) as u8);
    }
    value
}

pub fn set(handle: &mut StoreHandle, number: u32, version: u32, bytes: usize) {
    let value = value(number, version, bytes);
    let outcome = handle.set(&key(number), &value, &SetOptions::default());
    assert!(
        matches!(outcome, Ok(SetOutcome::Stored { .. })),
        "{outcome:?}"
    );
    handle.quiescent();
}

/// The value of a key, read from the device if need be.
pub fn get(handle: &mut StoreHandle, number: u32) -> Option<Vec<u8>> {
    get_with(handle, number, Access::Peek)
}

pub fn get_with(handle: &mut StoreHandle, number: u32, access: Access) -> Option<Vec<u8>> {
    let read = |handle: &StoreHandle| {
        let item = handle.get(&key(number), access);
        item.map(|item| item.map(|item| item.value().to_vec()))
    };
    let found = handle.run_blocking(read).unwrap();
    handle.quiescent();
    found
}

/// Waits until a condition holds.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

pub fn stats(store: &Store) -> TierStats {
    store.tier_stats().expect("a store with a tier")
}
