//! loom model of the index: what a reader sees in every interleaving with a writer.

use super::*;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const KEY: u64 = 0b1;
const OTHER_KEY: u64 = 0b10;

fn insert(index: &Index, hash: u64, location: u64) {
    // SAFETY: nobody looks at what lies at the locations of these models.
    assert!(unsafe { index.lock(hash).insert(Location::from_bits(location)) });
}

fn remove(index: &Index, hash: u64, location: u64) {
    let chain = index.lock(hash);
    let place = chain.place_of(Location::from_bits(location)).unwrap();
    chain.remove(place);
}

/// Tries every interleaving of a model.
fn explore(model: impl Fn() + Sync + Send + 'static) {
    explore_with(Builder::new(), model);
}

/// With three forced switches these models take many seconds.
fn few_preemptions() -> Builder {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder
}

fn explore_with(builder: Builder, model: impl Fn() + Sync + Send + 'static) {
    let runs = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        model();
    });
    assert!(runs.load(Relaxed) > 1, "one order only was tried");
}

/// Runs both at the same time, each in a thread of its own: what the first thread of a model does
/// before another has begun is taken to happen before it, and not tried in another order.
fn race(one: impl FnOnce() + 'static, other: impl FnOnce() + 'static) {
    let threads = [thread::spawn(one), thread::spawn(other)];
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// Shares an index with both sides of a race.
fn share(index: &Arc<Index>) -> (Arc<Index>, Arc<Index>) {
    (index.clone(), index.clone())
}

fn get(index: &Index, hash: u64, location: u64) -> Option<Location> {
    index.find(hash, |found| (found.bits() == location).then_some(found))
}

/// A split moves an entry from bucket 0 to bucket 1; a reader never misses it.
#[test]
fn a_split_hides_no_entry() {
    explore(|| {
        let index = Arc::new(Index::new(0, 2, false).unwrap());
        insert(&index, KEY, 5);
        let (reader, writer) = share(&index);
        race(
            move || assert!(get(&reader, KEY, 5).is_some()),
            move || _ = writer.grow(),
        );
        assert!(get(&index, KEY, 5).is_some());
    });
}

/// An insertion that races with a split ends up where readers look for it.
#[test]
fn an_insertion_during_a_split_is_found_afterwards() {
    explore(|| {
        let index = Arc::new(Index::new(0, 2, false).unwrap());
        let (writer, grower) = share(&index);
        race(move || insert(&writer, KEY, 5), move || _ = grower.grow());
        assert!(get(&index, KEY, 5).is_some());
    });
}

/// Replacing an entry shows readers the old or the new location, never none.
#[test]
fn a_replacement_is_atomic() {
    explore(|| {
        let index = Arc::new(Index::new(0, 1, false).unwrap());
        insert(&index, KEY, 5);
        let (reader, writer) = share(&index);
        race(
            move || {
                let seen = reader.find(KEY, Some).unwrap();
                assert!(seen == Location::from_bits(5) || seen == Location::from_bits(6));
            },
            move || {
                let chain = writer.lock(KEY);
                let place = chain.place_of(Location::from_bits(5)).unwrap();
                // SAFETY: as in `insert`.
                unsafe { chain.replace(place, Location::from_bits(6)) };
            },
        );
        assert_eq!(index.find(KEY, Some), Some(Location::from_bits(6)));
    });
}

/// An item gets a second entry, in front of its first one, and loses that: a reader never misses
/// both.
#[test]
fn one_of_two_entries_is_always_found() {
    explore(|| {
        let index = Arc::new(Index::new(0, 1, false).unwrap());
        insert(&index, OTHER_KEY, 4);
        insert(&index, KEY, 5);
        remove(&index, OTHER_KEY, 4);
        let (reader, writer) = share(&index);
        race(
            move || assert!(reader.find(KEY, Some).is_some()),
            move || {
                insert(&writer, KEY, 6);
                let chain = writer.lock(KEY);
                let place = chain.place_of(Location::from_bits(5)).unwrap();
                chain.remove_one_of_two(place);
            },
        );
        assert_eq!(index.find(KEY, Some), Some(Location::from_bits(6)));
    });
}

/// Entries of one bucket and of its overflow bucket; the last one lies there.
const CHAIN: [(u64, u64); 3] = [(0b000, 1), (0b010, 2), (0b100, 3)];

fn index_with_chain(initial_level: u32, capacity: u64) -> Arc<Index> {
    let index = Arc::new(Index::new(initial_level, capacity, false).unwrap());
    for (hash, location) in CHAIN {
        insert(&index, hash, location);
    }
    assert_eq!(index.buckets().1, 1, "overflow buckets in use");
    index
}

/// A removal fills the hole that it leaves with an entry of the overflow bucket: a reader never
/// misses that one.
#[test]
fn an_entry_that_leaves_its_overflow_bucket_is_always_found() {
    explore_with(few_preemptions(), || {
        let index = index_with_chain(0, 1);
        let (reader, writer) = share(&index);
        let (hash, location) = CHAIN[2];
        race(
            move || assert!(get(&reader, hash, location).is_some()),
            move || remove(&writer, CHAIN[0].0, CHAIN[0].1),
        );
        assert!(get(&index, hash, location).is_some());
        assert_eq!(index.buckets().1, 0, "the overflow bucket is given back");
    });
}

/// The overflow bucket that a chain gives back is taken by another chain at once: a reader that
/// still looks there misses nothing of its own chain.
#[test]
fn an_overflow_bucket_in_its_next_chain_misleads_nobody() {
    const NEXT: [(u64, u64); 3] = [(0b001, 4), (0b011, 5), (0b101, 6)];
    explore_with(few_preemptions(), || {
        let index = index_with_chain(1, 2);
        insert(&index, NEXT[0].0, NEXT[0].1);
        insert(&index, NEXT[1].0, NEXT[1].1);
        let (reader, writer) = share(&index);
        let (hash, location) = CHAIN[2];
        race(
            move || assert!(get(&reader, hash, location).is_some()),
            move || {
                remove(&writer, CHAIN[0].0, CHAIN[0].1);
                insert(&writer, NEXT[2].0, NEXT[2].1);
            },
        );
        assert!(get(&index, NEXT[2].0, NEXT[2].1).is_some());
    });
}

/// An insertion that adds an overflow bucket hides no entry, and two chains never share a bucket.
#[test]
fn two_chains_that_grow_at_once_get_a_bucket_each() {
    explore(|| {
        let index = Arc::new(Index::new(1, 2, false).unwrap());
        for (hash, location) in [(0b000, 1), (0b010, 2), (0b001, 4), (0b011, 5)] {
            insert(&index, hash, location);
        }
        let (one, other) = share(&index);
        race(
            move || insert(&one, 0b100, 3),
            move || {
                insert(&other, 0b101, 6);
                assert!(get(&other, 0b010, 2).is_some());
            },
        );
        assert!(get(&index, 0b100, 3).is_some() && get(&index, 0b101, 6).is_some());
        assert_eq!(index.buckets().1, 2);
    });
}

/// A split of a chain with an overflow bucket: neither an entry that stays nor one that goes is
/// missed.
#[test]
fn a_split_of_a_long_chain_hides_no_entry() {
    explore(|| {
        let index = Arc::new(Index::new(0, 2, false).unwrap());
        for (hash, location) in [(0b01, 1), (0b11, 2), (0b00, 3)] {
            insert(&index, hash, location);
        }
        let (reader, writer) = share(&index);
        race(
            move || {
                assert!(get(&reader, 0b01, 1).is_some(), "it goes");
                assert!(get(&reader, 0b00, 3).is_some(), "it stays");
            },
            move || _ = writer.grow(),
        );
        assert_eq!(index.buckets(), (2, 0));
    });
}
