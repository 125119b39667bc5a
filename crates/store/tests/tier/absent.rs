//! Devices that drop out while the store runs, or are missing at a start, and are back later: what
//! was deleted or overwritten without them does not come back with them.

use crate::common::*;
use crate::starts::{again, open_over, refusal, tier_over};
use farcache_store::*;
use std::io;
use std::sync::Arc;

const KEYS: u32 = 300;
const BYTES: usize = 3000;
const FURTHER: u32 = 10_000;

/// Stores all keys, durably.
fn fill(store: &Arc<Store>) {
    let mut handle = store.handle();
    (0..KEYS).for_each(|number| set(&mut handle, number, 0, BYTES));
    handle.park();
    assert!(store.sync_tier(PATIENCE), "{:?}", stats(store));
}

/// Goes on until so many devices are out of service.
fn go_on_until_failed(store: &Arc<Store>, count: u64) {
    let mut further = FURTHER..;
    eventually("they are out of service", || {
        let mut handle = store.handle();
        let numbers = further.by_ref().take(20);
        numbers.for_each(|number| set(&mut handle, number, 0, BYTES));
        handle.park();
        store.sync_tier(PATIENCE);
        stats(store).devices_failed == count
    });
}

/// Deletes every third key, overwrites the next ones.
fn change(store: &Arc<Store>) {
    let mut handle = store.handle();
    for number in 0..KEYS {
        match number % 3 {
            0 => {
                _ = handle
                    .delete(&key(number), &DeleteOptions::default())
                    .unwrap()
            }
            1 => set(&mut handle, number, 1, BYTES),
            _ => {}
        }
        handle.quiescent();
    }
}

/// Nothing is there that was deleted or overwritten; returns how many keys are there.
fn check(store: &Arc<Store>) -> u32 {
    let mut handle = store.handle();
    let mut found = 0;
    for number in 0..KEYS {
        let Some(value_now) = get(&mut handle, number) else {
            continue;
        };
        found += 1;
        assert!(number % 3 != 0, "key {number} was deleted and is back");
        let version = u32::from(number % 3 == 1);
        assert!(
            value_now == value(number, version, BYTES),
            "key {number} is old"
        );
    }
    found
}

#[test]
fn a_device_that_dropped_out_and_is_back_revives_nothing() {
    for gone in [0, 1] {
        let devices = [device(4 << 20), device(4 << 20)];
        let store = open_over(&devices);
        fill(&store);
        devices[gone].set_gone(true);
        go_on_until_failed(&store, 1);
        change(&store);
        assert!(store.sync_tier(PATIENCE), "{:?}", stats(&store));
        let devices = again(&devices);
        drop(store);
        check(&open_over(&devices));
    }
}

/// What planning a start over these devices says.
fn plan(
    devices: &[&Arc<FaultyDevice>],
    may_format: &[usize],
    allow_missing: bool,
) -> io::Result<TierPlan> {
    let devices = devices.iter().map(|one| Arc::clone(one) as Arc<dyn Device>);
    TierPlan::make(TierConfig {
        may_format: may_format.to_vec(),
        allow_missing,
        ..tier_over(devices.collect())
    })
}

fn open(plan: &TierPlan) -> Arc<Store> {
    Store::open_planned(config(512 << 10), plan).unwrap()
}

fn kinds(plan: &TierPlan) -> Vec<TierEventKind> {
    plan.events().iter().map(|event| event.kind).collect()
}

/// Whether this device is refused for this reason.
fn is_refused(refused: io::Result<TierPlan>, reason: Unusable) -> bool {
    let error = refused.err().expect("refused");
    matches!(refusal(&error), TierRefusal::Device { why, .. } if *why == reason)
}

/// Two devices, one of which dropped out before things were changed.
fn with_one_behind() -> Vec<Arc<FaultyDevice>> {
    let devices = [device(4 << 20), device(4 << 20)];
    let store = open_over(&devices);
    fill(&store);
    devices[1].set_gone(true);
    go_on_until_failed(&store, 1);
    change(&store);
    assert!(store.sync_tier(PATIENCE), "{:?}", stats(&store));
    again(&devices)
}

