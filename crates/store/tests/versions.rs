//! *Store if newer* and *delete if newer*: whatever the order in which writes arrive, and whatever
//! the store forgets meanwhile, nothing older takes the place of what was stored.

use farcache_base::version::{Ticks, Version, Writer};
use farcache_store::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

const KEEP: u32 = 1_000_000;

fn store(memory_bytes: u64) -> Arc<Store> {
    Store::new(StoreConfig {
        memory_bytes,
        segment_bytes: 64 << 10,
        huge_pages: false,
        ..StoreConfig::default()
    })
    .unwrap()
}

/// The version with this number, of writer 1.
fn version(number: u64) -> Version {
    let writer = Writer::new(1).unwrap();
    let unix_2027 = Duration::from_secs(1_798_761_600);
    Version::new(
        Ticks::at_unix(unix_2027 + Duration::from_millis(number)),
        writer,
    )
}

fn options(number: u64) -> SetOptions {
    SetOptions {
        version: Some(version(number)),
        ..SetOptions::default()
    }
}

fn put(handle: &StoreHandle, key: &str, value: &str, number: u64) -> SetOutcome {
    let outcome = handle.set(key.as_bytes(), value.as_bytes(), &options(number));
    outcome.unwrap()
}

fn delete(handle: &StoreHandle, key: &str, number: u64) -> VersionedDelete {
    let outcome = handle.delete_if_newer(key.as_bytes(), version(number), &keep_until(KEEP));
    outcome.unwrap()
}

fn keep_until(keep_until: u32) -> TombstoneOptions {
    TombstoneOptions {
        keep_until,
        ..TombstoneOptions::default()
    }
}

fn get(handle: &StoreHandle, key: &str) -> Option<(String, Option<Version>)> {
    let item = handle.get(key.as_bytes(), Access::Use).unwrap()?;
    let value = String::from_utf8(item.value().to_vec()).unwrap();
    Some((value, item.version()))
}

fn stored(number: u64) -> SetOutcome {
    SetOutcome::Stored {
        cas: version(number).bits(),
    }
}

fn older(number: u64) -> SetOutcome {
    SetOutcome::Older {
        current: version(number),
    }
}

/// Stores other items until this holds, for the store's own thread may be behind.
fn fill_until(handle: &mut StoreHandle, what: &str, holds: impl Fn(&StoreHandle) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut number = 0;
    while !holds(handle) {
        assert!(Instant::now() < deadline, "{what}");
        for _ in 0..100 {
            number += 1;
            let key = format!("other {number}");
            let outcome = handle.set(key.as_bytes(), &[7; 1000], &SetOptions::default());
            assert!(outcome.is_ok());
            handle.quiescent();
        }
        handle.park();
        std::thread::yield_now();
    }
}

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
fn what_is_evicted_does_not_let_anything_older_in() {
    let store = store(1 << 20);
    let mut handle = store.handle();
    put(&handle, "value", "v", 5);
    assert_eq!(store.horizon(), None);
    fill_until(&mut handle, "the value is evicted", |handle| {
        handle.get(b"value", Access::Peek).unwrap().is_none()
    });
    assert_eq!(store.horizon(), Some(version(5)));
    assert_eq!(put(&handle, "value", "old", 4), older(5));
    assert_eq!(put(&handle, "never seen", "old", 4), older(5));
    assert_eq!(put(&handle, "value", "new", 6), stored(6));
}

#[test]
fn tombstones_give_way_when_memory_is_short_and_refuse_all_the_same() {
    let store = store(1 << 20);
    let mut handle = store.handle();
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut last = 0;
    while store.horizon().is_none() {
        assert!(Instant::now() < deadline, "{:?}", store.stats());
        for _ in 0..100 {
            last += 1;
            delete(&handle, &format!("k{last}"), 1000 + last);
            handle.quiescent();
        }
        handle.park();
        std::thread::yield_now();
    }
    for number in 1..=last {
        let outcome = put(&handle, &format!("k{number}"), "old", 999 + number);
        let SetOutcome::Older { current } = outcome else {
            panic!("{number}: {outcome:?}");
        };
        assert!(current >= version(1000 + number));
        handle.quiescent();
    }
}

