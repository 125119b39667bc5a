//! What a newer version takes the place of is kept, where it is to be, until that is complete.

use farcache_base::version::{Ticks, Version, Writer};
use farcache_store::*;
use std::sync::Arc;
use std::time::Duration;

const MEMORY_BYTES: u64 = 8 << 20;
/// Values of this length are not copied when they are put aside.
const LONG: usize = 20_000;
/// So many bytes of values are put aside at most.
const KEPT_BYTES_MAX: u64 = MEMORY_BYTES / 16;
/// So many items are.
const KEPT_MAX: u64 = 4096;

fn store() -> Arc<Store> {
    Store::new(StoreConfig {
        memory_bytes: MEMORY_BYTES,
        segment_bytes: 64 << 10,
        huge_pages: false,
        ..StoreConfig::default()
    })
    .unwrap()
}

fn version(number: u64) -> Version {
    let time = Duration::from_secs(1_798_761_600) + Duration::from_millis(number);
    Version::new(Ticks::at_unix(time), Writer::new(1).unwrap())
}

fn value(number: u64, bytes: usize) -> Vec<u8> {
    number
        .to_le_bytes()
        .into_iter()
        .cycle()
        .take(bytes)
        .collect()
}

fn options(number: u64) -> SetOptions {
    SetOptions {
        version: Some(version(number)),
        flags: number as u32,
        keeping: Keeping::Older,
        ..SetOptions::default()
    }
}

/// Stores a value of this version, which is to keep what was there.
fn put(handle: &mut StoreHandle, key: &str, number: u64, bytes: usize) {
    let outcome = handle.set(key.as_bytes(), &value(number, bytes), &options(number));
    let cas = version(number).bits();
    assert_eq!(outcome, Ok(SetOutcome::Stored { cas }), "{key} {number}");
    handle.quiescent();
}

fn delete(handle: &StoreHandle, key: &str, number: u64) {
    let options = TombstoneOptions {
        keeping: Keeping::Older,
        ..TombstoneOptions::default()
    };
    let outcome = handle.delete_if_newer(key.as_bytes(), version(number), &options);
    assert!(
        matches!(outcome, Ok(VersionedDelete::Deleted { .. })),
        "{key} {number}"
    );
}

/// The number of the version beneath this one, whose value must be that version's.
fn beneath(handle: &StoreHandle, key: &str, number: u64) -> Option<u64> {
    let numbers = 1..number;
    handle.predecessor(key.as_bytes(), version(number), |older| {
        let of = numbers
            .rev()
            .find(|number| version(*number) == older.version);
        let of = of.expect("a version that was stored");
        assert_eq!(older.flags, if older.is_tombstone { 0 } else { of as u32 });
        assert_eq!(older.value, value(of, older.value.len()));
        of
    })
}

#[test]
fn what_was_there_is_kept_until_the_version_in_its_place_is_complete() {
    for bytes in [0, 100, LONG] {
        let store = store();
        let mut handle = store.handle();
        for number in 1..=4 {
            put(&mut handle, "k", number, bytes);
            put(&mut handle, "other", 100 + number, bytes);
        }
        let below = |handle: &StoreHandle| [1, 2, 3, 4].map(|number| beneath(handle, "k", number));
        assert_eq!(below(&handle), [None, Some(1), Some(2), Some(3)], "{bytes}");
        assert_eq!(beneath(&handle, "other", 4), None, "another key's");
        handle.note_complete(version(3));
        assert_eq!(
            below(&handle),
            [None, None, None, Some(3)],
            "what is beneath 3 goes, too"
        );
        handle.note_complete(version(4));
        handle.note_complete(version(4));
        assert_eq!(below(&handle), [None; 4]);
        (101..=104).for_each(|number| handle.note_complete(version(number)));
        let stats = store.stats();
        let sums = (
            stats.values_put_aside,
            stats.put_aside_bytes,
            stats.values_pinned,
        );
        assert_eq!(sums, (0, 0, 0), "{bytes}");
    }
}

#[test]
fn deletions_keep_what_was_there_and_tombstones_are_kept() {
    let store = store();
    let mut handle = store.handle();
    put(&mut handle, "k", 1, LONG);
    delete(&handle, "k", 2);
    put(&mut handle, "k", 3, LONG);
    assert_eq!(
        (beneath(&handle, "k", 2), beneath(&handle, "k", 3)),
        (Some(1), Some(2))
    );
    let is_tombstone = |older: Predecessor<'_>| older.is_tombstone && older.value.is_empty();
    assert_eq!(
        handle.predecessor(b"k", version(3), is_tombstone),
        Some(true)
    );
}

#[test]
fn what_is_accepted_is_kept_beneath_something_newer_that_is_not_complete() {
    let store = store();
    let mut handle = store.handle();
    let accepted = |handle: &StoreHandle, number: u64| {
        let options = SetOptions {
            keeping: Keeping::OlderAndThis,
            ..options(number)
        };
        handle.set(b"k", &value(number, LONG), &options)
    };
    let done = |number| {
        let cas = version(number).bits();
        Ok(SetOutcome::Stored { cas })
    };
    put(&mut handle, "k", 1, LONG);
    put(&mut handle, "k", 9, LONG);
    for number in [5, 7, 3, 5] {
        let outcome = accepted(&handle, number);
        assert!(
            matches!(outcome, Ok(SetOutcome::Stored { .. })),
            "{number}: {outcome:?}"
        );
    }
    let below = |handle: &StoreHandle| {
        [9, 7, 5, 3, 1].map(|number| beneath(handle, "k", number).unwrap_or_default())
    };
    assert_eq!(below(&handle), [7, 5, 3, 1, 0]);
    assert_eq!(handle.held_version(b"k"), Ok(Some(version(9))));
    // Something newer that is there for good is in its way as ever.
    handle.note_complete(version(9));
    assert_eq!(below(&handle), [0; 5]);
    let current = version(9);
    assert_eq!(accepted(&handle, 8), Ok(SetOutcome::Older { current }));
    assert_eq!(accepted(&handle, 10), done(10));
    assert_eq!(beneath(&handle, "k", 10), Some(9));
}

