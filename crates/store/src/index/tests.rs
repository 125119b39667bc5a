//! The index against a map, and under contention.

use super::bucket::SLOTS;
use super::*;
use std::collections::HashMap;

fn hash_of(key: u64) -> u64 {
    // splitmix64's finalizer: well spread in all bits.
    let mut hash = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

fn try_insert(index: &Index, key: u64) -> bool {
    // SAFETY: nobody looks at what lies at the locations of these tests.
    unsafe { index.lock(hash_of(key)).insert(Location::from_bits(key)) }
}

fn insert(index: &Index, key: u64) {
    assert!(try_insert(index, key));
}

fn get(index: &Index, key: u64) -> Option<Location> {
    index.find(hash_of(key), |location| {
        (location.bits() == key).then_some(location)
    })
}

#[test]
fn bucket_numbers_follow_linear_hashing() {
    // With 5 buckets only bucket 0 of the four has been split, into 0 and 4.
    let numbers: Vec<u64> = (0..8).map(|hash| bucket_number(hash, 5)).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 1, 2, 3]);
    assert_eq!(bucket_number(u64::MAX, 1), 0);
    assert_eq!(bucket_number(7, 8), 7);
}

#[test]
fn every_entry_is_found_however_far_the_table_has_grown() {
    let index = Index::new(2, 1 << 12, false).unwrap();
    for key in 0..10_000 {
        insert(&index, key);
        if index.wants_growth(key + 1) {
            index.grow();
        }
    }
    assert!(index.buckets().0 > 1600, "{:?}", index.buckets());
    for key in 0..10_000 {
        assert_eq!(get(&index, key), Some(Location::from_bits(key)));
    }
    assert_eq!(get(&index, 10_001), None);
    for key in (0..10_000).step_by(2) {
        let chain = index.lock(hash_of(key));
        let place = chain.place_of(Location::from_bits(key)).unwrap();
        chain.remove(place);
    }
    for key in 0..10_000 {
        assert_eq!(get(&index, key).is_some(), key % 2 == 1);
        assert_eq!(
            index.has(hash_of(key), Location::from_bits(key)),
            key % 2 == 1
        );
        assert!(!index.has(hash_of(key), Location::from_bits(key + 1)));
    }
}

#[test]
fn an_empty_table_that_grew_at_once_finds_and_splits_as_any_other() {
    let index = Index::new(2, 1 << 12, false).unwrap();
    index.grow_while_empty(10_001);
    assert_eq!(index.buckets().0, 1667, "six entries a bucket");
    (0..10_000).for_each(|key| insert(&index, key));
    assert!(!index.wants_growth(10_002) && index.wants_growth(10_003));
    (0..500).for_each(|_| _ = index.grow());
    assert_eq!(index.buckets().0, 2167);
    assert!((0..10_000).all(|key| get(&index, key) == Some(Location::from_bits(key))));
    let index = Index::new(2, 1 << 12, false).unwrap();
    index.grow_while_empty(1);
    assert_eq!(index.buckets().0, 4, "it never shrinks");
    index.grow_while_empty(u64::MAX);
    assert_eq!(
        index.buckets().0,
        1 << 12,
        "nor is it larger than it can be"
    );
    assert!(!index.wants_growth(u64::MAX));
}

#[test]
fn splitting_frees_overflow_buckets() {
    let index = Index::new(1, 64, false).unwrap();
    (0..300).for_each(|key| insert(&index, key));
    let before = index.buckets().1;
    (0..62).for_each(|_| _ = index.grow());
    assert!(
        index.buckets().1 < before / 4,
        "{before} then {:?}",
        index.buckets()
    );
    assert!((0..300).all(|key| get(&index, key).is_some()));
}

#[test]
fn chains_shrink_when_entries_leave() {
    let index = Index::new(4, 1 << 10, false).unwrap();
    (0..500).for_each(|key| insert(&index, key));
    assert!(index.buckets().1 > 40);
    for key in 0..480 {
        let chain = index.lock(hash_of(key));
        chain.remove(chain.place_of(Location::from_bits(key)).unwrap());
    }
    assert!(index.buckets().1 <= 1, "{:?}", index.buckets());
    assert!((480..500).all(|key| get(&index, key).is_some()));
}

#[test]
fn a_full_overflow_table_refuses_and_keeps_what_is_there() {
    let index = Index::new(0, 1, false).unwrap();
    let stored = (0..100).take_while(|&key| try_insert(&index, key)).count();
    assert_eq!(stored, 2 * SLOTS);
    index.grow();
    assert!((0..stored as u64).all(|key| get(&index, key).is_some()));
}

#[test]
fn a_scan_sees_each_entry_once_although_the_table_grows() {
    let index = Index::new(3, 1 << 10, false).unwrap();
    (0..2_000).for_each(|key| insert(&index, key));
    let level = index.scan_level();
    let mut seen = HashMap::new();
    for class in 0..1 << level {
        index.visit_class_hashed(class, level, |hash, location| {
            *seen.entry(location.bits()).or_insert(0) += 1;
            assert!(index.has(hash, location), "the hash leads to the entry");
        });
        (0..20).for_each(|_| _ = index.grow());
    }
    assert_eq!(seen.len(), 2_000);
    assert!(seen.values().all(|&times| times == 1));
}

/// Readers must find every key that is there throughout, while a writer inserts, replaces, removes
/// others and grows the table under them.
#[test]
fn no_reader_misses_an_entry_while_the_table_grows() {
    let index = Index::new(4, 1 << 14, false).unwrap();
    (0..1_000).for_each(|key| insert(&index, key));
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let (index, done) = (&index, &done);
            scope.spawn(move || {
                let mut key = reader;
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    assert!(get(index, key % 1_000).is_some(), "key {}", key % 1_000);
                    key += 1;
                }
            });
        }
        for key in 1_000..60_000 {
            insert(&index, key);
            if key % 3 == 0 {
                index.grow();
            }
            if key % 2 == 0 {
                let old = key - 500;
                let chain = index.lock(hash_of(old));
                if let Some(place) = chain
                    .place_of(Location::from_bits(old))
                    .filter(|_| old >= 1_000)
                {
                    chain.remove(place);
                }
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
