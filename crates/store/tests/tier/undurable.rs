//! `Durability::Sync` when no device is left: whoever waits is told, and nobody is shown what was
//! not acknowledged.

use crate::common::*;
use farcache_store::*;
use std::sync::Arc;

const BYTES: usize = 2000;

fn open_sync(devices: &[&Arc<FaultyDevice>]) -> Arc<Store> {
    let devices = devices
        .iter()
        .map(|&device| Arc::clone(device) as Arc<dyn Device>);
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        engine: EngineChoice::Threads,
        durability: Durability::Sync,
        ..TierConfig::new(devices.collect())
    };
    Store::open(config(1 << 20), tier).unwrap()
}

/// What became of everything done so far.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Durable,
    Lost,
}

fn await_fate(handle: &mut StoreHandle) -> Fate {
    let mark = handle.durable_mark();
    handle.park();
    eventually("neither durable nor lost", || {
        handle.is_durable(mark) || handle.is_lost(mark)
    });
    match handle.is_durable(mark) {
        true => Fate::Durable,
        false => Fate::Lost,
    }
}

fn delete(handle: &mut StoreHandle, number: u32) {
    let outcome = handle
        .delete(&key(number), &DeleteOptions::default())
        .unwrap();
    assert_eq!(outcome, DeleteOutcome::Deleted);
    handle.quiescent();
}

/// Items 0 to 3, durable.
fn store_four(handle: &mut StoreHandle) {
    (0..4).for_each(|number| set(handle, number, 0, BYTES));
    assert_eq!(await_fate(handle), Fate::Durable);
}

/// Changes item 0, deletes item 1, stores item 4; these are lost, and nothing else is.
fn change_in_vain(handle: &mut StoreHandle, store: &Store) {
    set(handle, 0, 1, BYTES);
    delete(handle, 1);
    set(handle, 4, 0, BYTES);
    assert_eq!(await_fate(handle), Fate::Lost);
    for changed in [0, 1, 4] {
        assert_eq!(get(handle, changed), None, "{changed} was not acknowledged");
    }
    for kept in [2, 3] {
        assert_eq!(get(handle, kept), Some(value(kept, 0, BYTES)), "{kept}");
    }
    assert_eq!(store.stats().items, 2);
}

#[test]
fn what_waits_when_the_last_device_fails_is_lost_and_not_shown() {
    for how in 0..3 {
        let device = device(4 << 20);
        let store = open_sync(&[&device]);
        let mut handle = store.handle();
        store_four(&mut handle);
        match how {
            0 => device.set_gone(true),
            1 => device.fail_syncs(true),
            _ => (0..1000).for_each(|write| {
                device.fail_write(device.writes() + write, Fault::Error);
            }),
        }
        change_in_vain(&mut handle, &store);
    }
}

#[test]
fn what_is_stored_after_the_failure_is_lost_as_well() {
    let device = device(4 << 20);
    let store = open_sync(&[&device]);
    let mut handle = store.handle();
    store_four(&mut handle);
    device.set_gone(true);
    change_in_vain(&mut handle, &store);
    for round in 0..3 {
        set(&mut handle, 2, round, BYTES);
        assert_eq!(await_fate(&mut handle), Fate::Lost);
        assert_eq!(get(&mut handle, 2), None);
    }
    assert_eq!(get(&mut handle, 3), Some(value(3, 0, BYTES)));
}

#[test]
fn one_of_two_devices_may_fail_and_then_the_other() {
    for how in 0..2 {
        let devices = [device(4 << 20), device(4 << 20)];
        let store = open_sync(&[&devices[0], &devices[1]]);
        let mut handle = store.handle();
        store_four(&mut handle);
        devices[how].set_gone(true);
        for number in 0..4 {
            set(&mut handle, number, 1, BYTES);
            assert_eq!(await_fate(&mut handle), Fate::Durable);
        }
        // Whatever lay where, each is there as it was acknowledged.
        (0..4).for_each(|number| set(&mut handle, number, 0, BYTES));
        assert_eq!(await_fate(&mut handle), Fate::Durable);
        devices[1 - how].set_gone(true);
        change_in_vain(&mut handle, &store);
    }
}

/// What had been copied to the device that fails is in memory only until it has been copied to the
/// other one.
#[test]
fn what_is_acknowledged_while_a_device_fails_is_durable_on_the_other() {
    for how in 0..3 {
        let devices = [device(4 << 20), device(4 << 20)];
        let store = open_sync(&[&devices[0], &devices[1]]);
        let mut handle = store.handle();
        store_four(&mut handle);
        match how {
            0 => devices[1].set_gone(true),
            1 => devices[1].fail_syncs(true),
            _ => (0..1000).for_each(|write| {
                devices[1].fail_write(devices[1].writes() + write, Fault::Error);
            }),
        }
        for number in 4..20 {
            set(&mut handle, number, 0, BYTES);
            assert_eq!(await_fate(&mut handle), Fate::Durable);
        }
        let left = FaultyDevice::with_contents(devices[0].contents_after_power_loss(|| false));
        drop(handle);
        drop(store);
        let store = open_sync(&[&Arc::new(left)]);
        let mut handle = store.handle();
        for number in 4..20 {
            let expected = Some(value(number, 0, BYTES));
            assert_eq!(get(&mut handle, number), expected, "{how}: {number}");
        }
    }
}

/// The larger device has all free slots when it goes, if the other one keeps none.
#[test]
fn a_survivor_without_room_for_items_has_room_to_note_who_is_gone() {
    const SLOTS: [u64; 2] = [40, 16];
    const SEGMENTS: u32 = 30;
    const ITEMS: u32 = 6;
    let devices = SLOTS.map(|slots| device(slots * u64::from(SEGMENT_BYTES)));
    let shared = devices.iter().map(|one| Arc::clone(one) as Arc<dyn Device>);
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        durability: Durability::Sync,
        ..TierConfig::new(shared.collect())
    };
    let config = StoreConfig {
        evict: false,
        ..config(1 << 20)
    };
    let store = Store::open(config, tier).unwrap();
    let mut handle = store.handle();
    for segment in 0..SEGMENTS {
        let items = segment * ITEMS..(segment + 1) * ITEMS;
        items.for_each(|number| set(&mut handle, number, 0, BYTES));
        assert_eq!(await_fate(&mut handle), Fate::Durable);
    }
    let numbers = 0..SEGMENTS * ITEMS;
    numbers
        .step_by(2)
        .for_each(|number| delete(&mut handle, number));
    assert_eq!(await_fate(&mut handle), Fate::Durable);
    devices[0].set_gone(true);
    for number in 0..ITEMS {
        set(&mut handle, number, 1, BYTES);
        assert_eq!(
            await_fate(&mut handle),
            Fate::Durable,
            "{:?}",
            stats(&store)
        );
    }
}

#[test]
fn marks_of_other_handles_are_told_as_well() {
    let device = device(4 << 20);
    let store = open_sync(&[&device]);
    let mut first = store.handle();
    let mut second = store.handle();
    store_four(&mut first);
    let event = second.with_durable_descriptor(|_| ()).unwrap();
    assert!(event.is_some());
    device.set_gone(true);
    set(&mut first, 0, 1, BYTES);
    set(&mut second, 1, 1, BYTES);
    let mark = second.durable_mark();
    second.park();
    assert_eq!(await_fate(&mut first), Fate::Lost);
    eventually("the other is not told", || second.is_lost(mark));
    assert_eq!(get(&mut second, 0), None);
    assert_eq!(get(&mut second, 1), None);
}
