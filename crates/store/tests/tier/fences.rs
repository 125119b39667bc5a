//! Fences: what was stored before of some keys is void for ever, wherever it lies.

use crate::common::*;
use farcache_base::version::Version;
use farcache_store::*;
use std::sync::Arc;

/// Keys of which the first half is fenced.
const KEYS: u32 = 40;

fn fenced() -> KeyArcs {
    keys_between(0, KEYS / 2 - 1)
}

fn open_hashing(device: &Arc<FaultyDevice>) -> Arc<Store> {
    let config = StoreConfig {
        key_hash: Some(KeyHash(number_of)),
        ..config(1 << 20)
    };
    Store::open(config, tier(device)).unwrap()
}

/// Makes keys leave memory by storing others.
fn press(handle: &mut StoreHandle) {
    (1000..1300).for_each(|number| set(handle, number, 1, 5000));
}

/// A store all of whose keys lie on the device.
fn spilled(device: &Arc<FaultyDevice>) -> (Arc<Store>, StoreHandle) {
    let store = open_hashing(device);
    let mut handle = store.handle();
    (0..KEYS).for_each(|number| set(&mut handle, number, 1, 2000));
    press(&mut handle);
    assert!(store.sync_tier(PATIENCE));
    (store, handle)
}

fn check_fenced(handle: &mut StoreHandle) {
    for number in 0..KEYS {
        let expected = (number >= KEYS / 2).then(|| value(number, 1, 2000));
        assert_eq!(get(handle, number), expected, "key {number}");
    }
}

/// The bytes that a process which is killed now leaves behind.
fn killed(device: &Arc<FaultyDevice>) -> Arc<FaultyDevice> {
    Arc::new(FaultyDevice::with_contents(device.contents()))
}

#[test]
fn items_on_the_device_are_void_for_every_command() {
    let (store, mut handle) = spilled(&device(8 << 20));
    let tokens: Vec<u64> = (0..4)
        .map(|number| {
            let token = |handle: &StoreHandle| {
                let item = handle.get(&key(number), Access::Peek)?;
                Ok(item.expect("it is there").cas())
            };
            handle.run_blocking(token).unwrap()
        })
        .collect();
    handle.quiescent();
    store.fence(fenced());
    check_fenced(&mut handle);
    let mut run_set = |number: u32, options: SetOptions| {
        let outcome =
            handle.run_blocking(|handle| settled(handle.set(&key(number), b"9", &options)));
        handle.quiescent();
        outcome.unwrap().unwrap()
    };
    let compare = SetOptions {
        compare_cas: Some(tokens[0]),
        ..SetOptions::default()
    };
    assert_eq!(run_set(0, compare), SetOutcome::NotFound);
    for mode in [SetMode::Append, SetMode::Prepend, SetMode::Replace] {
        let options = SetOptions {
            mode,
            ..SetOptions::default()
        };
        assert_eq!(run_set(1, options), SetOutcome::NotStored, "{mode:?}");
    }
    let add = SetOptions {
        mode: SetMode::Add,
        ..SetOptions::default()
    };
    assert!(matches!(run_set(2, add), SetOutcome::Stored { .. }));
    let touched = handle.run_blocking(|handle| {
        let touched = settled(handle.touch(&key(3), 1000, Access::Use))?;
        Ok(touched.unwrap().is_some())
    });
    assert!(!touched.unwrap());
    handle.quiescent();
    let plain = ArithmeticOptions::default();
    let counted = handle.run_blocking(|handle| settled(handle.arithmetic(&key(4), &plain)));
    assert_eq!(counted.unwrap().unwrap(), ArithmeticOutcome::NotFound);
    handle.quiescent();
    let plain = DeleteOptions::default();
    let deleted = handle.run_blocking(|handle| handle.delete(&key(5), &plain));
    assert_eq!(deleted.unwrap(), DeleteOutcome::NotFound);
}

#[test]
fn what_is_stored_after_the_fence_stays_wherever_it_goes() {
    let device = device(8 << 20);
    let (store, mut handle) = spilled(&device);
    store.fence(fenced());
    (0..KEYS / 2).for_each(|number| set(&mut handle, number, 2, 2000));
    press(&mut handle);
    assert!(store.sync_tier(PATIENCE));
    store.note_tenure(b"second").unwrap();
    drop((handle, store));
    let store = open_hashing(&killed(&device));
    let mut handle = store.handle();
    for number in 0..KEYS {
        let version = if number < KEYS / 2 { 2 } else { 1 };
        let expected = Some(value(number, version, 2000));
        assert_eq!(get(&mut handle, number), expected, "key {number}");
    }
}

/// An item with a version is worth what its version says beside those that others have.
#[test]
fn what_has_a_version_outlives_fences_in_memory_and_on_the_device() {
    let store = open_hashing(&device(3 << 20));
    let mut handle = store.handle();
    let version = |number: u32| Version::from_bits((1 + u64::from(number)) << 14);
    let is_versioned = |number: u32| number.is_multiple_of(2);
    for number in 0..KEYS {
        let options = SetOptions {
            version: version(number).filter(|_| is_versioned(number)),
            ..SetOptions::default()
        };
        let stored = handle.run_blocking(|handle| {
            settled(handle.set(&key(number), &value(number, 1, 2000), &options))
        });
        assert!(matches!(stored, Ok(Ok(SetOutcome::Stored { .. }))));
        handle.quiescent();
    }
    store.fence(KeyArcs::all());
    let check = |handle: &mut StoreHandle, where_: &str| {
        for number in 0..KEYS {
            let expected = is_versioned(number).then(|| value(number, 1, 2000));
            assert_eq!(get(handle, number), expected, "key {number} {where_}");
            let held = handle.run_blocking(|handle| handle.held_version(&key(number)));
            let expected = version(number).filter(|_| is_versioned(number));
            assert_eq!(held.unwrap(), expected, "key {number} {where_}");
            handle.quiescent();
        }
    };
    check(&mut handle, "in memory");
    press(&mut handle);
    assert!(store.sync_tier(PATIENCE));
    store.fence(KeyArcs::all());
    check(&mut handle, "on the device");
    let cleaned = || stats(&store).segments_cleaned;
    let before = cleaned();
    for generation in 2..1000 {
        let overwritten = (1000..1300).filter(|number| (number + generation) % 3 > 0);
        overwritten.for_each(|number| set(&mut handle, number, generation, 4000));
        if cleaned() >= before + 20 {
            break;
        }
    }
    assert!(cleaned() >= before + 20, "nothing is cleaned");
    check(&mut handle, "where segments were cleaned");
}

