//! The whole store under shuttle, which chooses at every lock and every access to an atomic who
//! goes on: writers, deleters and readers, with the store's own threads (reclaim, flusher, the
//! devices' threads) between them.
//!
//! Each key belongs to one thread, which knows what it must hold. Memory and device are so small
//! that segments leave memory, items move between segments of the device, and their slots are used
//! again all the time. `scripts/model-tests` runs this; `FARCACHE_INTERLEAVINGS` says how many
//! schedules of each test.
#![cfg(shuttle)]

use farcache_store::*;
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use shuttle::thread;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

const SEGMENT_BYTES: u32 = 64 << 10;
/// Sixteen segments.
const MEMORY_BYTES: u64 = 1 << 20;
/// With a segment for its superblocks, and room for every key of two threads beside what cleaning
/// needs: a stop leaves nothing in memory, whatever was deleted.
const DEVICE_BYTES: u64 = 38 * SEGMENT_BYTES as u64;
/// Four of them fill a segment.
const VALUE_BYTES: usize = 15_000;
const KEYS_PER_THREAD: u32 = 60;
/// Of the clock that only waits move.
const PATIENCE: Duration = Duration::from_secs(600);

fn schedules() -> usize {
    let wanted = std::env::var("FARCACHE_INTERLEAVINGS").ok();
    wanted.and_then(|count| count.parse().ok()).unwrap_or(20)
}

/// Runs the test under as many random schedules; a failure names its seed.
fn check(test: impl Fn() + Send + Sync + 'static) {
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 20;
    config.max_steps = shuttle::MaxSteps::FailAfter(50_000_000);
    let scheduler = shuttle::scheduler::RandomScheduler::new(schedules());
    shuttle::Runner::new(scheduler, config).run(test);
}

fn open(device: &Arc<FaultyDevice>, durability: Durability) -> Arc<Store> {
    let config = StoreConfig {
        memory_bytes: MEMORY_BYTES,
        segment_bytes: SEGMENT_BYTES,
        huge_pages: false,
        evict: false,
        key_hash: Some(KeyHash(thread_of)),
        ..StoreConfig::default()
    };
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        durability,
        engine: EngineChoice::Threads,
        reads_max: 2,
        write_buffers: 2,
        ..TierConfig::new(vec![Arc::clone(device) as Arc<dyn Device>])
    };
    Store::open(config, tier).unwrap()
}

/// The hash of a key that fences are told by: the thread whose key it is.
fn thread_of(_: u8, key: &[u8]) -> u32 {
    u32::from(key[0] - b'0')
}

fn key(thread: u32, number: u32) -> Vec<u8> {
    format!("{thread} {number}").into_bytes()
}

fn value(thread: u32, number: u32, version: u32) -> Vec<u8> {
    let mut value = format!("{thread} {number} {version} ").into_bytes();
    value.resize(VALUE_BYTES, version as u8);
    value
}

fn get(handle: &mut StoreHandle, key: &[u8]) -> Option<Vec<u8>> {
    let read = |handle: &StoreHandle| {
        let item = handle.get(key, Access::Use);
        item.map(|item| item.map(|item| item.value().to_vec()))
    };
    let found = handle.run_blocking(read).unwrap();
    // What comes next may wait for other threads, which must not wait for this one.
    handle.park();
    found
}

/// Stores a value, again and again while there is no room.
fn set(handle: &mut StoreHandle, key: &[u8], value: &[u8]) {
    loop {
        let outcome = handle.set(key, value, &SetOptions::default());
        handle.park();
        match outcome {
            Ok(SetOutcome::Stored { .. }) => return,
            Err(Interrupt::Failed(StoreError::OutOfMemory)) => thread::yield_now(),
            other => panic!("{other:?}"),
        }
    }
}

/// What a key must hold: the number of its version, or nothing.
type Held = Vec<Option<u32>>;

fn show(found: Option<&[u8]>) -> String {
    found.map_or("nothing".into(), |value| {
        String::from_utf8_lossy(&value[..value.len().min(12)]).into_owned()
    })
}

fn verify(handle: &mut StoreHandle, thread: u32, held: &Held) {
    for (number, version) in held.iter().enumerate() {
        let found = get(handle, &key(thread, number as u32));
        let wanted = version.map(|version| value(thread, number as u32, version));
        assert!(
            found == wanted,
            "key {thread} {number} holds {}, not {}",
            show(found.as_deref()),
            show(wanted.as_deref())
        );
    }
    handle.park();
}

