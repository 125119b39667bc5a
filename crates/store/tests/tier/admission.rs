//! What is worth a write to a full device.

use crate::common::*;
use farcache_store::*;
use std::sync::Arc;

const BYTES: usize = 1000;
/// Some 900 items fit in memory, and 1,700 on the device.
const DEVICE_BYTES: u64 = 2 << 20;
/// So many that the sample among them has been judged.
const MANY: u32 = 8000;

/// A store to which so much was written that nobody reads that the device is full.
fn full_of_unread() -> (Arc<FaultyDevice>, Arc<Store>) {
    let device = device(DEVICE_BYTES);
    let store = open(&device);
    let mut handle = store.handle();
    (0..MANY).for_each(|number| set(&mut handle, number, 0, BYTES));
    drop(handle);
    assert!(stats(&store).segments_evicted > 0, "{:?}", stats(&store));
    (device, store)
}

#[test]
fn what_nobody_reads_is_not_written_to_a_full_device() {
    let (_device, store) = full_of_unread();
    let mut handle = store.handle();
    let before = stats(&store);
    (MANY..2 * MANY).for_each(|number| set(&mut handle, number, 0, BYTES));
    let after = stats(&store);
    let written = after.items_written - before.items_written;
    // The sample is an eighth.
    assert!(written < u64::from(MANY) / 4, "{before:?} {after:?}");
    let unread = after.evictions_unread - before.evictions_unread;
    assert!(unread > u64::from(MANY) / 2, "{before:?} {after:?}");
}

#[test]
fn what_is_read_once_and_late_is_written() {
    const LATER: u32 = 1100;
    let device = device(DEVICE_BYTES);
    let store = open(&device);
    let mut handle = store.handle();
    let mut found = 0;
    for number in 0..2 * MANY {
        set(&mut handle, number, 0, BYTES);
        if number >= LATER {
            let value = get_with(&mut handle, number - LATER, Access::Use);
            found += u32::from(value.is_some());
        }
    }
    let stats = stats(&store);
    assert!(stats.segments_evicted > 0, "{stats:?}");
    assert_eq!(stats.evictions_unread, 0, "{stats:?}");
    assert!(found > (2 * MANY - LATER) / 10 * 9, "{found}: {stats:?}");
}

#[test]
fn what_comes_back_stays() {
    const SOME: u32 = 200;
    let (_device, store) = full_of_unread();
    let mut handle = store.handle();
    let mut others = 2 * MANY..;
    let mut store_and_push_out = |handle: &mut StoreHandle| {
        (MANY..MANY + SOME).for_each(|number| set(handle, number, 0, BYTES));
        let others = others.by_ref().take(1500);
        others.for_each(|number| set(handle, number, 0, BYTES));
        let found = |number: &u32| get(handle, *number).is_some();
        (MANY..MANY + SOME).filter(found).count() as u32
    };
    let first = store_and_push_out(&mut handle);
    assert!(first < SOME / 2, "{first} stay the first time");
    let again = store_and_push_out(&mut handle);
    assert!(again > SOME / 4 * 3, "{again} stay the second time");
}

#[test]
fn a_stop_writes_what_nobody_has_read() {
    const LAST: u32 = 100;
    let (device, store) = full_of_unread();
    let mut handle = store.handle();
    (MANY..2 * MANY).for_each(|number| set(&mut handle, number, 0, BYTES));
    drop(handle);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    let store = open(&device);
    let mut handle = store.handle();
    for number in 2 * MANY - LAST..2 * MANY {
        assert!(get(&mut handle, number).is_some(), "{number}");
    }
}