#[test]
fn the_key_that_is_held_is_compared_with_its_own_version_not_with_the_horizon() {
    let store = store(4 << 20);
    let handle = store.handle();
    put(&handle, "held", "one", 1);
    put(&handle, "gone", "nine", 9);
    assert_eq!(
        handle.delete(b"gone", &DeleteOptions::default()),
        Ok(DeleteOutcome::Deleted)
    );
    assert_eq!(store.horizon(), Some(version(9)));
    assert_eq!(put(&handle, "held", "two", 2), stored(2));
    assert_eq!(put(&handle, "gone", "eight", 8), older(9));
}

#[test]
fn what_ordinary_clients_overwrite_or_delete_does_not_let_anything_older_in() {
    let store = store(4 << 20);
    let handle = store.handle();
    for (number, key) in ["set", "append", "incr", "clear"].into_iter().enumerate() {
        put(&handle, key, "5", 10 + number as u64);
    }
    let append = SetOptions {
        mode: SetMode::Append,
        ..SetOptions::default()
    };
    let clear = DeleteOptions {
        clear_value: true,
        ..DeleteOptions::default()
    };
    let incr = ArithmeticOptions {
        delta: 1,
        ..ArithmeticOptions::default()
    };
    assert!(handle.set(b"set", b"6", &SetOptions::default()).is_ok());
    assert!(handle.set(b"append", b"6", &append).is_ok());
    assert!(handle.arithmetic(b"incr", &incr).is_ok());
    assert!(handle.delete(b"clear", &clear).is_ok());
    for key in ["set", "append", "incr", "clear"] {
        assert_eq!(
            get(&handle, key).unwrap().1,
            None,
            "{key} has no version any more"
        );
        assert_eq!(put(&handle, key, "old", 9), older(13), "{key}");
    }
    assert_eq!(put(&handle, "set", "new", 14), stored(14));
    // A touch changes neither value nor version.
    drop(handle.touch(b"set", 900, Access::Use).unwrap());
    assert_eq!(get(&handle, "set"), Some(("new".into(), Some(version(14)))));
}

#[test]
fn what_expires_or_is_flushed_does_not_let_anything_older_in() {
    let store = store(4 << 20);
    let mut handle = store.handle();
    handle.set_now(100);
    let mortal = SetOptions {
        expiry: 110,
        ..options(5)
    };
    assert_eq!(handle.set(b"mortal", b"v", &mortal), Ok(stored(5)));
    assert!(
        handle
            .delete_if_newer(b"dead", version(4), &keep_until(110))
            .is_ok()
    );
    put(&handle, "flushed", "v", 6);
    handle.set_now(120);
    assert_eq!(get(&handle, "mortal"), None);
    assert_eq!(put(&handle, "mortal", "old", 3), older(5));
    assert_eq!(put(&handle, "dead", "old", 3), older(4));
    handle.flush_all(None);
    assert_eq!(get(&handle, "flushed"), None);
    assert_eq!(put(&handle, "flushed", "old", 5), older(6));
    assert_eq!(
        put(&handle, "mortal", "old", 6),
        older(6),
        "the horizon is 6 for all"
    );
    assert_eq!(put(&handle, "mortal", "new", 7), stored(7));
    handle.park();
    let deadline = Instant::now() + Duration::from_secs(60);
    while store.stats().items > 1 {
        assert!(Instant::now() < deadline, "{:?}", store.stats());
        std::thread::yield_now();
    }
    assert_eq!(put(&handle, "dead", "old", 3), older(6));
}

