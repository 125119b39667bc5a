//! What others have is put back, filled in or given up.

use crate::{delete, fill_until, get, older, options, put, store, stored, version};
use farcache_store::*;

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
