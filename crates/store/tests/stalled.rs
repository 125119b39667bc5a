//! Readers that take nothing, and threads that do not come to their quiescent point: nothing is
//! refused for either.

use farcache_store::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

const MEMORY: u64 = 4 << 20;
/// What may be copied for stalled readers: an eighth of the memory.
const COPIED_MAX: u64 = MEMORY / 8;
const SEGMENT: u32 = 64 << 10;
const VALUE: usize = 5_000;
/// Items that fill the memory.
const ITEMS: u32 = 700;

fn store() -> Arc<Store> {
    let config = StoreConfig {
        memory_bytes: MEMORY,
        segment_bytes: SEGMENT,
        ..StoreConfig::default()
    };
    Store::new(config).unwrap()
}

fn key(number: u32) -> Vec<u8> {
    format!("key-{number:08}").into_bytes()
}

fn value(number: u32) -> Vec<u8> {
    (0..VALUE)
        .map(|place| (place as u32 + number) as u8)
        .collect()
}

fn set(handle: &StoreHandle, number: u32) {
    let stored = handle.set(&key(number), &value(number), &SetOptions::default());
    assert!(
        matches!(stored, Ok(SetOutcome::Stored { .. })),
        "{number}: {stored:?}"
    );
}

/// Fills the memory, with something in each segment.
fn fill(handle: &mut StoreHandle) {
    for number in 0..ITEMS {
        set(handle, number);
        handle.quiescent();
    }
}

/// The numbers of items that are there, so many, spread over all of them.
fn spread(handle: &StoreHandle, first: u32, count: usize) -> Vec<u32> {
    let numbers = (0..ITEMS).map(|number| (number * 11 + first) % ITEMS);
    let is_there = |number: &u32| handle.get(&key(*number), Access::Peek).unwrap().is_some();
    numbers.filter(is_there).take(count).collect()
}

/// A reader to whom these items are to be sent, and who takes nothing.
fn stall(handle: &StoreHandle, numbers: &[u32]) -> StalledValues {
    let pin = |number: &u32| {
        handle
            .get(&key(*number), Access::Use)
            .unwrap()
            .unwrap()
            .pin()
    };
    handle.stall(numbers.iter().map(pin).collect())
}

/// Stores three times as much as the memory holds.
fn store_much(handle: &mut StoreHandle) {
    for number in 0..3 * ITEMS {
        set(handle, 10_000 + number);
        handle.quiescent();
    }
}

#[test]
fn what_stalled_readers_are_to_get_keeps_no_segment_and_stays_whole() {
    let store = store();
    let mut handle = store.handle();
    fill(&mut handle);
    // In each segment something that somebody has not taken.
    let numbers = spread(&handle, 0, 100);
    let readers: Vec<StalledValues> = numbers.chunks(10).map(|ten| stall(&handle, ten)).collect();
    handle.quiescent();
    store_much(&mut handle);
    let stats = store.stats();
    assert_eq!(
        (stats.out_of_memory, stats.values_pinned),
        (0, 0),
        "{stats:?}"
    );
    assert_eq!(stats.stalled_bytes, (100 * VALUE) as u64);
    for (reader, ten) in readers.into_iter().zip(numbers.chunks(10)) {
        assert!(!reader.is_given_up());
        let values = reader.resume().expect("there was memory for it");
        let expected: Vec<Vec<u8>> = ten.iter().map(|&number| value(number)).collect();
        assert!(
            values
                .iter()
                .map(|value| &value[..])
                .eq(expected.iter().map(|value| &value[..]))
        );
    }
    assert_eq!(store.stats().stalled_bytes, 0, "all was given back");
}

