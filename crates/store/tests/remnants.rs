//! Segments that were left with some room: smaller items fill them.

use farcache_store::*;
use std::sync::Arc;

const SEGMENT: u32 = 64 << 10;
const SEGMENTS: u64 = 64;

fn store(evict: bool) -> Arc<Store> {
    let config = StoreConfig {
        memory_bytes: SEGMENTS * u64::from(SEGMENT),
        segment_bytes: SEGMENT,
        evict,
        huge_pages: false,
        ..StoreConfig::default()
    };
    Store::new(config).unwrap()
}

fn set(handle: &StoreHandle, number: u32, bytes: usize) -> Result<SetOutcome, Interrupt> {
    let key = format!("key-{number:08}").into_bytes();
    handle.set(&key, &vec![7; bytes], &SetOptions::default())
}

#[test]
fn values_that_do_not_fill_a_segment_together_leave_little_of_it() {
    let store = store(true);
    let mut handle = store.handle();
    let (mut live, mut looks) = (0, 0);
    for number in 0u32..4000 {
        // 1 to 30 KB, in an order without a pattern.
        let bytes = 1000 + number.wrapping_mul(0x9E37_79B9) % 29_000;
        set(&handle, number, bytes as usize).unwrap();
        handle.quiescent();
        if number >= 2000 && number % 50 == 0 {
            let stats = store.stats();
            live += stats.bytes_live * 100 / stats.memory_bytes;
            looks += 1;
        }
    }
    let percent = live / looks;
    assert!(percent >= 84, "{percent} % of the memory hold values");
}

#[test]
fn a_thread_goes_on_with_what_another_left() {
    let store = store(true);
    let (one, other) = (store.handle(), store.handle());
    set(&one, 0, 40_000).unwrap();
    set(&one, 1, 40_000).unwrap();
    assert_eq!(store.stats().segments_open, 2);
    set(&other, 2, 20_000).unwrap();
    assert_eq!(store.stats().segments_open, 2, "it lies behind the first");
    set(&other, 3, 20_000).unwrap();
    assert_eq!(store.stats().segments_open, 3, "no room is left there");
}

#[test]
fn what_died_in_segments_left_with_some_room_is_used_again() {
    let store = store(false);
    let mut handle = store.handle();
    for number in 0..4 {
        set(&handle, number, 40_000).unwrap();
    }
    for number in 0..4 {
        let key = format!("key-{number:08}").into_bytes();
        handle.delete(&key, &DeleteOptions::default()).unwrap();
    }
    let mut stored = 0;
    // These leave no room that would take the place of what was left.
    while set(&handle, 10 + stored, 65_000).is_ok() {
        handle.quiescent();
        stored += 1;
    }
    // Some segments are the reclaimer's.
    let segments = store.stats().segments;
    let is_used = u64::from(stored) + 2 >= segments;
    assert!(is_used, "{stored} of {segments} segments");
}
