//! loom model of the index: what a reader sees in every interleaving with a writer.

use super::*;
use loom::sync::Arc;
use loom::thread;

const KEY: u64 = 0b1;
const OTHER_KEY: u64 = 0b10;

fn insert(index: &Index, hash: u64, location: u64) {
    assert!(index.lock(hash).insert(Location(location)));
}

fn remove(index: &Index, hash: u64, location: u64) {
    let chain = index.lock(hash);
    let place = chain.place_of(Location(location)).unwrap();
    chain.remove(place);
}

fn get(index: &Index, hash: u64, location: u64) -> Option<Location> {
    index.find(hash, |found| (found.0 == location).then_some(found))
}

/// A split moves an entry from bucket 0 to bucket 1; a reader never misses it.
#[test]
fn a_split_hides_no_entry() {
    loom::model(|| {
        let index = Arc::new(Index::new(0, 2, false).unwrap());
        insert(&index, KEY, 5);
        let reader = {
            let index = index.clone();
            thread::spawn(move || assert!(get(&index, KEY, 5).is_some()))
        };
        index.grow();
        reader.join().unwrap();
        assert!(get(&index, KEY, 5).is_some());
    });
}

/// An insertion that races with a split ends up where readers look for it.
#[test]
fn an_insertion_during_a_split_is_found_afterwards() {
    loom::model(|| {
        let index = Arc::new(Index::new(0, 2, false).unwrap());
        let writer = {
            let index = index.clone();
            thread::spawn(move || insert(&index, KEY, 5))
        };
        index.grow();
        writer.join().unwrap();
        assert!(get(&index, KEY, 5).is_some());
    });
}

/// Replacing an entry shows readers the old or the new location, never none.
#[test]
fn a_replacement_is_atomic() {
    loom::model(|| {
        let index = Arc::new(Index::new(0, 1, false).unwrap());
        insert(&index, KEY, 5);
        let writer = {
            let index = index.clone();
            thread::spawn(move || {
                let chain = index.lock(KEY);
                let place = chain.place_of(Location(5)).unwrap();
                chain.replace(place, Location(6));
            })
        };
        let seen = index.find(KEY, Some).unwrap();
        assert!(seen == Location(5) || seen == Location(6));
        writer.join().unwrap();
        assert_eq!(index.find(KEY, Some), Some(Location(6)));
    });
}

/// An item gets a second entry, in front of its first one, and loses that: a reader never misses both.
#[test]
fn one_of_two_entries_is_always_found() {
    loom::model(|| {
        let index = Arc::new(Index::new(0, 1, false).unwrap());
        insert(&index, OTHER_KEY, 4);
        insert(&index, KEY, 5);
        remove(&index, OTHER_KEY, 4);
        let writer = {
            let index = index.clone();
            thread::spawn(move || {
                insert(&index, KEY, 6);
                let chain = index.lock(KEY);
                let place = chain.place_of(Location(5)).unwrap();
                chain.remove_one_of_two(place);
            })
        };
        assert!(index.find(KEY, Some).is_some());
        writer.join().unwrap();
        assert_eq!(index.find(KEY, Some), Some(Location(6)));
    });
}
