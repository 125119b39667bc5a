use crate::device::{Device, FaultyDevice};
use crate::options::{SetOptions, StoreConfig};
use crate::store::Store;
use crate::tier::{Durability, TierConfig};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SEGMENT_BYTES: u32 = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(60);

/// Where not one slot of the survivor is free, what a device that is gone told of cannot be told,
/// and no slot comes free.
#[test]
fn whoever_waits_hears_that_what_is_missing_cannot_be_noted() {
    let devices: Vec<_> = (0..2)
        .map(|_| Arc::new(FaultyDevice::new(2 << 20)))
        .collect();
    let config = StoreConfig {
        memory_bytes: 1 << 20,
        segment_bytes: SEGMENT_BYTES,
        huge_pages: false,
        evict: false,
        ..StoreConfig::default()
    };
    let members = devices.iter().map(|one| Arc::clone(one) as Arc<dyn Device>);
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        durability: Durability::Sync,
        ..TierConfig::new(members.collect())
    };
    let store = Store::open(config, tier).unwrap();
    let mut handle = store.handle();
    let slots = &store.core.tier.as_ref().unwrap().slots;
    for slot in slots.of_device(0).skip(1) {
        assert!(slots.hold(slot, 1));
    }
    devices[1].set_gone(true);
    handle
        .set(b"key", b"value", &SetOptions::default())
        .unwrap();
    let mark = handle.durable_mark();
    handle.park();
    let deadline = Instant::now() + PATIENCE;
    while !handle.is_lost(mark) {
        assert!(Instant::now() < deadline && !handle.is_durable(mark));
        std::thread::yield_now();
    }
}
