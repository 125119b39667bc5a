//! A device that fails in every way at every write: never a wrong byte, never a crash.

use crate::common::*;
use farcache_store::*;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

const KEYS: u32 = 400;
const BYTES: usize = 4000;

/// A life in which every write is to fail once has more than so many.
const WRITES_MIN: u64 = 20;

fn fill(store: &Arc<Store>, version: u32) {
    let mut handle = store.handle();
    for number in 0..KEYS {
        let value = value(number, version, BYTES);
        // Without a device, and with nothing to be evicted, it may be refused.
        let _ = handle.set(&key(number), &value, &SetOptions::default());
        handle.quiescent();
    }
}

/// Reads everything; returns how many keys were found.
fn check(store: &Arc<Store>, versions: &[u32]) -> u32 {
    let mut handle = store.handle();
    let mut hits = 0;
    for number in 0..KEYS {
        if let Some(found) = get(&mut handle, number) {
            let is_right = |version: &u32| found == value(number, *version, BYTES);
            assert!(versions.iter().any(is_right), "key {number} is wrong");
            hits += 1;
        }
    }
    hits
}

fn open_small(device: &Arc<FaultyDevice>) -> Arc<Store> {
    let tier = TierConfig {
        engine: EngineChoice::Threads,
        ..tier(device)
    };
    Store::open(config(512 << 10), tier).unwrap()
}

/// Leads one life of a store again and again, with one fault at each of its writes in turn, from
/// the first one that may fail.
fn sweep(first: u64, fault: impl Fn(u64) -> Fault) {
    for write in first.. {
        let device = device(4 << 20);
        device.fail_write(write, fault(write));
        live(&device, write, fault(write));
        if device.writes() <= write {
            // It was never due: every write has had its turn.
            assert!(write > WRITES_MIN, "a life of {write} writes only");
            return;
        }
    }
}

/// A store that is filled twice, stopped and opened again; `write` fails.
fn live(device: &Arc<FaultyDevice>, write: u64, fault: Fault) {
    let tier = TierConfig {
        engine: EngineChoice::Threads,
        ..tier(device)
    };
    let Ok(store) = Store::open(config(512 << 10), tier) else {
        assert!(write < 4, "only superblocks are indispensable");
        return;
    };
    fill(&store, 0);
    fill(&store, 1);
    check(&store, &[1]);
    let is_kept = store.shutdown(PATIENCE);
    let lost = stats(&store).items_lost;
    drop(store);
    let device = Arc::new(FaultyDevice::with_contents(device.contents()));
    let store = open_small(&device);
    if !is_kept {
        // The device went, and what it had may be old.
        check(&store, &[0, 1]);
        return;
    }
    let hits = check(&store, &[1]);
    let is_silent = matches!(fault, Fault::Flipped { .. } | Fault::Lost);
    assert!(
        hits == KEYS || lost > 0 || is_silent,
        "write {write}: {hits} items"
    );
}

#[test]
fn a_torn_write_costs_nothing_but_its_repetition() {
    sweep(0, |write| Fault::Torn {
        blocks: write as usize * 7 % 128,
    });
}

#[test]
fn any_write_may_fail() {
    sweep(0, |_| Fault::Error);
}

#[test]
fn the_device_may_be_full_at_any_write() {
    sweep(0, |_| Fault::Full);
}

#[test]
fn the_device_may_vanish_at_any_write() {
    sweep(0, |_| Fault::Vanishes);
}

#[test]
fn a_failed_write_is_repeated_elsewhere() {
    let device = device(4 << 20);
    // The repetition fails as well.
    (8..10).for_each(|write| device.fail_write(write, Fault::Error));
    let store = open_small(&device);
    fill(&store, 0);
    assert!(store.sync_tier(PATIENCE));
    assert_eq!(check(&store, &[0]), KEYS);
    let tier = stats(&store);
    assert!(
        tier.write_errors >= 2 && tier.devices_failed == 0,
        "{tier:?}"
    );
    let kinds: Vec<TierEventKind> = store
        .take_tier_events()
        .iter()
        .map(|event| event.kind)
        .collect();
    assert_eq!(kinds, [TierEventKind::WriteFailed]);
}

