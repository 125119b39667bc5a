use super::*;
use crate::item::{Fields, State};
use crate::options::{Access, StoreConfig};
use crate::store::Store;
use farcache_log::{FaultyDevice, KeyArcs, TierConfig};
use std::sync::Arc;

const SEGMENT_BYTES: u32 = 64 << 10;

fn store() -> Arc<Store> {
    let config = StoreConfig {
        memory_bytes: 1 << 20,
        segment_bytes: SEGMENT_BYTES,
        huge_pages: false,
        ..StoreConfig::default()
    };
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        ..TierConfig::new(vec![Arc::new(FaultyDevice::new(2 << 20))])
    };
    Store::open(config, tier).unwrap()
}

/// Something voids the item when the mover has seen that it stands, and before it has a place for
/// the copy: which is in a segment that is not voided.
fn is_voided_while_it_is_moved(void: impl FnOnce(&Core)) {
    let store = store();
    let core = &*store.core;
    let tier = core.tier.as_ref().unwrap();
    let key = b"key";
    let hash = core.hash(key);
    let incoming = Incoming {
        hash,
        key,
        value: b"value",
        fields: Fields::default(),
        state: State::default(),
    };
    let mut from = Location::from_bits(0);
    let insert = |to| {
        from = to;
        // SAFETY: it is the log that calls it.
        unsafe { core.index.lock(hash).insert(to) }
    };
    let appended = tier.append(core, &incoming, Source::Memory, insert);
    assert_eq!(appended, Appended::Done);
    void(core);
    let attendance = core.attend_as_flusher();
    // SAFETY: it has just been written, and nothing takes its place meanwhile.
    let item = unsafe { tier.in_buffer(attendance.guard(), from) }.expect("it is not written out");
    // SAFETY: it is the log that calls it.
    let redirect = |to| unsafe { core.redirect(attendance.guard(), hash, item, from, to) };
    let moved = tier.append(core, &incoming, Source::Cleaner, redirect);
    assert_eq!(moved, Appended::Gone);
    let handle = store.handle();
    assert!(matches!(handle.get(key, Access::Peek), Ok(None)));
}

#[test]
fn an_item_that_a_flush_voids_while_it_is_moved_stays_void() {
    is_voided_while_it_is_moved(|core| core.flush.begin(|| core.arena.last_sequence()));
}

#[test]
fn an_item_that_a_fence_voids_while_it_is_moved_stays_void() {
    is_voided_while_it_is_moved(|core| {
        let last = || core.arena.last_sequence();
        core.fences.begin(KeyArcs::all(), &core.flush, last);
    });
}