#[test]
fn what_has_left_memory_because_it_expired_does_not_let_anything_older_in() {
    let store = store(4 << 20);
    let writer = store.handle();
    writer.set_now(100);
    let mortal = SetOptions {
        expiry: 110,
        ..options(5)
    };
    assert_eq!(writer.set(b"mortal", b"v", &mortal), Ok(stored(5)));
    drop(writer);
    let mut handle = store.handle();
    handle.set_now(1000);
    handle.park();
    let deadline = Instant::now() + Duration::from_secs(60);
    while store.stats().items > 0 {
        assert!(Instant::now() < deadline, "{:?}", store.stats());
        std::thread::yield_now();
    }
    assert_eq!(store.horizon(), Some(version(5)));
    assert_eq!(put(&handle, "mortal", "old", 4), older(5));
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

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u64),
    Delete(u8, u64),
    Plain(u8),
    Remove(u8),
    Flush,
    Fill,
}

fn step() -> impl Strategy<Value = Step> {
    let (key, number) = (0_u8..6, 1_u64..40);
    prop_oneof![
        8 => (key.clone(), number.clone()).prop_map(|(key, number)| Step::Put(key, number)),
        4 => (key.clone(), number).prop_map(|(key, number)| Step::Delete(key, number)),
        1 => key.clone().prop_map(Step::Plain),
        1 => key.prop_map(Step::Remove),
        1 => Just(Step::Flush),
        2 => Just(Step::Fill),
    ]
}

/// What is known of a key: the newest version that was ever taken, and what it left.
#[derive(Clone, Default)]
struct Known {
    newest: u64,
    value: Option<String>,
    /// What was ever taken, as number and whether it was a value.
    taken: BTreeSet<(u64, bool)>,
}

