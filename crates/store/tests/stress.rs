//! The store under contention and with too little memory: every value read is checked.
//!
//! Each key is written by one thread only, which notes the oldest version that may still be seen; a
//! reader takes that note before it reads. So a torn value, a value of another key, one that was
//! deleted and one that was overwritten are all told apart from a right one.

use farcache_store::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

const KEYS: u64 = 20_000;
const WRITERS: u64 = 2;
const ROUNDS: u64 = 300_000;
/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

struct Fixture {
    store: Arc<Store>,
    /// Oldest version of each key that a read beginning now may return.
    oldest: Vec<AtomicU64>,
    done: AtomicBool,
    hits: AtomicU64,
}

/// A small generator of numbers that look random (xorshift64; G. Marsaglia, 2003).
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Key, version, and bytes that follow from both; some values are larger than a segment.
fn value(number: u64, version: u64) -> Vec<u8> {
    let length = match (number + version) % 4_000 {
        0 => 150_000,
        1..=20 => 9_000,
        rest => (rest % 300) as usize,
    };
    let mut value = [number.to_be_bytes(), version.to_be_bytes()].concat();
    value.resize(16 + length, (number ^ version) as u8);
    value
}

fn check(number: u64, oldest: u64, found: &[u8]) {
    let version = u64::from_be_bytes(found[8..16].try_into().unwrap());
    assert!(
        version >= oldest,
        "key {number}: version {version}, but {oldest} was acknowledged"
    );
    assert!(
        found == value(number, version),
        "key {number}: torn or foreign value"
    );
}

fn write(fixture: &Fixture, writer: u64, evicts: bool) {
    let mut handle = fixture.store.handle();
    let mut random = Random(writer + 0x9e37_79b9);
    for version in 1..=ROUNDS {
        let number = random.next(KEYS / WRITERS) * WRITERS + writer;
        let oldest = &fixture.oldest[number as usize];
        match random.next(10) {
            0 => {
                handle
                    .delete(&key(number), &DeleteOptions::default())
                    .unwrap();
                oldest.store(version + 1, Release);
            }
            1 => {
                let lifetime = if version % 2 == 0 { 0 } else { 1_000_000 };
                let outcome = until_room(&mut handle, evicts, |handle| {
                    let touched = handle.touch(&key(number), lifetime, Access::Use);
                    settled(touched).unwrap().map(drop)
                });
                match outcome {
                    Ok(()) => {}
                    Err(error) => assert!(!evicts, "{error}"),
                }
            }
            choice => {
                let bytes = value(number, version);
                let options = SetOptions::set(0, if choice == 2 { 1_000_000 } else { 0 });
                let outcome = until_room(&mut handle, evicts, |handle| {
                    if choice != 3 {
                        return settled(handle.set(&key(number), &bytes, &options)).unwrap();
                    }
                    let room = handle.reserve(&key(number), bytes.len(), &options);
                    let mut room = settled(room).unwrap()?;
                    room.value_mut().copy_from_slice(&bytes);
                    handle.commit(room, &options).unwrap()
                });
                match outcome {
                    Ok(_) => oldest.store(version, Release),
                    Err(error) => assert!(!evicts && error == StoreError::OutOfMemory, "{error}"),
                }
            }
        }
        handle.quiescent();
    }
}

/// Repeats what finds no room where something can always be evicted: a writer gives up after a
/// second in which a reader has not moved on, and on a busy machine that is one that has had no
/// processor.
fn until_room<T>(
    handle: &mut StoreHandle,
    evicts: bool,
    mut operation: impl FnMut(&mut StoreHandle) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let outcome = operation(handle);
        let is_full = matches!(outcome, Err(StoreError::OutOfMemory));
        if !(is_full && evicts && Instant::now() < deadline) {
            return outcome;
        }
        handle.quiescent();
    }
}

fn read(fixture: &Fixture, reader: u64) {
    let mut handle = fixture.store.handle();
    let mut random = Random(reader + 77);
    let mut pinned = std::collections::VecDeque::new();
    while !fixture.done.load(Acquire) {
        let numbers: [u64; 8] = std::array::from_fn(|_| random.next(KEYS));
        let oldest = numbers.map(|number| fixture.oldest[number as usize].load(Acquire));
        let keys = numbers.map(key);
        let slices = keys.each_ref().map(|key| &key[..]);
        let mut found = Vec::new();
        handle.get_batch(&slices, Access::Use, &mut found).unwrap();
        for (at, item) in found.iter().enumerate() {
            let Some(item) = item else { continue };
            fixture.hits.fetch_add(1, Relaxed);
            check(numbers[at], oldest[at], item.value());
            if random.next(500) == 0 {
                pinned.push_back((numbers[at], oldest[at], item.pin()));
            }
        }
        drop(found);
        handle.quiescent();
        if pinned.len() > 8 {
            // Long after the quiescent point the pinned value must be what it was.
            let (number, oldest, value): (u64, u64, PinnedValue) = pinned.pop_front().unwrap();
            check(number, oldest, value.value());
        }
        if random.next(1_000) == 0 {
            handle.park();
        }
    }
}

fn run(memory_bytes: u64, evict: bool) -> StoreStats {
    let config = StoreConfig {
        memory_bytes,
        segment_bytes: 64 << 10,
        evict,
        ..StoreConfig::default()
    };
    let fixture = Fixture {
        store: Store::new(config).unwrap(),
        oldest: (0..KEYS).map(|_| AtomicU64::new(0)).collect(),
        done: AtomicBool::new(false),
        hits: AtomicU64::new(0),
    };
    std::thread::scope(|scope| {
        let fixture = &fixture;
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(fixture, writer, evict)))
            .collect();
        (0..2).for_each(|reader| _ = scope.spawn(move || read(fixture, reader)));
        let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        fixture.done.store(true, Release);
        ended
            .into_iter()
            .for_each(|end| end.expect("a writer found something wrong"));
    });
    assert!(fixture.hits.load(Relaxed) > 1_000);
    check_books(&fixture.store);
    fixture.store.stats()
}

/// With all threads gone, the counters agree with what a scan finds, once the store's own thread
/// has come to rest.
fn check_books(store: &Arc<Store>) {
    let mut handle = store.handle();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (scanned, stats) = (scan(&handle), store.stats());
        let counted = (stats.items, stats.bytes_live);
        if counted == scanned && stats.values_pinned == 0 {
            return;
        }
        assert!(Instant::now() < deadline, "{scanned:?} scanned, {stats:?}");
        handle.park();
        std::thread::yield_now();
    }
}

/// Items and their bytes.
fn scan(handle: &StoreHandle) -> (u64, u64) {
    let (mut items, mut bytes) = (0, 0);
    let mut cursor = ScanCursor::default();
    while handle.scan(&mut cursor, 100, &mut |item| {
        items += 1;
        bytes += item.size_bytes() as u64;
    }) {}
    (items, bytes)
}

#[test]
fn nothing_wrong_is_read_while_memory_runs_out() {
    let stats = run(4 << 20, true);
    assert!(
        stats.evictions > 1_000 && stats.segments_evicted > 50,
        "{stats:?}"
    );
}

#[test]
fn nothing_wrong_is_read_while_segments_are_cleaned() {
    let stats = run(16 << 20, false);
    assert_eq!(stats.evictions, 0);
    assert!(
        stats.segments_cleaned > 50 && stats.items_moved > 1_000,
        "{stats:?}"
    );
}
