//! A device on which hardly anything is dead: what is gained by cleaning it ends, and so does an
//! orderly stop.

use crate::common::*;
use farcache_store::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

const KEYS: u32 = 1400;
const BYTES: usize = 4000;

/// How long nothing may be written before the device counts as being left alone.
const REST: Duration = Duration::from_millis(500);

/// More than the device holds, stored, partly overwritten and all of it read of late.
fn overfill(store: &Arc<Store>) {
    let mut handle = store.handle();
    for number in 0..KEYS {
        set(&mut handle, number, 0, BYTES);
    }
    let mut state = 7u32;
    for _ in 0..3 * KEYS {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let number = (state >> 8) % KEYS;
        // Half of the changes go to a tenth of the keys.
        let number = if state >> 31 == 0 {
            number / 10
        } else {
            number
        };
        set(&mut handle, number, 1, BYTES);
        get_with(&mut handle, state % KEYS, Access::Use);
    }
}

#[test]
fn cleaning_that_gains_nothing_ends() {
    let device = device(4 << 20);
    let store = open(&device);
    overfill(&store);
    let (mut seen, mut since) = (0, Instant::now());
    eventually("the device is left alone", || {
        let written = stats(&store).segments_written;
        if written != seen {
            (seen, since) = (written, Instant::now());
        }
        since.elapsed() > REST
    });
    let tier = stats(&store);
    assert!(tier.bytes_written < 8 * tier.bytes_from_memory, "{tier:?}");
}

#[test]
fn an_orderly_stop_drops_what_has_no_room_and_writes_little_more_than_memory_holds() {
    let device = device(4 << 20);
    let store = open(&device);
    overfill(&store);
    assert!(store.sync_tier(PATIENCE));
    let before = stats(&store);
    assert!(store.shutdown(PATIENCE));
    let tier = stats(&store);
    let written = tier.bytes_written - before.bytes_written;
    assert!(written < 8 << 20, "{before:?} {tier:?}");
    let items = store.stats().items;
    assert_eq!(items, tier.items, "nothing is left in memory");
    assert!(store.stats().evictions > 0, "not all had room");
    drop(store);
    let store = open(&device);
    assert_eq!(stats(&store).items_recovered, items);
}

/// Stores small items, more than the device holds, deletes them all, and stores again.
fn delete_everything_and_go_on(evict: bool, step: u32) {
    const SMALL: u32 = 40_000;
    const AFTERWARDS: u32 = 700;
    let device = device(2 << 20);
    let config = StoreConfig {
        evict,
        ..config(512 << 10)
    };
    let store = Store::open(config, tier(&device)).unwrap();
    let mut handle = store.handle();
    for number in 0..SMALL {
        // With eviction off what has no room is refused.
        let _ = handle.set(&key(number), b"small", &SetOptions::default());
        handle.quiescent();
    }
    handle.park();
    assert!(store.sync_tier(PATIENCE));
    for number in 0..SMALL {
        let number = number * step % SMALL;
        let _ = handle.delete(&key(number), &DeleteOptions::default());
        handle.quiescent();
    }
    handle.park();
    assert!(store.sync_tier(PATIENCE), "{:?}", stats(&store));
    assert_eq!(store.stats().items, 0);
    let lost_power = FaultyDevice::with_contents(device.contents_after_power_loss(|| false));
    let recovered = stats(&open(&Arc::new(lost_power))).items_recovered;
    assert_eq!(recovered, 0, "what was deleted stays deleted");
    for number in 0..AFTERWARDS {
        let value = value(number, 1, 1000);
        eventually("there is room again", || {
            let outcome = handle.set(&key(number), &value, &SetOptions::default());
            handle.quiescent();
            outcome.is_ok()
        });
    }
    handle.park();
    assert!(store.sync_tier(PATIENCE));
    let found = |number: &u32| get(&mut handle, *number).is_some();
    let found = (0..AFTERWARDS).filter(found).count() as u32;
    assert!(found == AFTERWARDS, "{found} {:?}", stats(&store));
}

/// Their tombstones take a good part of the slots to be told, and the tombstones of whole segments,
/// which give slots back, come behind them.
#[test]
fn deleting_everything_leaves_a_device_that_can_be_written() {
    for evict in [true, false] {
        // In the order of storing, and scattered.
        for step in [1, 7919, 1, 7919] {
            delete_everything_and_go_on(evict, step);
        }
    }
}

