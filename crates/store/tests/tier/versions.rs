//! Versions of what lies on the device, and after a restart.

use crate::common::*;
use farcache_base::version::{Ticks, Version, Writer};
use farcache_store::*;
use std::time::Duration;

fn version(number: u64) -> Version {
    let unix_2027 = Duration::from_secs(1_798_761_600);
    let time = Ticks::at_unix(unix_2027 + Duration::from_millis(number));
    Version::new(time, Writer::new(1).unwrap())
}

/// Stores if newer, reading from the device if need be.
fn put(handle: &mut StoreHandle, number: u32, with: u64) -> SetOutcome {
    let options = SetOptions {
        version: Some(version(with)),
        ..SetOptions::default()
    };
    let value = value(number, with as u32, 4000);
    let store = |handle: &StoreHandle| settled(handle.set(&key(number), &value, &options));
    let outcome = handle.run_blocking(store).unwrap().unwrap();
    handle.quiescent();
    outcome
}

fn delete(handle: &mut StoreHandle, number: u32, with: u64) -> VersionedDelete {
    let options = TombstoneOptions {
        keep_until: 1_000_000,
        ..TombstoneOptions::default()
    };
    let delete = |handle: &StoreHandle| {
        settled(handle.delete_if_newer(&key(number), version(with), &options))
    };
    let outcome = handle.run_blocking(delete).unwrap().unwrap();
    handle.quiescent();
    outcome
}

fn older(with: u64) -> SetOutcome {
    SetOutcome::Older {
        current: version(with),
    }
}

fn stored(with: u64) -> SetOutcome {
    SetOutcome::Stored {
        cas: version(with).bits(),
    }
}

const ITEMS: u32 = 1000;

/// A store with this many items of 4 KB and versions from 1000 on over 1 MiB of memory, so that
/// most lie on the device.
fn filled(device: &std::sync::Arc<FaultyDevice>) -> (std::sync::Arc<Store>, StoreHandle) {
    let store = open(device);
    let mut handle = store.handle();
    for number in 0..ITEMS {
        let with = 1000 + u64::from(number);
        assert_eq!(put(&mut handle, number, with), stored(with));
    }
    (store, handle)
}

#[test]
fn what_lies_on_the_device_refuses_what_is_older() {
    let device = device(16 << 20);
    let (store, mut handle) = filled(&device);
    assert_eq!(store.stats().evictions, 0);
    for number in 0..ITEMS {
        let with = 1000 + u64::from(number);
        assert_eq!(put(&mut handle, number, with - 1), older(with));
        assert_eq!(put(&mut handle, number, with), stored(with));
        assert_eq!(
            get(&mut handle, number),
            Some(value(number, with as u32, 4000))
        );
    }
    assert!(stats(&store).reads > 0);
}

#[test]
fn what_is_newer_than_all_in_its_segment_is_stored_without_a_read() {
    let device = device(16 << 20);
    let (store, mut handle) = filled(&device);
    let reads = stats(&store).reads;
    for number in 0..ITEMS {
        let with = 5000 + u64::from(number);
        assert_eq!(put(&mut handle, number, with), stored(with));
    }
    assert_eq!(stats(&store).reads, reads);
    assert_eq!(get(&mut handle, 0), Some(value(0, 5000, 4000)));
}

#[test]
fn versions_and_deletions_are_there_after_a_restart() {
    let device = device(16 << 20);
    let (store, mut handle) = filled(&device);
    for number in (0..ITEMS).step_by(7) {
        let was_present = true;
        let outcome = delete(&mut handle, number, 3000);
        assert_eq!(
            outcome,
            VersionedDelete::Deleted { was_present },
            "{number}"
        );
    }
    drop(handle);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    let store = open(&device);
    let mut handle = store.handle();
    for number in 0..ITEMS {
        let with = 1000 + u64::from(number);
        let expected = value(number, with as u32, 4000);
        if number % 7 == 0 {
            assert_eq!(get(&mut handle, number), None);
            assert_eq!(put(&mut handle, number, with + 1), older(3000), "{number}");
            assert_eq!(put(&mut handle, number, 3001), stored(3001));
        } else {
            assert_eq!(get(&mut handle, number), Some(expected));
            assert_eq!(put(&mut handle, number, with - 1), older(with));
            assert_eq!(put(&mut handle, number, with + 1), stored(with + 1));
        }
    }
}

