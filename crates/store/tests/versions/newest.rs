//! What is stored and what is refused while the store remembers.

use crate::{delete, get, older, options, put, store, stored, version};
use farcache_store::*;

#[test]
fn only_what_is_newer_is_stored_and_a_refusal_tells_the_current_version() {
    let store = store(4 << 20);
    let handle = store.handle();
    assert_eq!(put(&handle, "k", "two", 2), stored(2));
    assert_eq!(put(&handle, "k", "one", 1), older(2));
    assert_eq!(get(&handle, "k"), Some(("two".into(), Some(version(2)))));
    assert_eq!(put(&handle, "k", "three", 3), stored(3));
    assert_eq!(get(&handle, "k"), Some(("three".into(), Some(version(3)))));
    let item = handle.get(b"k", Access::Peek).unwrap().unwrap();
    assert_eq!(
        item.cas(),
        version(3).bits(),
        "the CAS token is the version"
    );
}

#[test]
fn a_write_that_arrives_twice_is_stored_once_and_another_of_its_version_is_refused() {
    let store = store(4 << 20);
    let handle = store.handle();
    assert_eq!(put(&handle, "k", "one", 1), stored(1));
    assert_eq!(put(&handle, "k", "one", 1), stored(1));
    assert_eq!(put(&handle, "k", "other", 1), older(1));
    let flags = SetOptions {
        flags: 9,
        ..options(1)
    };
    assert_eq!(handle.set(b"k", b"one", &flags), Ok(older(1)));
    let current = version(1);
    assert_eq!(delete(&handle, "k", 1), VersionedDelete::Older { current });
    assert_eq!(get(&handle, "k"), Some(("one".into(), Some(version(1)))));
    assert_eq!(store.stats().items, 1);
}

/// Its writer, who is late, must not write it anew above what has come since.
#[test]
fn what_was_here_before_something_newer_came_is_a_success_when_it_arrives_again() {
    let store = store(4 << 20);
    let handle = store.handle();
    assert_eq!(put(&handle, "k", "one", 1), stored(1));
    delete(&handle, "k", 3);
    assert_eq!(put(&handle, "k", "one", 1), stored(1));
    assert_eq!(get(&handle, "k"), None);
    assert_eq!(put(&handle, "k", "two", 2), older(3), "it was never here");
    assert_eq!(put(&handle, "k", "four", 4), stored(4));
    let was_present = false;
    assert_eq!(
        delete(&handle, "k", 3),
        VersionedDelete::Deleted { was_present }
    );
    assert_eq!(get(&handle, "k"), Some(("four".into(), Some(version(4)))));
}

#[test]
fn what_nobody_remembers_is_neither_stored_nor_called_never_here() {
    let store = store(4 << 20);
    let mut handle = store.handle();
    let last = 300_000;
    for number in 1..=last {
        assert_eq!(put(&handle, "k", "v", number), stored(number));
        handle.quiescent();
    }
    let current = version(last);
    assert_eq!(put(&handle, "k", "v", 1), SetOutcome::Unsure { current });
    assert_eq!(delete(&handle, "k", 1), VersionedDelete::Unsure { current });
    assert_eq!(put(&handle, "k", "v", last - 1), stored(last - 1));
}

#[test]
fn a_tombstone_hides_the_key_and_refuses_what_is_older() {
    let store = store(4 << 20);
    let handle = store.handle();
    put(&handle, "k", "one", 1);
    let (was_present, current) = (true, version(3));
    assert_eq!(
        delete(&handle, "k", 3),
        VersionedDelete::Deleted { was_present }
    );
    assert_eq!(get(&handle, "k"), None);
    assert_eq!(put(&handle, "k", "two", 2), older(3));
    assert_eq!(delete(&handle, "k", 2), VersionedDelete::Older { current });
    let was_present = false;
    assert_eq!(
        delete(&handle, "k", 3),
        VersionedDelete::Deleted { was_present }
    );
    // To ordinary clients the key is absent.
    let add = SetOptions {
        mode: SetMode::Replace,
        ..SetOptions::default()
    };
    assert_eq!(handle.set(b"k", b"v", &add), Ok(SetOutcome::NotStored));
    let touched = handle.touch(b"k", 500, Access::Use).unwrap();
    assert!(touched.is_none());
    drop(touched);
    assert_eq!(put(&handle, "k", "four", 4), stored(4));
    assert_eq!(get(&handle, "k"), Some(("four".into(), Some(version(4)))));
}

#[test]
fn a_tombstone_of_a_key_that_was_never_there_counts_too() {
    let store = store(4 << 20);
    let handle = store.handle();
    let was_present = false;
    assert_eq!(
        delete(&handle, "k", 2),
        VersionedDelete::Deleted { was_present }
    );
    assert_eq!(put(&handle, "k", "one", 1), older(2));
    assert_eq!(get(&handle, "k"), None);
}

#[test]
fn a_value_that_arrives_in_pieces_is_stored_if_it_is_newer() {
    let store = store(4 << 20);
    let handle = store.handle();
    let arrive = |number: u64| {
        let options = options(number);
        let mut reservation = handle.reserve(b"k", 3, &options).unwrap();
        reservation.value_mut().copy_from_slice(b"abc");
        handle.commit(reservation, &options).unwrap().unwrap()
    };
    assert_eq!(arrive(2), stored(2));
    assert_eq!(arrive(1), older(2));
    assert_eq!(arrive(2), stored(2));
    assert_eq!(arrive(3), stored(3));
    assert_eq!(get(&handle, "k"), Some(("abc".into(), Some(version(3)))));
}

#[test]
fn items_without_a_version_take_no_room_for_one() {
    let store = store(4 << 20);
    let handle = store.handle();
    let size = |key: &[u8]| handle.get(key, Access::Peek).unwrap().unwrap().size_bytes();
    assert!(handle.set(b"plain", b"v", &SetOptions::default()).is_ok());
    put(&handle, "versi", "v", 1);
    assert_eq!((size(b"plain"), size(b"versi")), (16, 24));
}

#[test]
fn threads_that_store_in_any_order_leave_the_newest() {
    let store = store(4 << 20);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let store = &store;
            scope.spawn(move || {
                let mut handle = store.handle();
                for step in 0..2000_u64 {
                    // Each thread has the numbers of its residue, in an order of its own.
                    let number = 1 + thread + 4 * (step * (2 * thread + 1) * 7 % 2000);
                    let key = format!("k{}", number % 7);
                    match number % 5 {
                        0 => _ = delete(&handle, &key, number),
                        _ => _ = put(&handle, &key, &number.to_string(), number),
                    }
                    handle.quiescent();
                }
            });
        }
    });
    let handle = store.handle();
    let mut all = Vec::new();
    for thread in 0..4_u64 {
        all.extend((0..2000).map(|step| 1 + thread + 4 * (step * (2 * thread + 1) * 7 % 2000)));
    }
    for key in 0..7 {
        let newest = *all
            .iter()
            .filter(|number| *number % 7 == key)
            .max()
            .unwrap();
        let expected = (newest % 5 != 0).then(|| (newest.to_string(), Some(version(newest))));
        assert_eq!(
            get(&handle, &format!("k{key}")),
            expected,
            "k{key}: {newest}"
        );
    }
}
