//! Values larger than a segment on a device that is in use everywhere.

use crate::common::*;
use farcache_store::*;

const KEYS: u32 = 350;
const LARGE: usize = 150_000;

/// Random overwriting leaves free slots here and there; large values need some in a row.
fn store_large_among_small(evict: bool, durability: Durability) {
    let device = device(4 << 20);
    let config = StoreConfig {
        evict,
        ..config(1 << 20)
    };
    let tier = TierConfig {
        durability,
        ..tier(&device)
    };
    let store = Store::open(config, tier).unwrap();
    let mut handle = store.handle();
    let mut state = 7u32;
    for _ in 0..8 * KEYS {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        set(&mut handle, (state >> 8) % KEYS, state, 4000);
    }
    for number in 0..8 {
        set(&mut handle, KEYS + number, 0, LARGE);
        // Something else, so that it leaves memory.
        (0..KEYS).for_each(|number| set(&mut handle, number, state, 4000));
        if durability == Durability::Sync {
            let mark = handle.durable_mark();
            handle.park();
            eventually("it becomes durable", || handle.is_durable(mark));
        }
    }
    let found = (0..8).filter(|number| get(&mut handle, KEYS + number).is_some());
    assert_eq!(found.count(), 8, "{:?}", stats(&store));
}

#[test]
fn large_values_find_a_place_among_small_ones() {
    store_large_among_small(true, Durability::Writeback);
}

#[test]
fn they_do_where_nothing_is_evicted() {
    store_large_among_small(false, Durability::Writeback);
}

#[test]
fn they_become_durable() {
    store_large_among_small(false, Durability::Sync);
}
