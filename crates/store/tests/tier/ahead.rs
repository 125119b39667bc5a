//! What leaves memory next is copied to the device ahead of time, and stays in memory until then.

use crate::common::*;
use crate::room::GatedDevice;
use farcache_store::*;
use std::sync::Arc;

const VALUE_BYTES: usize = 4000;
/// Segments of memory: enough of them that a sixteenth is more than is kept free.
const SEGMENTS: u64 = 256;
const MEMORY_BYTES: u64 = SEGMENTS * SEGMENT_BYTES as u64;
/// Segments that wait for the device at most: far fewer than a burst needs.
const WRITE_BUFFERS: u32 = 2;
/// Items of [`VALUE_BYTES`], with header and key, in one segment.
const ITEMS_PER_SEGMENT: u32 = 16;
/// Items that fill memory but for what is kept free: four segments, and those that are open.
const ITEMS_THAT_FIT: u32 = (SEGMENTS as u32 - 8) * ITEMS_PER_SEGMENT;

fn open_large(device: Arc<dyn Device>, durability: Durability) -> Arc<Store> {
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        durability,
        write_buffers: WRITE_BUFFERS,
        ..TierConfig::new(vec![device])
    };
    Store::open(config(MEMORY_BYTES), tier).unwrap()
}

fn store_all(handle: &mut StoreHandle, numbers: std::ops::Range<u32>) {
    numbers.for_each(|number| set(handle, number, 0, VALUE_BYTES));
}

/// Waits until a sixteenth of memory can be emptied without writing.
fn wait_for_copies(store: &Store) {
    let wanted = u64::from(ITEMS_PER_SEGMENT) * SEGMENTS / 16;
    eventually("it is copied ahead", || {
        let copied = stats(store).items;
        copied + store.stats().segments_free * u64::from(ITEMS_PER_SEGMENT) >= wanted
    });
}

#[test]
fn what_just_fits_memory_is_read_from_memory() {
    let store = open_large(device(64 << 20), Durability::Writeback);
    let mut handle = store.handle();
    store_all(&mut handle, 0..ITEMS_THAT_FIT);
    wait_for_copies(&store);
    for number in 0..ITEMS_THAT_FIT {
        let found = get_with(&mut handle, number, Access::Use);
        assert_eq!(found, Some(value(number, 0, VALUE_BYTES)), "{number}");
    }
    let (tier, all) = (stats(&store), store.stats());
    assert_eq!((tier.reads, tier.buffer_hits), (0, 0), "{tier:?}");
    assert!(tier.items > 0, "some have copies: {tier:?}");
    assert_eq!((all.items, all.evictions), (u64::from(ITEMS_THAT_FIT), 0));
}

#[test]
fn a_burst_finds_room_while_the_device_takes_nothing() {
    let device = GatedDevice::new(64 << 20);
    let store = open_large(
        Arc::clone(&device) as Arc<dyn Device>,
        Durability::Writeback,
    );
    let mut handle = store.handle();
    store_all(&mut handle, 0..ITEMS_THAT_FIT);
    wait_for_copies(&store);
    handle.park();
    assert!(store.sync_tier(PATIENCE));
    let gate = device.close();
    // Half of what is in stock: some segments of it are the reclaimer's.
    let burst = ITEMS_PER_SEGMENT * SEGMENTS as u32 / 32;
    store_all(&mut handle, ITEMS_THAT_FIT..ITEMS_THAT_FIT + burst);
    assert_eq!(store.stats().evictions, 0);
    drop(gate);
    for number in 0..ITEMS_THAT_FIT + burst {
        let found = get(&mut handle, number);
        assert_eq!(found, Some(value(number, 0, VALUE_BYTES)), "{number}");
    }
}

#[test]
fn what_is_on_the_device_comes_back_with_its_first_read_where_there_is_room() {
    let store = open_large(device(64 << 20), Durability::Writeback);
    let mut handle = store.handle();
    let items = 2 * ITEMS_THAT_FIT;
    store_all(&mut handle, 0..items);
    for number in ITEMS_THAT_FIT / 2..items {
        let deleted = handle.delete(&key(number), &DeleteOptions::default());
        assert!(deleted.is_ok());
        handle.quiescent();
    }
    // Dead segments become free when readers have passed.
    eventually("there is room", || {
        handle.quiescent();
        store.stats().segments_free > SEGMENTS / 4
    });
    for number in 0..100 {
        assert!(get_with(&mut handle, number, Access::Use).is_some());
    }
    let before = stats(&store);
    assert!(before.promoted > 0 && before.reads > 0, "{before:?}");
    for number in 0..100 {
        assert!(get_with(&mut handle, number, Access::Use).is_some());
    }
    let after = stats(&store);
    assert_eq!(
        (after.reads, after.promoted),
        (before.reads, before.promoted)
    );
}

fn cas_of(handle: &mut StoreHandle, number: u32) -> u64 {
    let read = |handle: &StoreHandle| {
        let item = handle.get(&key(number), Access::Use);
        item.map(|item| item.map(|item| item.cas()))
    };
    let cas = handle.run_blocking(read).unwrap();
    handle.quiescent();
    cas.expect("it is there")
}

/// The copy was made under the token that the item had then, which nobody knew; then the item
/// moves within memory.
#[test]
fn a_token_fits_the_copy_of_an_item_that_has_moved_since() {
    let device = device(64 << 20);
    let store = open_large(Arc::clone(&device) as Arc<dyn Device>, Durability::Sync);
    let mut handle = store.handle();
    store_all(&mut handle, 0..64);
    handle.park();
    assert!(store.sync_tier(PATIENCE));
    for number in 0..64 {
        assert!(get_with(&mut handle, number, Access::Use).is_some());
    }
    // Those used are the oldest: they go round when memory is full.
    let mut numbers = 64..4 * ITEMS_THAT_FIT;
    while store.stats().items_moved < 64 {
        let next = numbers.next().expect("memory has been full");
        store_all(&mut handle, next..next + 1);
    }
    let tokens: Vec<u64> = (0..64).map(|number| cas_of(&mut handle, number)).collect();
    assert_eq!(stats(&store).reads, 0, "they are in memory");
    // They leave it.
    drop(handle);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    let store = open_large(device, Durability::Sync);
    let mut handle = store.handle();
    for (number, token) in (0..).zip(tokens) {
        let options = SetOptions {
            compare_cas: Some(token),
            ..SetOptions::default()
        };
        let change = |handle: &StoreHandle| match handle.set(&key(number), b"new", &options) {
            Ok(outcome) => Ok(outcome),
            Err(Interrupt::Suspended(suspended)) => Err(suspended),
            Err(Interrupt::Failed(error)) => panic!("{error}"),
        };
        let outcome = handle.run_blocking(change).unwrap();
        assert!(
            matches!(outcome, SetOutcome::Stored { .. }),
            "{number}: {outcome:?}"
        );
        handle.quiescent();
    }
}
