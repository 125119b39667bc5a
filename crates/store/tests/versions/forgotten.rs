//! What leaves the store, in whatever way, does not let anything older in.

use crate::{delete, fill_until, get, keep_until, older, options, put, store, stored, version};
use farcache_store::*;
use std::time::{Duration, Instant};

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
    let increment = ArithmeticOptions {
        delta: 1,
        ..ArithmeticOptions::default()
    };
    assert!(handle.set(b"set", b"6", &SetOptions::default()).is_ok());
    assert!(handle.set(b"append", b"6", &append).is_ok());
    assert!(handle.arithmetic(b"incr", &increment).is_ok());
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