#[test]
fn a_flipped_bit_is_a_miss_at_most() {
    sweep(2, |write| Fault::Flipped {
        bit: write as usize * 40_961,
    });
}

#[test]
fn a_lost_write_is_a_miss_at_most() {
    sweep(2, |_| Fault::Lost);
}

#[test]
fn a_full_device_goes_out_of_service() {
    let device = device(4 << 20);
    (6..200).for_each(|write| device.fail_write(write, Fault::Full));
    let store = open_small(&device);
    fill(&store, 0);
    fill(&store, 1);
    check(&store, &[1]);
    eventually("the device is out of service", || {
        stats(&store).devices_failed == 1
    });
    fill(&store, 2);
    assert!(check(&store, &[2]) > 0, "memory goes on");
}

#[test]
fn a_device_that_vanishes_leaves_a_store_in_memory() {
    for write in [4, 7, 11, 16] {
        let device = device(4 << 20);
        device.fail_write(write, Fault::Vanishes);
        let store = open_small(&device);
        fill(&store, 0);
        fill(&store, 1);
        check(&store, &[1]);
        fill(&store, 2);
        assert!(check(&store, &[2]) > 0);
        assert!(stats(&store).devices_failed == 1);
        let events = store.take_tier_events();
        let gone = |event: &&TierEvent| event.kind == TierEventKind::OutOfService;
        assert_eq!(events.iter().filter(gone).count(), 1);
    }
}

#[test]
fn read_errors_are_misses_and_enough_of_them_end_the_service() {
    let device = device(4 << 20);
    let store = open_small(&device);
    fill(&store, 0);
    assert!(store.sync_tier(PATIENCE));
    device.fail_reads(true);
    let hits = check(&store, &[0]);
    assert!(hits < KEYS);
    assert!(stats(&store).read_errors >= 16);
    eventually("the device is out of service", || {
        stats(&store).devices_failed == 1
    });
    device.fail_reads(false);
    fill(&store, 1);
    assert!(check(&store, &[1]) > 0);
}

/// It is a miss for good: by the next start there has been a newer value, and that has been
/// deleted.
#[test]
fn an_item_that_could_not_be_read_does_not_come_back_with_the_next_start() {
    let device = device(4 << 20);
    let store = open_small(&device);
    fill(&store, 0);
    assert!(store.sync_tier(PATIENCE));
    let mut handle = store.handle();
    let is_on_device_only = |number: &u32| {
        let must_be_read = handle.get(&key(*number), Access::Peek).is_err();
        handle.forget_reads();
        handle.quiescent();
        must_be_read
    };
    let lost = (0..KEYS).find(is_on_device_only).unwrap();
    device.fail_next_reads(1);
    assert_eq!(get(&mut handle, lost), None);
    set(&mut handle, lost, 1, 100);
    let deleted = handle.delete(&key(lost), &DeleteOptions::default());
    assert_eq!(deleted, Ok(DeleteOutcome::Deleted));
    drop(handle);
    assert!(store.sync_tier(PATIENCE));
    let again = Arc::new(FaultyDevice::with_contents(device.contents()));
    assert_eq!(get(&mut open_small(&again).handle(), lost), None);
}

/// Overwrites items in random order until something has happened.
fn overwrite_until(store: &Arc<Store>, has_happened: impl Fn() -> bool) {
    let mut handle = store.handle();
    let mut state = 7u32;
    eventually("overwriting has that effect", || {
        for _ in 0..100 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = (state >> 8) % KEYS;
            let _ = handle.set(
                &key(number),
                &value(number, 1, BYTES),
                &SetOptions::default(),
            );
            handle.quiescent();
        }
        has_happened()
    });
}