impl Known {
    /// One that is not the newest was there before, and changes nothing.
    fn take(&mut self, number: u64, value: Option<String>) -> bool {
        let is_new = number >= self.newest;
        let is_value = value.is_some();
        if is_new {
            (self.newest, self.value) = (number, value);
        }
        is_new | !self.taken.insert((number, is_value))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// With little memory, so that anything may be evicted: a key has what was stored last of what
    /// was taken, or nothing; and nothing is ever taken that is older than what was taken before.
    #[test]
    fn nothing_older_ever_comes_back(steps in proptest::collection::vec(step(), 1..60)) {
        let store = store(512 << 10);
        let mut handle = store.handle();
        let mut known: BTreeMap<u8, Known> = BTreeMap::new();
        let mut filled = 0;
        for step in steps {
            match step {
                Step::Put(key, number) => {
                    let value = format!("{number}");
                    let outcome = put(&handle, &key.to_string(), &value, number);
                    let known = known.entry(key).or_default();
                    match outcome {
                        SetOutcome::Stored { cas } => {
                            prop_assert_eq!(cas, version(number).bits());
                            prop_assert!(known.take(number, Some(value)));
                        }
                        SetOutcome::Older { current } | SetOutcome::Unsure { current } => {
                            prop_assert!(current >= version(number));
                        }
                        other => prop_assert!(false, "{:?}", other),
                    }
                }
                Step::Delete(key, number) => {
                    let outcome = delete(&handle, &key.to_string(), number);
                    let known = known.entry(key).or_default();
                    match outcome {
                        VersionedDelete::Deleted { .. } => {
                            prop_assert!(known.take(number, None));
                        }
                        VersionedDelete::Promised { .. } => panic!("nothing is promised"),
                        VersionedDelete::Older { current } | VersionedDelete::Unsure { current } => {
                            prop_assert!(current >= version(number));
                        }
                    }
                }
                Step::Plain(key) => {
                    let plain = handle.set(key.to_string().as_bytes(), b"p", &SetOptions::default());
                    prop_assert!(plain.is_ok());
                    known.entry(key).or_default().value = Some("p".into());
                }
                Step::Remove(key) => {
                    let gone = handle.delete(key.to_string().as_bytes(), &DeleteOptions::default());
                    prop_assert!(gone.is_ok());
                    known.entry(key).or_default().value = None;
                }
                Step::Flush => {
                    handle.flush_all(None);
                    known.values_mut().for_each(|known| known.value = None);
                }
                Step::Fill => for _ in 0..200 {
                    filled += 1;
                    let key = format!("other {filled}");
                    prop_assert!(handle.set(key.as_bytes(), &[7; 1000], &options(filled % 40)).is_ok());
                    handle.quiescent();
                }
            }
            for (key, known) in &known {
                let found = get(&handle, &key.to_string()).map(|found| found.0);
                prop_assert!(found.is_none() || found == known.value, "{:?}", found);
            }
            handle.quiescent();
        }
    }
}

fn restore(handle: &StoreHandle, key: &str, number: u64, asked: Forgotten) -> SetOutcome {
    let options = SetOptions {
        restored: Some(asked),
        ..options(number)
    };
    handle.set(key.as_bytes(), b"restored", &options).unwrap()
}

#[test]
fn what_others_have_is_restored_below_the_horizon_but_never_in_place_of_something_newer() {
    let store = store(1 << 20);
    let mut handle = store.handle();
    put(&handle, "value", "v", 5);
    fill_until(&mut handle, "the value is evicted", |handle| {
        handle.get(b"value", Access::Peek).unwrap().is_none()
    });
    store.begin_catching_up();
    assert_eq!(
        handle.newest_hidden(b"value"),
        Newest::Forgotten(None),
        "it has not followed what became of its keys"
    );
    assert_eq!(put(&handle, "value", "old", 4), older(5));
    let asked = handle.forgotten();
    assert_eq!(restore(&handle, "value", 4, asked), stored(4));
    assert!(handle.is_unconfirmed(version(4)) && !handle.is_unconfirmed(version(6)));
    put(&handle, "other", "v", 9);
    assert_eq!(restore(&handle, "other", 8, asked), older(9));
    delete(&handle, "deleted", 7);
    assert_eq!(restore(&handle, "deleted", 6, asked), older(7));
    handle.discard(b"deleted");
    assert_eq!(
        restore(&handle, "deleted", 6, asked),
        older(7),
        "forgotten since the others were asked"
    );
    assert_eq!(
        restore(&handle, "deleted", 6, handle.forgotten()),
        stored(6)
    );
    store.end_catching_up();
    assert!(!handle.is_unconfirmed(version(4)));
    assert_eq!(
        handle.newest_hidden(b"none"),
        Newest::Forgotten(Some(version(7)))
    );
}

#[test]
fn what_fills_in_takes_the_place_of_the_very_version_and_of_nothing_newer() {
    let store = store(4 << 20);
    let handle = store.handle();
    let fill_in = |key: &str, number| {
        let options = SetOptions {
            restored: Some(handle.forgotten()),
            fills_in: true,
            ..options(number)
        };
        handle.set(key.as_bytes(), b"whole", &options).unwrap()
    };
    put(&handle, "k", "part", 5);
    let asked = handle.forgotten();
    assert_eq!(restore(&handle, "k", 5, asked), older(5), "another write");
    assert_eq!(fill_in("k", 5), stored(5));
    assert_eq!(get(&handle, "k").unwrap().0, "whole");
    put(&handle, "k", "newer", 6);
    assert_eq!(fill_in("k", 5), older(6));
    delete(&handle, "k", 7);
    assert_eq!(fill_in("k", 6), older(7));
}

#[test]
fn only_the_version_that_is_named_is_discarded() {
    let store = store(4 << 20);
    let handle = store.handle();
    put(&handle, "k", "two", 2);
    assert_eq!(handle.discard_version(b"k", version(1)), Ok(false));
    assert_eq!(handle.held_version(b"k"), Ok(Some(version(2))));
    assert_eq!(handle.discard_version(b"k", version(2)), Ok(true));
    assert_eq!(handle.held_version(b"k"), Ok(None));
    delete(&handle, "k", 3);
    assert_eq!(handle.held_version(b"k"), Ok(Some(version(3))));
}

#[test]
fn a_scan_for_versions_sees_values_and_tombstones_and_nothing_else() {
    let store = store(4 << 20);
    let handle = store.handle();
    for number in 0..500 {
        put(&handle, &format!("k{number}"), "v", 10 + number);
        let plain = handle.set(
            format!("plain{number}").as_bytes(),
            b"v",
            &SetOptions::default(),
        );
        assert!(plain.is_ok());
    }
    delete(&handle, "k7", 1000);
    let (mut cursor, mut seen) = (ScanCursor::default(), BTreeMap::new());
    loop {
        let mut visit = |listed: &Listed<'_>| {
            let key = String::from_utf8(listed.key.to_vec()).unwrap();
            let was = seen.insert(key, (listed.version, listed.value.is_some()));
            assert_eq!(was, None);
        };
        let goes_on = handle.scan_versions(&mut cursor, 20, &mut visit).unwrap();
        // A cursor may travel.
        cursor = ScanCursor::decode(cursor.encode()).expect("a cursor");
        if !goes_on {
            break;
        }
    }
    assert_eq!((seen.len(), cursor.progress()), (500, 1024));
    for number in 0..500 {
        let expected = match number {
            7 => (version(1000), false),
            _ => (version(10 + number), true),
        };
        assert_eq!(seen[&format!("k{number}")], expected);
    }
}