#[test]
fn a_device_that_fell_behind_is_left_as_it_is_and_used_anew_with_permission() {
    let devices = with_one_behind();
    let behind = devices[1].contents();
    let aside = plan(&[&devices[0], &devices[1]], &[], false).unwrap();
    assert_eq!(kinds(&aside), [TierEventKind::LeftAside]);
    let store = open(&aside);
    assert_eq!(stats(&store).devices_failed, 1);
    check(&store);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    assert!(devices[1].contents() == behind, "it was left aside");
    let anew = plan(&[&devices[0], &devices[1]], &[1], false).unwrap();
    assert_eq!(kinds(&anew), [TierEventKind::Overwritten]);
    drop(open(&anew));
    // From now on it belongs to the store again, with nothing that it held before.
    let both = plan(&[&devices[0], &devices[1]], &[], false).unwrap();
    assert_eq!(kinds(&both), []);
    let store = open(&both);
    check(&store);
    assert_eq!(stats(&store).devices_failed, 0);
}

#[test]
fn the_survivors_do_without_the_device_that_dropped_out() {
    let devices = with_one_behind();
    let alone = plan(&[&devices[0]], &[], false).unwrap();
    assert_eq!(kinds(&alone), []);
    check(&open(&alone));
    assert!(
        plan(&[&devices[1]], &[], false).is_err(),
        "the survivor is missing"
    );
}

/// Any write of the survivor fails around the moment at which it has to note the loss.
#[test]
fn a_survivor_that_fails_to_write_for_a_moment_still_notes_who_dropped_out() {
    for failing in 0..6 {
        let devices = [device(4 << 20), device(4 << 20)];
        let store = open_over(&devices);
        fill(&store);
        devices[1].set_gone(true);
        let next = devices[0].writes() + failing;
        devices[0].fail_write(next, Fault::Error);
        go_on_until_failed(&store, 1);
        change(&store);
        assert!(store.sync_tier(PATIENCE), "{:?}", stats(&store));
        check(&open_over(&again(&devices)));
    }
}

#[test]
fn a_start_without_a_device_is_refused_and_changes_nothing() {
    let devices = [device(4 << 20), device(4 << 20)];
    let store = open_over(&devices);
    fill(&store);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    for present in &devices {
        let before = present.contents();
        let refused = plan(&[present], &[0], false).err().unwrap();
        let missing = TierRefusal::Missing { missing: 1, of: 2 };
        assert_eq!(*refusal(&refused), missing);
        assert!(present.contents() == before);
    }
    let mut handle = open_over(&devices).handle();
    assert!((0..KEYS).all(|number| get(&mut handle, number).is_some()));
}

#[test]
fn a_device_without_which_the_store_went_on_with_permission_revives_nothing() {
    let devices = [device(4 << 20), device(4 << 20)];
    let store = open_over(&devices);
    fill(&store);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    let alone = plan(&[&devices[0]], &[], true).unwrap();
    assert_eq!(kinds(&alone), [TierEventKind::Missing]);
    let store = open(&alone);
    change(&store);
    assert!(store.sync_tier(PATIENCE));
    drop(store);
    let other_way_round = again(&devices);
    let both = plan(&[&devices[1], &devices[0]], &[], false).unwrap();
    assert_eq!(kinds(&both), [TierEventKind::LeftAside]);
    check(&open(&both));
    // Each went on without the other: nobody can tell which is right.
    let alone = plan(&[&other_way_round[1]], &[], true).unwrap();
    drop(open(&alone));
    let devices = [&other_way_round[0], &other_way_round[1]];
    assert!(is_refused(plan(&devices, &[], true), Unusable::Diverged));
    let chosen = plan(&devices, &[1], false).unwrap();
    check(&open(&chosen));
}

#[test]
fn devices_that_all_dropped_out_are_used_only_anew() {
    let devices = [device(4 << 20), device(4 << 20)];
    let store = open_over(&devices);
    fill(&store);
    devices.iter().for_each(|device| device.set_gone(true));
    go_on_until_failed(&store, 2);
    change(&store);
    // They are there again, but nobody has used them since.
    devices.iter().for_each(|device| device.set_gone(false));
    eventually("they know that they fell behind", || {
        let devices = again(&devices);
        plan(&[&devices[0], &devices[1]], &[], false).is_err()
    });
    drop(store);
    let both = [&devices[0], &devices[1]];
    assert!(is_refused(plan(&both, &[], false), Unusable::FellBehind));
    let store = open(&plan(&both, &[0, 1], false).unwrap());
    assert_eq!(check(&store), 0);
}

/// With `Sync` whoever was answered knows nothing newer than what the devices hold.
#[test]
fn what_clients_were_told_is_durable_is_back_after_all_devices_dropped_out() {
    let device = device(4 << 20);
    let open_sync = || {
        let tier = TierConfig {
            durability: Durability::Sync,
            ..tier_over(vec![Arc::clone(&device) as Arc<dyn Device>])
        };
        Store::open(config(512 << 10), tier).unwrap()
    };
    let store = open_sync();
    fill(&store);
    device.set_gone(true);
    go_on_until_failed(&store, 1);
    device.set_gone(false);
    drop(store);
    let mut handle = open_sync().handle();
    assert!((0..KEYS).all(|number| get(&mut handle, number).is_some()));
}