/// Changes keys of its own for some steps, and looks at them.
fn change(store: &Arc<Store>, thread: u32, held: &mut Held, steps: Range<u32>) {
    let mut handle = store.handle();
    for step in steps {
        let number = thread_rng().gen_range(0..KEYS_PER_THREAD);
        let key = key(thread, number);
        let place = &mut held[number as usize];
        match step % 8 {
            3 => {
                let outcome = handle.delete(&key, &DeleteOptions::default()).unwrap();
                let wanted = match place.take() {
                    Some(_) => DeleteOutcome::Deleted,
                    None => DeleteOutcome::NotFound,
                };
                assert_eq!(outcome, wanted, "key {thread} {number}");
            }
            6 => {
                let found = get(&mut handle, &key);
                let wanted = place.map(|version| value(thread, number, version));
                assert!(
                    found == wanted,
                    "key {thread} {number} holds {}",
                    show(found.as_deref())
                );
            }
            _ => {
                set(&mut handle, &key, &value(thread, number, step));
                *place = Some(step);
            }
        }
        handle.quiescent();
    }
    handle.park();
}

fn change_from_two_threads(store: &Arc<Store>, steps: u32) -> Vec<Held> {
    let threads = (0..2).map(|number| {
        let store = Arc::clone(store);
        thread::spawn(move || {
            let mut held = vec![None; KEYS_PER_THREAD as usize];
            change(&store, number, &mut held, 0..steps);
            held
        })
    });
    let threads = threads.collect::<Vec<_>>();
    threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect()
}

fn verify_all(store: &Arc<Store>, held: &[Held]) {
    let mut handle = store.handle();
    for (thread, held) in held.iter().enumerate() {
        verify(&mut handle, thread as u32, held);
    }
}

/// Sets, deletes and reads beside spilling, moving and cleaning: every key holds what its thread
/// left there, also after a stop and a start.
#[test]
fn nothing_is_lost_and_nothing_comes_back() {
    check(|| {
        let device = Arc::new(FaultyDevice::new(DEVICE_BYTES));
        let store = open(&device, Durability::Writeback);
        let held = change_from_two_threads(&store, 400);
        verify_all(&store, &held);
        assert!(store.shutdown(PATIENCE));
        drop(store);
        verify_all(&open(&device, Durability::Writeback), &held);
    });
}

/// How far a flush had come.
#[derive(Default)]
struct Flush {
    began: AtomicBool,
    ended: AtomicBool,
}

/// When a value was stored, seen from a flush.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stored {
    Before,
    Meanwhile,
    After,
}

/// Stores values until some time after the flush has ended: the last version of each key, and when
/// that was stored.
fn store_beside(store: &Arc<Store>, thread: u32, flush: &Flush) -> Vec<Option<(u32, Stored)>> {
    let mut handle = store.handle();
    let mut last = vec![None; KEYS_PER_THREAD as usize];
    let mut left = 2 * KEYS_PER_THREAD;
    for step in 0.. {
        let has_ended = flush.ended.load(SeqCst);
        let number = thread_rng().gen_range(0..KEYS_PER_THREAD);
        set(
            &mut handle,
            &key(thread, number),
            &value(thread, number, step),
        );
        let stored = match has_ended {
            true => Stored::After,
            false if flush.began.load(SeqCst) => Stored::Meanwhile,
            false => Stored::Before,
        };
        last[number as usize] = Some((step, stored));
        left -= u32::from(has_ended);
        if left == 0 {
            break;
        }
    }
    last
}

/// What was stored before a flush, or a fence for the keys of some threads, is gone although items
/// were being moved meanwhile, and what was stored after it is there.
fn check_beside_moves(void: fn(&Store), is_voided: fn(u32) -> bool) {
    check(move || {
        let device = Arc::new(FaultyDevice::new(DEVICE_BYTES));
        let store = open(&device, Durability::Writeback);
        let flush = Arc::new(Flush::default());
        let writers = (0..2).map(|number| {
            let (store, flush) = (Arc::clone(&store), Arc::clone(&flush));
            thread::spawn(move || store_beside(&store, number, &flush))
        });
        let writers = writers.collect::<Vec<_>>();
        while store.tier_stats().unwrap().items_moved == 0 {
            thread::yield_now();
        }
        flush.began.store(true, SeqCst);
        void(&store);
        flush.ended.store(true, SeqCst);
        let mut handle = store.handle();
        for (thread, writer) in writers.into_iter().enumerate() {
            for (number, last) in writer.join().unwrap().into_iter().enumerate() {
                let (thread, number) = (thread as u32, number as u32);
                let Some((version, stored)) = last else {
                    continue;
                };
                let stored = match is_voided(thread) {
                    true => stored,
                    false => Stored::After,
                };
                let found = get(&mut handle, &key(thread, number));
                let is_right = match (&found, stored) {
                    (None, stored) => stored != Stored::After,
                    (Some(_), Stored::Before) => false,
                    (Some(found), _) => *found == value(thread, number, version),
                };
                let shown = show(found.as_deref());
                assert!(
                    is_right,
                    "key {thread} {number}, version {version} stored {stored:?}: {shown}"
                );
            }
        }
    });
}