/// A server whose clients keep one copy answers for all that it has whenever the map changes.
#[test]
fn a_scan_for_versions_ends_at_once_where_there_is_none() {
    let store = store(4 << 20);
    let handle = store.handle();
    for number in 0..500 {
        let key = format!("plain{number}");
        assert!(
            handle
                .set(key.as_bytes(), b"v", &SetOptions::default())
                .is_ok()
        );
    }
    let mut cursor = ScanCursor::default();
    let mut visit = |listed: &Listed<'_>| panic!("{listed:?}");
    assert_eq!(handle.scan_versions(&mut cursor, 20, &mut visit), Ok(false));
    put(&handle, "k", "v", 1);
    let mut seen = 0;
    while handle
        .scan_versions(&mut cursor, 20, &mut |_| seen += 1)
        .unwrap()
    {}
    assert_eq!(seen, 1);
}

#[test]
fn what_is_no_cursor_is_refused() {
    assert_eq!(ScanCursor::decode([0xff; 16]), None);
    let mut bytes = ScanCursor::default().encode();
    bytes[15] = 41;
    assert_eq!(ScanCursor::decode(bytes), None);
    bytes[15] = 40;
    assert!(ScanCursor::decode(bytes).is_some());
}

/// The store refuses what it has no room for. Were tombstones refused, too, it could never give any
/// back.
#[test]
fn a_full_store_that_evicts_nothing_deletes_and_gives_back_room() {
    let store = Store::new(StoreConfig {
        evict: false,
        memory_bytes: 1 << 20,
        segment_bytes: 64 << 10,
        huge_pages: false,
        ..StoreConfig::default()
    });
    let store = store.unwrap();
    let mut handle = store.handle();
    let mut count = 0;
    let key = |number: u64| format!("key {number}");
    let put_more = |number: u64| {
        let value = [7; 1000];
        handle.set(key(number).as_bytes(), &value, &options(number))
    };
    while put_more(count).is_ok() {
        count += 1;
    }
    // Smaller ones until not even a tombstone has room.
    let mut small = 0;
    let is_full = |small: u64| {
        let key = format!("s{small}");
        let stored = handle.set(key.as_bytes(), b"", &options(small));
        stored.is_err()
    };
    while !is_full(small) {
        small += 1;
    }
    let last = count - 1;
    assert_eq!(
        delete(&handle, &key(last), last),
        VersionedDelete::Older {
            current: version(last)
        }
    );
    for number in 0..count {
        let deleted = delete(&handle, &key(number), 2 * count);
        assert_eq!(deleted, VersionedDelete::Deleted { was_present: true });
        assert_eq!(get(&handle, &key(number)), None);
    }
    handle.quiescent();
    // What comes late takes no room again.
    assert_eq!(put(&handle, &key(0), "late", count), older(2 * count));
    let deadline = Instant::now() + Duration::from_secs(60);
    let value = [7; 1000];
    let later = options(3 * count);
    while handle.set(b"fresh", &value, &later).is_err() {
        assert!(Instant::now() < deadline, "nothing was given back");
        handle.quiescent();
    }
}
