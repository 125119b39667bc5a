use super::*;
use crate::options::{Access, SetOptions, StoreConfig};
use crate::store::Store;

/// Whoever empties a segment finds an item expired; a client that still saw it gives it a later
/// expiry before it is dropped.
#[test]
fn an_item_that_is_touched_while_it_is_dropped_as_expired_stays() {
    let config = StoreConfig {
        memory_bytes: 1 << 20,
        segment_bytes: 64 << 10,
        huge_pages: false,
        ..StoreConfig::default()
    };
    let store = Store::new(config).unwrap();
    let core = &*store.core;
    let handle = store.handle();
    let key = b"key";
    handle.set(key, b"value", &SetOptions::set(0, 100)).unwrap();
    let hash = core.hash(key);
    let location = core.index.find(hash, Some).unwrap();
    let candidate = Candidate { location, hash };
    let item = core.arena.item(location);
    assert!(handle.touch(key, 200, Access::Peek).unwrap().is_some());
    core.advance_clock(150);
    assert!(!core.drop_item(candidate, item, true));
    assert!(core.index.has(hash, location));
    core.advance_clock(200);
    assert!(core.drop_item(candidate, item, true));
    assert!(!core.index.has(hash, location));
}