#[test]
fn cleaning_reads_once_more_what_could_not_be_read() {
    let device = device(2 << 20);
    let store = open_small(&device);
    fill(&store, 0);
    // Nobody but the cleaner reads.
    device.fail_next_reads(2);
    overwrite_until(&store, || stats(&store).segments_cleaned > 20);
    let tier = stats(&store);
    assert_eq!((tier.items_lost, tier.read_errors), (0, 0), "{tier:?}");
    assert!(check(&store, &[0, 1]) > 0);
}

#[test]
fn a_device_that_cleaning_cannot_read_goes_out_of_service() {
    let device = device(2 << 20);
    let store = open_small(&device);
    fill(&store, 0);
    device.fail_reads(true);
    overwrite_until(&store, || stats(&store).devices_failed == 1);
    let tier = stats(&store);
    assert!(tier.items_lost > 0 && tier.read_errors > 0, "{tier:?}");
    fill(&store, 2);
    assert!(check(&store, &[2]) > 0, "memory goes on");
}

/// One bit after the other, spread over everything on the device.
#[test]
fn no_flipped_bit_on_the_device_makes_a_wrong_answer() {
    let device = device(2 << 20);
    let store = open_small(&device);
    fill(&store, 0);
    for number in 0..KEYS / 2 {
        set(&mut store.handle(), number, 1, BYTES);
    }
    assert!(store.shutdown(PATIENCE));
    drop(store);
    let whole = device.contents();
    let bits = whole.len() as u64 * 8;
    // A prime stride through all, and every header closely.
    let spread = (0..60).map(|step| step * (bits / 60) + step * 7919);
    let segment_bits = u64::from(SEGMENT_BYTES) * 8;
    let headers = (0..48).map(|step| (1 + step % 24) * segment_bits + step * 21);
    for bit in spread.chain(headers) {
        let damaged = Arc::new(FaultyDevice::with_contents(whole.clone()));
        damaged.flip(bit % bits);
        let store = open_small(&damaged);
        let mut handle = store.handle();
        for number in (0..KEYS).step_by(3) {
            let version = u32::from(number < KEYS / 2);
            let found = get(&mut handle, number);
            let expected = value(number, version, BYTES);
            assert!(
                found.is_none_or(|found| found == expected),
                "bit {bit}, key {number}"
            );
        }
    }
}

/// A device on which the sync behind the next superblock fails, where it is told to.
struct FailsToVouch {
    inner: FaultyDevice,
    is_due: AtomicBool,
}

impl Device for FailsToVouch {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn block_bytes(&self) -> usize {
        self.inner.block_bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        if offset < u64::from(SEGMENT_BYTES) && self.is_due.load(SeqCst) {
            self.inner.fail_syncs(true);
        }
        self.inner.write_at(buffer, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }
}

/// Then there is nobody to tell, and nothing to tell in, what it told of.
#[test]
fn nobody_waits_for_the_last_device_that_failed_while_its_superblock_was_written() {
    let device = Arc::new(FailsToVouch {
        inner: FaultyDevice::new(4 << 20),
        is_due: AtomicBool::new(false),
    });
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        ..TierConfig::new(vec![Arc::clone(&device) as Arc<dyn Device>])
    };
    let store = Store::open(config(512 << 10), tier).unwrap();
    let mut handle = store.handle();
    (0..300).for_each(|number| set(&mut handle, number, 0, 3000));
    handle.park();
    assert!(store.sync_tier(PATIENCE));
    for number in (0..300).step_by(3) {
        let _ = handle.delete(&key(number), &DeleteOptions::default());
        handle.quiescent();
    }
    handle.park();
    device.is_due.store(true, SeqCst);
    for _ in 0..2 {
        assert!(store.sync_tier(PATIENCE), "{:?}", stats(&store));
    }
    assert_eq!(stats(&store).devices_failed, 1);
}
