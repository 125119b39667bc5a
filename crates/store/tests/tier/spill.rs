//! From memory to the device and back.

use crate::common::*;
use farcache_store::*;
use std::sync::Arc;

#[test]
fn more_than_memory_holds_stays_a_hit() {
    let device = device(16 << 20);
    let store = open(&device);
    let mut handle = store.handle();
    for number in 0..1500 {
        set(&mut handle, number, 0, 4000);
    }
    for number in 0..1500 {
        let found = get(&mut handle, number);
        assert_eq!(found, Some(value(number, 0, 4000)), "{number}");
    }
    let (tier, all) = (stats(&store), store.stats());
    assert_eq!((all.evictions, all.items, all.out_of_memory), (0, 1500, 0));
    assert!(tier.reads > 0 && tier.items > 500, "{tier:?}");
    assert_eq!(tier.checksum_errors + tier.read_errors + tier.items_lost, 0);
}

/// A number without order in it (the finalizer of MurmurHash3).
fn mixed(number: u32) -> u32 {
    let mixed = (number ^ number >> 16).wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ mixed >> 13).wrapping_mul(0xc2b2_ae35);
    mixed ^ mixed >> 16
}

#[test]
fn overwriting_what_memory_holds_writes_nothing() {
    let device = device(16 << 20);
    let store = Store::open(config(4 << 20), tier(&device)).unwrap();
    let mut handle = store.handle();
    for step in 0..20_000_u32 {
        // Three fifths of the memory, in an order that leaves something alive everywhere.
        set(&mut handle, mixed(step) % 600, step, 4000);
    }
    let (tier, all) = (stats(&store), store.stats());
    assert_eq!((tier.items_written, all.evictions), (0, 0), "{all:?}");
    assert!(all.segments_cleaned > 0);
}

#[test]
fn what_is_read_twice_comes_back_and_a_scan_moves_nothing() {
    let device = device(16 << 20);
    let store = open(&device);
    let mut handle = store.handle();
    for number in 0..1500 {
        set(&mut handle, number, 0, 4000);
    }
    for number in 0..1500 {
        assert!(get_with(&mut handle, number, Access::Use).is_some());
    }
    assert_eq!(stats(&store).promoted, 0, "a scan");
    for _ in 0..3 {
        assert!(get_with(&mut handle, 3, Access::Use).is_some());
    }
    eventually("memory has room", || {
        get_with(&mut handle, 3, Access::Use);
        stats(&store).promoted > 0
    });
    let reads = stats(&store).reads;
    assert_eq!(get(&mut handle, 3), Some(value(3, 0, 4000)));
    assert_eq!(stats(&store).reads, reads, "it is in memory");
}

#[test]
fn values_larger_than_a_segment_go_to_the_device_and_come_back() {
    let device = device(32 << 20);
    let store = Store::open(config(4 << 20), tier(&device)).unwrap();
    let mut handle = store.handle();
    for number in 0..30 {
        set(&mut handle, number, 0, 300_000);
    }
    for number in 0..30 {
        assert_eq!(get(&mut handle, number), Some(value(number, 0, 300_000)));
    }
    assert_eq!(store.stats().evictions, 0);
    assert!(stats(&store).reads > 0);
}

#[test]
fn a_value_read_from_the_device_can_be_pinned() {
    let device = device(16 << 20);
    let store = open(&device);
    let mut handle = store.handle();
    for number in 0..1000 {
        set(&mut handle, number, 0, 4000);
    }
    let pin = |handle: &StoreHandle| {
        let item = handle.get(&key(1), Access::Peek);
        item.map(|item| item.map(|item| item.pin()))
    };
    let pinned = handle.run_blocking(pin).unwrap().expect("it is there");
    handle.quiescent();
    for number in 0..1000 {
        set(&mut handle, number, 1, 4000);
    }
    assert_eq!(pinned.value(), value(1, 0, 4000));
}

#[test]
fn space_of_what_was_overwritten_is_used_again() {
    let device = device(8 << 20);
    let store = Store::open(
        StoreConfig {
            evict: false,
            ..config(1 << 20)
        },
        tier(&device),
    )
    .unwrap();
    let mut handle = store.handle();
    // Five times what the device holds.
    for round in 0..10 {
        for number in 0..1000 {
            set(&mut handle, number, round, 4000);
        }
    }
    for number in 0..1000 {
        assert_eq!(get(&mut handle, number), Some(value(number, 9, 4000)));
    }
    let tier = stats(&store);
    assert!(tier.bytes_written > 3 * tier.device_bytes, "{tier:?}");
    assert_eq!(tier.evictions + tier.items_lost, 0);
}

#[test]
fn a_full_device_evicts_the_oldest_or_refuses() {
    let device = device(4 << 20);
    let store = open(&device);
    let mut handle = store.handle();
    for number in 0..4000 {
        set(&mut handle, number, 0, 4000);
    }
    assert_eq!(get(&mut handle, 3999), Some(value(3999, 0, 4000)));
    assert_eq!(get(&mut handle, 0), None);
    assert!(stats(&store).evictions > 0);
    for number in 0..4000 {
        let found = get(&mut handle, number);
        assert!(found.is_none_or(|found| found == value(number, 0, 4000)));
    }
}

#[test]
fn all_devices_are_written_in_turn() {
    let devices = [device(8 << 20), device(8 << 20), device(8 << 20)];
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        ..TierConfig::new(
            devices
                .iter()
                .map(|one| Arc::clone(one) as Arc<dyn Device>)
                .collect(),
        )
    };
    let store = Store::open(config(1 << 20), tier).unwrap();
    let mut handle = store.handle();
    let before = devices.each_ref().map(|device| device.writes());
    for number in 0..1500 {
        set(&mut handle, number, 0, 4000);
    }
    let written = |at: usize| devices[at].writes() - before[at];
    eventually("the devices have written", || {
        written(0) + written(1) + written(2) > 60
    });
    for one in 0..3 {
        assert!(
            written(one) >= 60 / 3 - 4,
            "device {one}: {} segments",
            written(one)
        );
    }
}
