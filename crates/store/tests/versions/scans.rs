//! Scans for items with a version.

use crate::{delete, put, store, version};
use farcache_store::*;
use std::collections::BTreeMap;

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