#[test]
fn a_flush_beside_moves_takes_all_that_was_there() {
    check_beside_moves(Store::flush, |_| true);
}

#[test]
fn a_fence_beside_moves_takes_all_that_was_there_of_its_keys() {
    let void = |store: &Store| {
        store.fence(KeyArcs {
            hash: 1,
            arcs: vec![(1, 1)],
        });
    };
    check_beside_moves(void, |thread| thread == 1);
}

/// Reads keys of its own and stores those that are not there: what is there is what was stored
/// last.
fn use_as_cache(store: &Arc<Store>, thread: u32, steps: u32) {
    let mut handle = store.handle();
    let mut last = vec![None; KEYS_PER_THREAD as usize];
    for step in 0..steps {
        let number = thread_rng().gen_range(0..KEYS_PER_THREAD);
        let place = &mut last[number as usize];
        match get(&mut handle, &key(thread, number)) {
            Some(found) => {
                let wanted = place.map(|version| value(thread, number, version));
                assert!(wanted == Some(found), "key {thread} {number}");
            }
            None => {
                set(
                    &mut handle,
                    &key(thread, number),
                    &value(thread, number, step),
                );
                *place = Some(step);
            }
        }
        handle.quiescent();
    }
    handle.park();
}

/// Evictions and the ghosts that they leave, beside writers whose items come back: all ghosts lie
/// in two or three lines of the cache, which all threads change.
#[test]
fn what_comes_back_after_its_eviction_is_what_was_stored_last() {
    check(|| {
        let config = StoreConfig {
            memory_bytes: MEMORY_BYTES,
            segment_bytes: SEGMENT_BYTES,
            huge_pages: false,
            ..StoreConfig::default()
        };
        let store = Store::new(config).unwrap();
        let threads = (0..2).map(|number| {
            let store = Arc::clone(&store);
            thread::spawn(move || use_as_cache(&store, number, 300))
        });
        let threads = threads.collect::<Vec<_>>();
        threads.into_iter().for_each(|one| one.join().unwrap());
        let evicted = store.stats().evictions;
        assert!(evicted > 100, "{evicted} evicted");
    });
}

/// What a power loss leaves when all that a thread has changed so far is durable: of what was
/// written, only what was synced.
fn lose_power(store: &Arc<Store>, device: &FaultyDevice) -> Vec<u8> {
    let mut handle = store.handle();
    let mark = handle.durable_mark();
    handle.park();
    while !handle.is_durable(mark) {
        thread::yield_now();
    }
    device.contents_after_power_loss(|| false)
}

/// What is durable is on the device and synced, whatever happens to the machine then, and whatever
/// other threads were doing.
#[test]
fn what_is_durable_survives_a_power_loss() {
    check(|| {
        let device = Arc::new(FaultyDevice::new(DEVICE_BYTES));
        let store = open(&device, Durability::Sync);
        let threads = (0..2).map(|number| {
            let (store, device) = (Arc::clone(&store), Arc::clone(&device));
            thread::spawn(move || {
                let mut held = vec![None; KEYS_PER_THREAD as usize];
                let losses = (0..4).map(|round| {
                    change(&store, number, &mut held, 60 * round..60 * (round + 1));
                    (lose_power(&store, &device), held.clone())
                });
                losses.collect::<Vec<_>>()
            })
        });
        let threads = threads.collect::<Vec<_>>();
        let losses = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect::<Vec<_>>();
        drop(store);
        for (thread, losses) in losses.into_iter().enumerate() {
            for (contents, held) in losses {
                let left = Arc::new(FaultyDevice::with_contents(contents));
                let store = open(&left, Durability::Sync);
                verify(&mut store.handle(), thread as u32, &held);
            }
        }
    });
}
