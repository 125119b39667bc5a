//! Values larger than a segment on a device that is in use everywhere.

use crate::common::*;
use farcache_store::*;
use std::sync::Arc;

const KEYS: u32 = 350;
const LARGE: usize = 150_000;

/// Random overwriting leaves free slots here and there; large values need some in a row.
fn store_large_among_small(evict: bool, durability: Durability) {
    let device = device(4 << 20);
    let config = StoreConfig {
        evict,
        ..config(1 << 20)
    };
    let tier = TierConfig {
        durability,
        ..tier(&device)
    };
    let store = Store::open(config, tier).unwrap();
    let mut handle = store.handle();
    let mut state = 7u32;
    for _ in 0..8 * KEYS {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        set(&mut handle, (state >> 8) % KEYS, state, 4000);
    }
    for number in 0..8 {
        set(&mut handle, KEYS + number, 0, LARGE);
        // Something else, so that it leaves memory.
        (0..KEYS).for_each(|number| set(&mut handle, number, state, 4000));
        if durability == Durability::Sync {
            let mark = handle.durable_mark();
            handle.park();
            eventually("it becomes durable", || handle.is_durable(mark));
        }
    }
    let found = (0..8).filter(|number| get(&mut handle, KEYS + number).is_some());
    assert_eq!(found.count(), 8, "{:?}", stats(&store));
}

#[test]
fn large_values_find_a_place_among_small_ones() {
    store_large_among_small(true, Durability::Writeback);
}

#[test]
fn they_do_where_nothing_is_evicted() {
    store_large_among_small(false, Durability::Writeback);
}

#[test]
fn they_become_durable() {
    store_large_among_small(false, Durability::Sync);
}

fn open_sync(device: &Arc<FaultyDevice>, memory_bytes: u64) -> Arc<Store> {
    let config = StoreConfig {
        evict: false,
        ..config(memory_bytes)
    };
    let tier = TierConfig {
        durability: Durability::Sync,
        ..tier(device)
    };
    Store::open(config, tier).unwrap()
}

fn await_durable(handle: &mut StoreHandle) {
    let mark = handle.durable_mark();
    handle.park();
    eventually("it becomes durable", || handle.is_durable(mark));
}

fn delete(handle: &mut StoreHandle, number: u32) {
    let _ = handle.delete(&key(number), &DeleteOptions::default());
    handle.quiescent();
}

/// Numbers that depend on a seed alone.
struct Random(u32);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        (self.0 >> 4) % end
    }
}

/// Slots that large values take together, on a device of 23.
const LARGE_SLOTS_MAX: u32 = 8;

/// Changes small and large values, each of which becomes durable before the next.
fn change_one_by_one(seed: u32, steps: u32) {
    let device = device(24 * u64::from(SEGMENT_BYTES));
    let store = open_sync(&device, 512 << 10);
    let mut handle = store.handle();
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9) | 1);
    let mut large = [0; 40];
    for step in 0..steps {
        let number = random.below(large.len() as u32);
        let slots = 2 + random.below(2);
        let is_large = random.below(12) == 0;
        let is_large = is_large && large.iter().sum::<u32>() + slots <= LARGE_SLOTS_MAX;
        let small = 40 + random.below(4000);
        large[number as usize] = if is_large { slots } else { 0 };
        match is_large {
            true => set(&mut handle, number, step, 60_000 * slots as usize),
            false if random.below(4) > 0 => set(&mut handle, number, step, small as usize),
            false => delete(&mut handle, number),
        }
        await_durable(&mut handle);
    }
}

/// Hardly any slots are free, and no two of them lie beside each other. What moves out of the way
/// of a large value must not move to the slots that it is to have.
#[test]
fn large_values_become_durable_where_free_slots_lie_apart() {
    for (seed, steps) in FINDINGS {
        change_one_by_one(seed, steps);
    }
}

/// Seeds with which that happened, and how many steps it took.
const FINDINGS: [(u32, u32); 5] = [(1, 70), (17, 55), (30, 90), (53, 55), (55, 40)];

/// Slots of a device in which a segment begins.
fn begins(contents: &[u8], slot: usize) -> bool {
    contents[slot * SEGMENT_BYTES as usize..].starts_with(b"FARCSEG")
}

/// What a crash leaves of a large value of which only the first slot arrived; and where that slot
/// is.
fn torn_after_the_first_slot(before: &[u8], after: &[u8]) -> (Vec<u8>, usize) {
    let segment_bytes = SEGMENT_BYTES as usize;
    let has_run = |slot: &usize| {
        let header = &after[slot * segment_bytes..];
        begins(after, *slot) && u32::from_le_bytes(header[12..16].try_into().unwrap()) > 1
    };
    let slot = (1..after.len() / segment_bytes).find(has_run).unwrap();
    let mut torn = before.to_vec();
    let place = slot * segment_bytes..(slot + 1) * segment_bytes;
    torn[place.clone()].copy_from_slice(&after[place]);
    (torn, slot)
}

/// In its further slots lies what has died there before. At a later start nobody would tell of its
/// tombstone any more.
#[test]
fn a_torn_run_is_erased_in_each_of_its_slots() {
    const KEYS: u32 = 20;
    const DELETED: std::ops::Range<u32> = 15..20;
    let device = device(24 * u64::from(SEGMENT_BYTES));
    let store = open_sync(&device, 4 << 20);
    let mut handle = store.handle();
    for number in 0..KEYS {
        set(&mut handle, number, 0, 50_000);
        await_durable(&mut handle);
    }
    DELETED.for_each(|number| delete(&mut handle, number));
    await_durable(&mut handle);
    eventually("their slots are free", || stats(&store).segments_free > 6);
    let before = device.contents();
    set(&mut handle, KEYS, 0, LARGE);
    await_durable(&mut handle);
    let (torn, first) = torn_after_the_first_slot(&before, &device.contents());
    assert!(begins(&torn, first + 1) && begins(&torn, first + 2));
    let device = Arc::new(FaultyDevice::with_contents(torn));
    let store = open_sync(&device, 4 << 20);
    for slot in first..first + 3 {
        assert!(!begins(&device.contents(), slot), "slot {slot}");
    }
    assert!(store.shutdown(PATIENCE));
    drop(store);
    let shared = Arc::clone(&device) as Arc<dyn Device>;
    let report = check_devices(&[shared], 0).unwrap();
    assert!(!report.is_damaged(), "{report}");
    let mut handle = open_sync(&device, 4 << 20).handle();
    for number in 0..=KEYS {
        let expected = (number < DELETED.start).then(|| value(number, 0, 50_000));
        assert!(get(&mut handle, number) == expected, "key {number}");
    }
}