#[test]
fn nothing_is_kept_that_nobody_may_see_or_that_was_not_to_be_kept() {
    let store = store();
    let mut handle = store.handle();
    handle.set_now(100);
    let unkept = SetOptions {
        keeping: Keeping::Nothing,
        ..options(2)
    };
    put(&mut handle, "k", 1, LONG);
    assert!(handle.set(b"k", &value(2, LONG), &unkept).is_ok());
    assert_eq!(beneath(&handle, "k", 2), None);
    // What is refused takes no place.
    assert!(handle.set(b"k", b"late", &options(1)).is_ok());
    assert_eq!(store.stats().values_put_aside, 0);
    let expiring = SetOptions {
        expiry: 200,
        ..options(3)
    };
    assert!(handle.set(b"k", &value(3, LONG), &expiring).is_ok());
    put(&mut handle, "k", 4, LONG);
    assert_eq!(beneath(&handle, "k", 4), Some(3));
    handle.set_now(200);
    assert_eq!(beneath(&handle, "k", 4), None, "it has expired");
    put(&mut handle, "k", 5, LONG);
    handle.flush_all(None);
    assert_eq!(beneath(&handle, "k", 5), None, "it was flushed");
    put(&mut handle, "k", 6, LONG);
    assert_eq!(
        beneath(&handle, "k", 6),
        None,
        "what it has taken the place of was flushed"
    );
    assert_eq!(store.stats().values_pinned, 0);
}

#[test]
fn what_is_kept_takes_no_segment_from_those_who_store() {
    let store = store();
    let mut handle = store.handle();
    for key in 0..20 {
        put(&mut handle, &format!("k{key}"), 1, LONG);
        put(&mut handle, &format!("k{key}"), 2 + key, LONG);
    }
    assert_eq!(store.stats().values_pinned, 20);
    for number in 0..3 * MEMORY_BYTES / LONG as u64 {
        let (key, options) = (format!("other {number}"), SetOptions::default());
        assert!(handle.set(key.as_bytes(), &[7; LONG], &options).is_ok());
        handle.quiescent();
    }
    assert_eq!(store.stats().values_pinned, 0, "all were copied");
    for key in 0..20 {
        assert_eq!(beneath(&handle, &format!("k{key}"), 2 + key), Some(1));
    }
}

#[test]
fn of_too_many_the_oldest_go() {
    let (store, many) = (store(), KEPT_MAX + 100);
    let mut handle = store.handle();
    put(&mut handle, "k", 1, 8);
    (2..2 + many).for_each(|number| put(&mut handle, "k", number, 8));
    assert_eq!(store.stats().values_put_aside, KEPT_MAX);
    assert_eq!(beneath(&handle, "k", 1 + many - KEPT_MAX), None);
    assert_eq!(
        beneath(&handle, "k", 2 + many - KEPT_MAX),
        Some(1 + many - KEPT_MAX)
    );
    assert_eq!(
        handle.predecessors_forgotten(),
        Some(version(many - KEPT_MAX))
    );
    let first = 2 + many;
    for number in first..first + 40 {
        put(&mut handle, "k", number, LONG);
        assert!(store.stats().put_aside_bytes <= KEPT_BYTES_MAX);
    }
    let kept = KEPT_BYTES_MAX / LONG as u64;
    assert_eq!(store.stats().values_put_aside, kept);
    assert_eq!(beneath(&handle, "k", first + 39), Some(first + 38));
}

/// A store remembers of so many versions that nobody has told that they are complete.
const INCOMPLETE_MAX: u64 = 32_768;

#[test]
fn what_counts_as_complete_without_having_been_told_says_that_something_may_be_missing() {
    let store = store();
    let mut handle = store.handle();
    put(&mut handle, "k", 1, 8);
    put(&mut handle, "k", 2, 8);
    assert_eq!(handle.predecessors_forgotten(), None);
    for number in 3..3 + 3 * INCOMPLETE_MAX {
        let options = SetOptions {
            keeping: Keeping::Nothing,
            ..options(number)
        };
        assert!(handle.set(b"other", b"value", &options).is_ok());
        handle.quiescent();
    }
    assert_eq!(beneath(&handle, "k", 2), None);
    assert_eq!(handle.predecessors_forgotten(), Some(version(1)));
    assert_eq!(store.stats().values_put_aside, 0);
}

#[test]
fn a_store_ends_with_what_it_has_kept() {
    let store = store();
    let mut handle = store.handle();
    let token = Arc::new(());
    let of_the_store = Arc::downgrade(&token);
    store.on_eviction(move |_| _ = &token);
    put(&mut handle, "k", 1, LONG);
    put(&mut handle, "k", 2, LONG);
    drop((handle, store));
    assert!(of_the_store.upgrade().is_none());
}