#[test]
fn where_their_memory_ends_those_who_have_stalled_the_longest_lose() {
    let store = store();
    let mut handle = store.handle();
    fill(&mut handle);
    let mut readers = Vec::new();
    for reader in 0..30 {
        let numbers = spread(&handle, reader, 60);
        readers.push((stall(&handle, &numbers), numbers));
        handle.quiescent();
    }
    store_much(&mut handle);
    let stats = store.stats();
    assert_eq!(stats.out_of_memory, 0, "{stats:?}");
    assert!(stats.stalled_bytes <= COPIED_MAX, "{stats:?}");
    assert_eq!(handle.readers_given_up(), stats.stalled_given_up);
    let given_up: Vec<bool> = readers
        .iter()
        .map(|(reader, _)| reader.is_given_up())
        .collect();
    let count = given_up.iter().filter(|is_given_up| **is_given_up).count();
    assert_eq!(count as u64, stats.stalled_given_up);
    assert!((1..30).contains(&count), "{given_up:?}");
    assert!(
        given_up.is_sorted_by(|first, second| first >= second),
        "{given_up:?}"
    );
    for ((reader, numbers), is_given_up) in readers.into_iter().zip(given_up) {
        let values = reader.resume();
        assert_eq!(values.is_none(), is_given_up);
        for (value_kept, number) in values.iter().flatten().zip(numbers) {
            assert!(value_kept[..] == value(number)[..]);
        }
    }
}

#[test]
fn readers_that_are_dropped_give_back_what_was_copied_for_them() {
    let store = store();
    let mut handle = store.handle();
    fill(&mut handle);
    let reader = stall(&handle, &spread(&handle, 0, 50));
    handle.quiescent();
    store_much(&mut handle);
    assert!(store.stats().stalled_bytes > 0);
    drop(reader);
    assert_eq!(store.stats().stalled_bytes, 0);
}

#[test]
fn without_eviction_stalled_readers_do_not_keep_what_is_dead() {
    let config = StoreConfig {
        memory_bytes: MEMORY,
        segment_bytes: SEGMENT,
        evict: false,
        ..StoreConfig::default()
    };
    let store = Store::new(config).unwrap();
    let mut handle = store.handle();
    for number in 0..ITEMS {
        set(&handle, number);
        handle.quiescent();
    }
    let numbers = spread(&handle, 0, 100);
    let _reader = stall(&handle, &numbers);
    handle.quiescent();
    // Each is stored again, many times: there is room for all as long as what they replace comes
    // back.
    for round in 0..5 {
        for number in 0..ITEMS {
            set(&handle, (number + round) % ITEMS);
            handle.quiescent();
        }
    }
}

#[test]
fn a_thread_that_is_kept_from_running_for_a_second_has_nothing_refused_nor_more_evicted() {
    let store = store();
    let mut handle = store.handle();
    fill(&mut handle);
    let stored = Arc::new(AtomicU64::new(0));
    let reader = {
        let (store, stored) = (Arc::clone(&store), Arc::clone(&stored));
        std::thread::spawn(move || {
            let mut handle = store.handle();
            let item = handle
                .get(&key(ITEMS - 1), Access::Peek)
                .unwrap()
                .expect("stored last");
            stored.store(1, SeqCst);
            await_standstill(&stored, Duration::from_millis(1500));
            assert!(item.value()[..] == value(ITEMS - 1)[..]);
            drop(item);
            handle.quiescent();
            handle.park();
        })
    };
    while stored.load(SeqCst) == 0 {
        std::thread::yield_now();
    }
    let before = store.stats();
    for number in 0..3 * ITEMS {
        set(&handle, 10_000 + number);
        handle.quiescent();
        stored.fetch_add(1, SeqCst);
    }
    reader.join().unwrap();
    let stats = store.stats();
    assert_eq!(stats.out_of_memory, 0);
    // One item goes for each that comes; a few segments are emptied ahead.
    let evicted = stats.evictions - before.evictions;
    let slack = 8 * u64::from(SEGMENT) / VALUE as u64;
    assert!(evicted <= u64::from(3 * ITEMS) + slack, "{evicted}");
}

/// Waits until a count has stood still for so long.
fn await_standstill(count: &AtomicU64, time: Duration) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let (mut last, mut since) = (count.load(SeqCst), Instant::now());
    while since.elapsed() < time {
        assert!(Instant::now() < deadline, "it goes on and on");
        std::thread::sleep(Duration::from_millis(5));
        let now = count.load(SeqCst);
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
}