/// Segments in which void items lie are cleaned: those must not become younger by that.
#[test]
fn cleaning_brings_nothing_back() {
    let (store, mut handle) = spilled(&device(3 << 20));
    store.fence(fenced());
    let cleaned = || stats(&store).segments_cleaned;
    let before = cleaned();
    let mut version = 2;
    while cleaned() < before + 20 {
        // Others each time, so that segments keep something that has to be moved.
        let overwritten = (1000..1300).filter(|number| (number + version) % 3 > 0);
        overwritten.for_each(|number| set(&mut handle, number, version, 4000));
        version += 1;
        assert!(version < 1000, "nothing is cleaned");
    }
    for number in 0..KEYS / 2 {
        assert_eq!(get(&mut handle, number), None, "key {number}");
    }
}

#[test]
fn a_fence_that_was_noted_survives_a_kill() {
    let device = device(8 << 20);
    let (store, mut handle) = spilled(&device);
    assert_eq!(store.tenure(), None);
    store.fence(fenced());
    store.note_tenure(b"what I own").unwrap();
    check_fenced(&mut handle);
    let store = open_hashing(&killed(&device));
    assert_eq!(store.tenure().as_deref(), Some(&b"what I own"[..]));
    let mut handle = store.handle();
    check_fenced(&mut handle);
    set(&mut handle, 0, 3, 100);
    assert_eq!(get(&mut handle, 0), Some(value(0, 3, 100)), "it is younger");
}

/// A process is killed after each write of several notes, each made after a fence: it finds some
/// note, with all that was fenced before it was written.
#[test]
fn a_note_never_comes_without_its_fences() {
    let device = device(8 << 20);
    let (store, _handle) = spilled(&device);
    let mut images = Vec::new();
    for noted in 0..6u32 {
        store.fence(keys_between(noted, noted));
        images.push((noted, device.contents()));
        store.note_tenure(&noted.to_le_bytes()).unwrap();
        images.push((noted + 1, device.contents()));
        // Half of the bytes of the note that is written next have arrived.
        let mut torn = device.contents();
        let place = if noted % 2 == 0 { 16 << 10 } else { 40 << 10 };
        torn[place + 140..place + 24 * 1024].fill(0x55);
        images.push((noted + 1, torn));
    }
    for (noted, image) in images {
        let store = open_hashing(&Arc::new(FaultyDevice::with_contents(image)));
        let mut handle = store.handle();
        let found = store.tenure().map_or(0, |tenure| {
            u32::from_le_bytes(tenure.try_into().unwrap()) + 1
        });
        assert_eq!(found, noted, "the newest whole note counts");
        for number in 0..KEYS {
            let expected = (number >= found).then(|| value(number, 1, 2000));
            assert_eq!(
                get(&mut handle, number),
                expected,
                "key {number} of {found}"
            );
        }
    }
}

#[test]
fn without_the_hash_a_store_with_fences_serves_nothing_old() {
    let device = device(8 << 20);
    let (store, handle) = spilled(&device);
    store.fence(fenced());
    store.note_tenure(b"").unwrap();
    drop((handle, store));
    let store = open(&killed(&device));
    let mut handle = store.handle();
    for number in 0..KEYS {
        assert_eq!(get(&mut handle, number), None, "key {number}");
    }
}

#[test]
fn a_flush_that_was_noted_survives_a_kill() {
    let device = device(8 << 20);
    let (store, handle) = spilled(&device);
    store.flush();
    store.note_tenure(b"").unwrap();
    let image = killed(&device);
    drop((handle, store));
    let store = open_hashing(&image);
    let mut handle = store.handle();
    for number in 0..KEYS {
        assert_eq!(get(&mut handle, number), None, "key {number}");
    }
}

/// Without a device as well: the void entries leave the index, and readers look no more.
#[test]
fn memory_is_swept_of_what_a_fence_voids() {
    let config = StoreConfig {
        key_hash: Some(KeyHash(number_of)),
        ..config(1 << 20)
    };
    let store = Store::new(config).unwrap();
    let mut handle = store.handle();
    (0..KEYS).for_each(|number| set(&mut handle, number, 1, 100));
    store.fence(fenced());
    handle.park();
    eventually("the sweep", || store.stats().items == u64::from(KEYS / 2));
    for number in 0..KEYS {
        let expected = (number >= KEYS / 2).then(|| value(number, 1, 100));
        assert_eq!(get(&mut handle, number), expected, "key {number}");
    }
    (0..KEYS).for_each(|number| set(&mut handle, number, 2, 100));
    for number in 0..KEYS {
        assert_eq!(get(&mut handle, number), Some(value(number, 2, 100)));
    }
}