/// Damages the newest segment of a device.
fn damage_newest(contents: &mut [u8]) {
    let segment_bytes = SEGMENT_BYTES as usize;
    let number = |slot: &usize| {
        let header = &contents[slot * segment_bytes..];
        let is_one = header.starts_with(b"FARCSEG");
        is_one.then(|| u64::from_le_bytes(header[32..40].try_into().unwrap()))
    };
    let newest = (1..contents.len() / segment_bytes).max_by_key(number);
    contents[newest.unwrap() * segment_bytes + 2000] ^= 1;
}

/// The newest segment alone says that nothing is missing which matters, and is erased.
#[test]
fn a_start_without_a_device_keeps_what_it_finds_for_the_next() {
    let devices = [device(4 << 20), device(4 << 20)];
    let shared = devices.iter().map(|one| Arc::clone(one) as Arc<dyn Device>);
    let tier = TierConfig {
        durability: Durability::Sync,
        ..tier_over(shared.collect())
    };
    let store = Store::open(config(4 << 20), tier).unwrap();
    let mut handle = store.handle();
    // Several segments between two syncs, then one.
    for numbers in [0..90, 90..91] {
        numbers.for_each(|number| set(&mut handle, number, 0, BYTES));
        let mark = handle.durable_mark();
        handle.park();
        eventually("it becomes durable", || handle.is_durable(mark));
    }
    for left in devices {
        let mut contents = left.contents();
        damage_newest(&mut contents);
        let left = Arc::new(FaultyDevice::with_contents(contents));
        let found = |store: &Arc<Store>| {
            let mut handle = store.handle();
            let is_found = |number: &u32| get(&mut handle, *number).is_some();
            (0..91).filter(is_found).collect::<Vec<_>>()
        };
        let first = found(&open(&plan(&[&left], &[], true).unwrap()));
        assert!(!first.is_empty());
        assert_eq!(found(&open(&plan(&[&left], &[], false).unwrap())), first);
    }
}

/// The keys that are there.
fn found_alone(device: &Arc<FaultyDevice>) -> Vec<u32> {
    let mut handle = open(&plan(&[device], &[], true).unwrap()).handle();
    let is_found = |number: &u32| get(&mut handle, *number).is_some();
    (0..KEYS).filter(is_found).collect()
}

/// Opens the store over this device alone, which tears a write of it and is gone from then on;
/// false if there are fewer writes.
fn tear(device: &Arc<FaultyDevice>, write: u64) -> bool {
    device.fail_write(write, Fault::Torn { blocks: 1 });
    device.fail_write(write + 1, Fault::Vanishes);
    let Ok(store) = Store::open_planned(config(512 << 10), &plan(&[device], &[], true).unwrap())
    else {
        return true;
    };
    let mut handle = store.handle();
    set(&mut handle, FURTHER, 0, BYTES);
    handle.park();
    store.sync_tier(PATIENCE);
    device.writes() > write
}

/// Without the device that told of them, echoes are all that is left of some tombstones; and some
/// of these in segments that died as a whole, whose slots are the first to be used again.
#[test]
fn what_only_echoes_tell_survives_a_start_whose_first_writes_are_torn() {
    let devices = [device(2 << 20), device(2 << 20)];
    let store = open_over(&devices);
    let mut handle = store.handle();
    let make_durable = |handle: &mut StoreHandle| {
        handle.park();
        assert!(store.sync_tier(PATIENCE), "{:?}", stats(&store));
    };
    fill(&store);
    // Each is told in a segment of its own, and echoed in the next one, on the other device.
    for number in (0..60).step_by(4) {
        _ = handle
            .delete(&key(number), &DeleteOptions::default())
            .unwrap();
        handle.quiescent();
        make_durable(&mut handle);
    }
    // Those with the echoes alone die, and the next segment tells so.
    eventually("some have died", || stats(&store).segments_waiting > 0);
    make_durable(&mut handle);
    let devices = again(&devices);
    drop(handle);
    drop(store);
    for left in &devices {
        let fresh = || Arc::new(FaultyDevice::with_contents(left.contents()));
        let found = found_alone(&fresh());
        assert!(!found.is_empty());
        for write in 0..20 {
            let torn = fresh();
            if !tear(&torn, write) {
                break;
            }
            let torn = Arc::new(FaultyDevice::with_contents(torn.contents()));
            assert_eq!(found_alone(&torn), found, "write {write} was torn");
        }
    }
}