/// Fills a device on which nothing is evicted with small items, deletes one in so many, and waits
/// for so many at once until that is durable.
fn delete_some_of_a_full_device(one_in: u32, at_once: u32) {
    const SMALL: u32 = 40_000;
    let device = device(2 << 20);
    let config = StoreConfig {
        evict: false,
        ..config(512 << 10)
    };
    let store = Store::open(config, tier(&device)).unwrap();
    let mut handle = store.handle();
    let store_small = |number: &u32| {
        let outcome = handle.set(&key(*number), b"small", &SetOptions::default());
        handle.quiescent();
        outcome.is_ok()
    };
    let stored: Vec<u32> = (0..SMALL).filter(store_small).collect();
    handle.park();
    assert!(store.sync_tier(PATIENCE));
    let (deleted, kept): (Vec<u32>, Vec<u32>) =
        stored.into_iter().partition(|number| number % one_in == 0);
    for some in deleted.chunks(at_once as usize) {
        for &number in some {
            let outcome = handle
                .delete(&key(number), &DeleteOptions::default())
                .unwrap();
            assert_eq!(outcome, DeleteOutcome::Deleted);
            handle.quiescent();
        }
        handle.park();
        assert!(store.sync_tier(PATIENCE), "{:?}", stats(&store));
    }
    // What is in memory only goes with the power.
    drop(handle);
    let lost_power = FaultyDevice::with_contents(device.contents_after_power_loss(|| false));
    let store = open(&Arc::new(lost_power));
    let mut handle = store.handle();
    let found = |number: &&u32| get(&mut handle, **number).is_some();
    assert_eq!(deleted.iter().filter(found).count(), 0);
    let found = |number: &&u32| get(&mut handle, **number).is_some();
    assert!(2 * kept.iter().filter(found).count() >= kept.len());
}

/// The segments that tell of the deletions are needed for as long as the others are alive, and
/// there are not slots for all of them.
#[test]
fn more_deletions_than_free_slots_have_room_for_become_durable() {
    [2, 3, 7, 20]
        .into_iter()
        .for_each(|one_in| delete_some_of_a_full_device(one_in, u32::MAX));
}

/// As before, where each deletion is waited for, or some are.
#[test]
fn deletions_become_durable_a_few_at_a_time_too() {
    [(3, 400), (9, 100), (40, 7), (1, 3000)]
        .into_iter()
        .for_each(|(one_in, at_once)| delete_some_of_a_full_device(one_in, at_once));
}

/// Each segment tells of a tombstone in the first one, which is needed for as long as anything
/// there is alive; all else in it dies.
#[test]
fn nothing_alive_is_evicted_while_segments_only_tell_of_tombstones() {
    const KEPT: u32 = 60;
    const ROUNDS: u32 = 40;
    const OVERWRITTEN: std::ops::Range<u32> = KEPT..KEPT + 12;
    let device = device(24 * u64::from(SEGMENT_BYTES));
    let tier = TierConfig {
        durability: Durability::Sync,
        ..tier(&device)
    };
    let store = Store::open(config(1 << 20), tier).unwrap();
    let mut handle = store.handle();
    let make_durable = |handle: &mut StoreHandle| {
        let mark = handle.durable_mark();
        handle.park();
        eventually("it becomes durable", || handle.is_durable(mark));
    };
    for number in 0..KEPT {
        set(&mut handle, number, 0, 1000);
    }
    make_durable(&mut handle);
    for round in 0..ROUNDS {
        if round < KEPT / 3 {
            handle
                .delete(&key(round), &DeleteOptions::default())
                .unwrap();
        }
        for number in OVERWRITTEN {
            set(&mut handle, number, round, 4800);
        }
        make_durable(&mut handle);
        let tier = stats(&store);
        assert_eq!(tier.evictions, 0, "round {round}: {tier:?}");
    }
    // Without those in memory.
    drop(handle);
    drop(store);
    let store = open(&device);
    let mut handle = store.handle();
    for number in 0..KEPT {
        let expected = (number >= KEPT / 3).then(|| value(number, 0, 1000));
        assert_eq!(get(&mut handle, number), expected, "key {number}");
    }
}