#[test]
fn a_tombstone_alone_is_there_after_a_restart() {
    let device = device(16 << 20);
    let store = open(&device);
    let mut handle = store.handle();
    delete(&mut handle, 1, 8);
    drop(handle);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    let store = open(&device);
    let mut handle = store.handle();
    assert_eq!(store.horizon(), Some(version(8)));
    assert_eq!(put(&mut handle, 1, 7), older(8));
}

#[test]
fn a_tombstone_is_durable_when_the_caller_is_told() {
    let device = device(16 << 20);
    let sync = TierConfig {
        durability: Durability::Sync,
        ..tier(&device)
    };
    let store = Store::open(config(1 << 20), sync).unwrap();
    let mut handle = store.handle();
    delete(&mut handle, 1, 8);
    let mark = handle.durable_mark();
    eventually("the tombstone is durable", || {
        handle.park();
        handle.is_durable(mark)
    });
    // The process is gone without another word.
    let contents = device.contents_after_power_loss(|| false);
    drop((handle, store));
    let image = std::sync::Arc::new(FaultyDevice::with_contents(contents));
    let store = open(&image);
    assert_eq!(store.horizon(), Some(version(8)));
    assert_eq!(get(&mut store.handle(), 1), None);
    assert_eq!(store.stats().items, 0, "the horizon stands for it");
}

#[test]
fn what_the_device_evicts_does_not_let_anything_older_in() {
    let device = device(4 << 20);
    let (store, mut handle) = filled(&device);
    for number in 0..3000 {
        set(&mut handle, number + ITEMS, 0, 4000);
    }
    assert_eq!(get(&mut handle, 0), None);
    assert!(stats(&store).evictions > 0);
    let horizon = store.horizon().expect("something was evicted");
    for number in 0..ITEMS {
        let with = 1000 + u64::from(number);
        match put(&mut handle, number, with - 1) {
            SetOutcome::Older { current } => assert!(current >= version(with), "{number}"),
            other => panic!("{number}: {other:?}, the horizon is {horizon:?}"),
        }
    }
}

#[test]
fn what_cannot_be_read_does_not_let_anything_older_in() {
    let device = device(16 << 20);
    let (store, mut handle) = filled(&device);
    assert!(store.sync_tier(PATIENCE));
    device.fail_reads(true);
    let mut lost = 0;
    for number in 0..ITEMS {
        let with = 1000 + u64::from(number);
        if get(&mut handle, number).is_none() {
            lost += 1;
        }
        let outcome = put(&mut handle, number, with - 1);
        assert!(
            matches!(outcome, SetOutcome::Older { .. }),
            "{number}: {outcome:?}"
        );
    }
    assert!(lost > 0);
}

#[test]
fn a_scan_for_versions_reads_what_lies_on_the_device() {
    let device = device(16 << 20);
    let (_store, mut handle) = filled(&device);
    let (mut cursor, mut seen) = (ScanCursor::default(), vec![false; ITEMS as usize]);
    loop {
        let mut page = Vec::new();
        let goes_on = handle.run_blocking(|handle| {
            page.clear();
            handle.scan_versions(&mut cursor, 64, &mut |listed| {
                page.push((listed.key.to_vec(), listed.version));
            })
        });
        for (found, with) in &page {
            let number = (0..ITEMS).find(|number| key(*number) == *found);
            let number = number.expect("a key that was stored");
            assert_eq!(*with, version(1000 + u64::from(number)));
            seen[number as usize] = true;
        }
        handle.quiescent();
        if !goes_on.unwrap() {
            break;
        }
    }
    assert!(seen.iter().all(|seen| *seen));
}

#[test]
fn what_lies_on_the_device_is_read_to_be_put_aside() {
    let device = device(16 << 20);
    let (store, mut handle) = filled(&device);
    let reads = stats(&store).reads;
    for number in 0..ITEMS {
        let before = value(number, 1000 + number, 4000);
        let with = version(10_000 + u64::from(number));
        let options = SetOptions {
            version: Some(with),
            keeping: Keeping::Older,
            ..SetOptions::default()
        };
        let set = |handle: &StoreHandle| settled(handle.set(&key(number), b"newer", &options));
        let outcome = handle.run_blocking(set).unwrap();
        assert_eq!(outcome, Ok(SetOutcome::Stored { cas: with.bits() }));
        let is_before = |older: Predecessor<'_>| older.value == before;
        assert_eq!(
            handle.predecessor(&key(number), with, is_before),
            Some(true)
        );
        handle.note_complete(with);
        handle.quiescent();
    }
    assert!(stats(&store).reads > reads);
}
