//! What the store does when memory runs out, when items expire, and with items larger than a
//! segment.

mod common;

use common::*;
use farcache_store::*;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn store(memory_bytes: u64, evict: bool) -> Arc<Store> {
    let item_bytes_max = 1 << 30;
    let config = StoreConfig {
        memory_bytes,
        segment_bytes: SEGMENT,
        evict,
        item_bytes_max,
        ..StoreConfig::default()
    };
    Store::new(config).unwrap()
}

/// Waits for the store's own thread.
fn eventually(store: &Store, handle: &mut StoreHandle, condition: impl Fn(&StoreStats) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition(&store.stats()) {
        assert!(Instant::now() < deadline, "{:?}", store.stats());
        handle.park();
        std::thread::yield_now();
    }
}

#[test]
fn what_comes_back_soon_after_its_eviction_outlives_what_is_new() {
    const CONTROLS: std::ops::Range<u32> = 1..9;
    let store = store(4 << 20, true);
    let mut handle = store.handle();
    let mut scanned = 1000;
    let mut scan = |handle: &mut StoreHandle| {
        set(handle, scanned, &[7; 1000]).unwrap();
        handle.quiescent();
        scanned += 1;
    };
    set(&handle, 0, &[1; 1000]).unwrap();
    while holds(&handle, 0) {
        scan(&mut handle);
    }
    for number in std::iter::once(0).chain(CONTROLS) {
        set(&handle, number, &[1; 1000]).unwrap();
    }
    // Three times what memory holds.
    for _ in 0..12_000 {
        scan(&mut handle);
    }
    assert!(holds(&handle, 0));
    // Rarely one of them has the fingerprint of a ghost.
    let held = CONTROLS.filter(|&number| holds(&handle, number)).count();
    assert!(held <= 2, "{held} of the controls");
}

#[test]
fn a_full_store_goes_on_storing_and_keeps_to_its_memory() {
    let store = store(4 << 20, true);
    let mut handle = store.handle();
    for number in 0..100_000 {
        set(&handle, number, &[7; 100]).unwrap();
        handle.quiescent();
    }
    assert!(holds(&handle, 99_999) && !holds(&handle, 0));
    let stats = store.stats();
    assert!(
        stats.bytes_live <= 4 << 20 && stats.items > 20_000,
        "{stats:?}"
    );
    // The store's own thread may be evicting right now: its counters agree when it rests.
    eventually(&store, &mut handle, |stats| {
        stats.items + stats.evictions == 100_000 && stats.evicted_unread == stats.evictions
    });
}

/// A number without order in it (the finalizer of MurmurHash3).
fn mixed(number: u32) -> u32 {
    let mixed = (number ^ number >> 16).wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ mixed >> 13).wrapping_mul(0xc2b2_ae35);
    mixed ^ mixed >> 16
}

#[test]
fn overwriting_what_fits_evicts_nothing() {
    let store = store(4 << 20, true);
    let mut handle = store.handle();
    for step in 0..40_000_u32 {
        // Two fifths of the memory, in an order that leaves something alive everywhere.
        set(&handle, mixed(step) % 1_500, &[7; 1_000]).unwrap();
        handle.quiescent();
    }
    let stats = store.stats();
    assert_eq!(stats.evictions, 0, "{stats:?}");
    assert!(stats.segments_cleaned > 0);
}

#[test]
fn what_is_never_overwritten_stays_while_dead_room_can_be_had() {
    const COLD: u32 = 6_000;
    let store = store(16 << 20, true);
    let mut handle = store.handle();
    // More segments in a row with nothing dead in them than are looked at together.
    for number in 0..COLD {
        set(&handle, number, &[1; 1_000]).unwrap();
    }
    for step in 0..60_000_u32 {
        set(&handle, COLD + mixed(step) % 3_000, &[7; 1_000]).unwrap();
        handle.quiescent();
    }
    let stats = store.stats();
    assert_eq!(stats.evictions, 0, "{stats:?}");
    assert!((0..COLD).all(|number| holds(&handle, number)));
}

#[test]
fn every_eviction_is_told() {
    let store = store(4 << 20, true);
    let told = Arc::new(Mutex::new(Vec::new()));
    let observed = Arc::clone(&told);
    store.on_eviction(move |item| {
        let figures = (item.value_bytes, item.was_fetched, item.rest_s, item.idle_s);
        observed.lock().unwrap().push((item.key.to_vec(), figures));
    });
    let mut handle = store.handle();
    handle.set_now(100);
    for number in 0..100_000 {
        let options = SetOptions::set(0, 150);
        handle.set(&key(number), &[7; 100], &options).unwrap();
        handle.quiescent();
    }
    // The store's own thread may be evicting right now: its counters agree when it rests.
    eventually(&store, &mut handle, |stats| {
        let told = told.lock().unwrap().len() as u64;
        told == stats.evictions && told + stats.items == 100_000
    });
    let told = told.lock().unwrap();
    assert!(told.len() > 10_000);
    for (key, figures) in told.iter() {
        assert_eq!(*figures, (100, false, Some(50), 0));
        assert!(handle.get(key, Access::Peek).unwrap().is_none());
    }
}

#[test]
fn items_in_use_survive_a_scan() {
    let store = store(4 << 20, true);
    let mut handle = store.handle();
    (0..2_000).for_each(|hot| _ = set(&handle, hot, &[1; 100]).unwrap());
    for number in 10_000..200_000 {
        set(&handle, number, &[2; 100]).unwrap();
        if number % 10 == 0 {
            let hot = key(number / 10 % 2_000);
            handle.get(&hot, Access::Use).unwrap();
        }
        handle.quiescent();
    }
    let survivors = (0..2_000).filter(|&hot| holds(&handle, hot)).count();
    assert!(survivors > 1_900, "{survivors} of 2000");
}

#[test]
fn expired_segments_are_taken_back_whole() {
    let store = store(4 << 20, true);
    let mut handle = store.handle();
    handle.set_now(100);
    for number in 0..10_000 {
        handle
            .set(&key(number), &[1; 100], &SetOptions::set(0, 150))
            .unwrap();
    }
    set(&handle, 77_777, b"stays").unwrap();
    let free = store.stats().segments_free;
    handle.set_now(150);
    assert!(!holds(&handle, 5));
    eventually(&store, &mut handle, |stats| {
        stats.segments_expired > 10 && stats.segments_free > free + 10
    });
    let stats = store.stats();
    assert_eq!(
        (stats.evictions, stats.expired, stats.expired_unread),
        (0, stats.expired, stats.expired)
    );
    assert!(holds(&handle, 77_777));
}

#[test]
fn without_eviction_a_full_store_refuses_and_loses_nothing() {
    let store = store(2 << 20, false);
    let mut handle = store.handle();
    let mut stored = 0;
    while set(&handle, stored, &[3; 500]).is_ok() {
        stored += 1;
        handle.quiescent();
    }
    assert!(stored > 3_000, "{stored}");
    assert_eq!(
        set(&handle, stored, &[3; 500]),
        Err(StoreError::OutOfMemory.into())
    );
    assert!((0..stored).all(|number| holds(&handle, number)));
    // Half of the items, spread over all segments: only moving the others together frees any.
    (0..stored).step_by(2).for_each(|gone| {
        assert_eq!(
            handle
                .delete(&key(gone), &DeleteOptions::default())
                .unwrap(),
            DeleteOutcome::Deleted
        );
    });
    let again = (0..stored / 3)
        .filter(|&new| set(&handle, 1 << 20 | new, &[4; 500]).is_ok())
        .count();
    assert_eq!(again, stored as usize / 3);
    assert!((1..stored).step_by(2).all(|number| holds(&handle, number)));
    assert!(store.stats().segments_cleaned > 0 && store.stats().evictions == 0);
}

#[test]
fn a_token_that_was_told_survives_a_move_of_the_item() {
    let store = store(2 << 20, false);
    let mut handle = store.handle();
    set(&handle, 1, b"told by a read").unwrap();
    let read = handle.get(&key(1), Access::Use).unwrap().unwrap().cas();
    let options = SetOptions {
        cas_wanted: true,
        ..SetOptions::default()
    };
    let SetOutcome::Stored { cas: stored } =
        handle.set(&key(2), b"told when stored", &options).unwrap()
    else {
        panic!("not stored")
    };
    // A few that stay among many that are overwritten: cleaning moves those that stay.
    let mut number = 0;
    while store.stats().items_moved < 50 {
        let fresh = number % 8 == 0 && number < 1_600;
        let target = if fresh {
            1_000 + number
        } else {
            10 + number % 50
        };
        set(&handle, target, &[5; 3_000]).unwrap();
        number += 1;
        handle.quiescent();
        assert!(
            number < 1 << 20,
            "nothing is ever moved: {:?}",
            store.stats()
        );
    }
    assert_eq!(
        handle.get(&key(1), Access::Use).unwrap().unwrap().cas(),
        read
    );
    let replace = |cas| SetOptions {
        compare_cas: Some(cas),
        ..SetOptions::default()
    };
    assert!(matches!(
        handle.set(&key(2), b"new", &replace(stored)),
        Ok(SetOutcome::Stored { .. })
    ));
    assert_eq!(
        handle.set(&key(2), b"newer", &replace(stored)),
        Ok(SetOutcome::Exists)
    );
}

#[test]
fn items_larger_than_a_segment_own_a_run() {
    let store = store(32 << 20, true);
    let mut handle = store.handle();
    let sizes = [
        60_000,
        64 << 10,
        100_000,
        1 << 20,
        5 << 20,
        12 << 20,
        20 << 20,
    ];
    for (number, &size) in sizes.iter().cycle().take(60).enumerate() {
        let number = number as u32;
        let value: Vec<u8> = (0..size).map(|at| (at as u32 ^ number) as u8).collect();
        set(&handle, number, &value).unwrap_or_else(|error| panic!("{size} bytes: {error}"));
        assert!(
            handle
                .get(&key(number), Access::Use)
                .unwrap()
                .is_some_and(|item| item.value() == value)
        );
        // Small ones in between break up the stretches.
        (0..500).for_each(|small| _ = set(&handle, 1_000 * number + small, &[1; 200]).unwrap());
        handle.quiescent();
    }
    assert_eq!(
        set(&handle, 1, &vec![0; 40 << 20]),
        Err(StoreError::OutOfMemory.into())
    );
    assert!(store.stats().bytes_live <= 32 << 20);
}

#[test]
fn what_was_just_stored_is_not_what_large_values_take_the_room_of() {
    const LARGE_BYTES: usize = 5 * SEGMENT as usize;
    let store = store(4 << 20, true);
    let mut handle = store.handle();
    (0..2_000).for_each(|number| _ = set(&handle, number, &[1; 4_200]).unwrap());
    for number in 10_000..10_200 {
        set(&handle, number, &[2; 4_200]).unwrap();
        // More than the queue for new items holds.
        for large in 0..8 {
            set(&handle, 100_000 + large, &[3; LARGE_BYTES]).unwrap();
        }
        assert!(holds(&handle, number), "{number}: {:?}", store.stats());
        handle.quiescent();
    }
}

#[test]
fn large_values_begin_where_large_buffers_do() {
    let store = Store::new(StoreConfig {
        memory_bytes: 16 << 20,
        item_bytes_max: 1 << 30,
        ..StoreConfig::default()
    })
    .unwrap();
    let mut handle = store.handle();
    let options = SetOptions::default();
    // Many times the memory, so that values are moved and evicted, with fillers between them.
    for number in 0..1_000_u32 {
        let key = vec![b'a' + (number % 26) as u8; 1 + mixed(number) as usize % 250];
        let value = vec![number as u8; (64 << 10) + mixed(number + 1) as usize % (400 << 10)];
        handle.set(&key, &value, &options).unwrap();
        let item = handle.get(&key, Access::Use).unwrap().unwrap();
        assert!(item.value() == value);
        let header_bytes = 12 + key.len();
        let start = item.value().as_ptr().addr();
        assert_eq!(start % 64, 16 + header_bytes % 4, "{number}");
        drop(item);
        handle.quiescent();
    }
    assert!(store.stats().evictions > 100, "{:?}", store.stats());
}

#[test]
fn as_many_large_values_fit_as_without_fillers() {
    // Four of them fill a segment but for 16 bytes.
    const ITEM_BYTES: usize = (1 << 20) / 4 - 4;
    let store = Store::new(StoreConfig {
        memory_bytes: 16 << 20,
        evict: false,
        ..StoreConfig::default()
    })
    .unwrap();
    let mut handle = store.handle();
    let value = vec![7; ITEM_BYTES - 12 - key(0).len()];
    let fits = |number| set(&handle, number, &value).is_ok();
    let stored = (0..64).take_while(|number| fits(*number)).count();
    // Two segments are the reclaimer's.
    assert_eq!(stored, 14 * 4);
    handle.quiescent();
}

#[test]
fn the_memory_limit_can_be_changed() {
    let store = store(4 << 20, true);
    let mut handle = store.handle();
    let mut fill = |numbers: std::ops::Range<u32>| {
        for number in numbers {
            set(&handle, number, &[1; 1_000]).unwrap();
            handle.quiescent();
        }
        handle.park();
        store.stats().items
    };
    let before = fill(0..10_000);
    assert!(store.set_memory_bytes(16 << 20));
    let raised = fill(10_000..30_000);
    assert!(raised > 3 * before, "{before} then {raised}");
    assert!(store.set_memory_bytes(2 << 20));
    fill(30_000..31_000);
    eventually(&store, &mut store.handle(), |stats| {
        stats.bytes_live <= 2 << 20
    });
    assert!(!store.set_memory_bytes(1 << 40) && !store.set_memory_bytes(1));
}

#[test]
fn the_limit_covers_the_index_and_the_ghosts() {
    let store = store(4 << 20, true);
    let mut handle = store.handle();
    let taken = |stats: &StoreStats| stats.segments * stats.segment_bytes + stats.index_bytes;
    // Small ones, of which the index is a fifth, twice as many as there is room for.
    for number in 0..200_000 {
        set(&handle, number, &[1; 20]).unwrap();
        handle.quiescent();
    }
    assert!(store.stats().index_bytes > 4 << 17, "{:?}", store.stats());
    eventually(&store, &mut handle, |stats| {
        taken(stats) <= stats.memory_bytes + stats.segment_bytes / 2
    });
    assert_eq!(store.stats().memory_bytes, 4 << 20);
}

#[test]
fn a_run_has_room_where_segments_were_given_up_for_the_index() {
    let store = store(4 << 20, true);
    let mut handle = store.handle();
    for number in 0..400_000 {
        set(&handle, number, &[1; 20]).unwrap();
        handle.quiescent();
    }
    let stats = store.stats();
    assert!(stats.segments < 56, "some were given up: {stats:?}");
    // So many are left that a run of half the limit needs those given up in its middle.
    for number in 0..10 {
        set(&handle, number, &[2; 2 << 20]).unwrap();
        assert!(holds(&handle, number));
        handle.quiescent();
    }
}

#[test]
fn a_pinned_value_stays_however_much_is_stored() {
    let store = store(1 << 20, true);
    let mut handle = store.handle();
    set(&handle, 0, &[9; 10_000]).unwrap();
    let pinned = handle.get(&key(0), Access::Peek).unwrap().unwrap().pin();
    for number in 1..3_000 {
        set(&handle, number, &[1; 10_000]).unwrap();
        handle.quiescent();
    }
    assert_eq!(pinned.value(), [9; 10_000]);
    assert_eq!(store.stats().values_pinned, 1);
    drop(pinned);
    assert_eq!(store.stats().values_pinned, 0);
}

#[test]
fn an_outdated_value_may_be_stored_as_a_stale_one() {
    let store = store(4 << 20, true);
    let handle = store.handle();
    handle
        .set(b"k", b"old", &SetOptions::set(0, 1_000))
        .unwrap();
    let token = handle.get(b"k", Access::Use).unwrap().unwrap().cas();
    handle.get(b"k", Access::Use).unwrap().unwrap().claim_win();
    let stale = |compare_cas| SetOptions {
        compare_cas: Some(compare_cas),
        invalidate: true,
        ..SetOptions::set(7, 0)
    };
    assert_eq!(handle.set(b"k", b"x", &stale(0)), Ok(SetOutcome::Exists));
    assert_eq!(
        handle.set(b"k", b"x", &stale(token + 1)),
        Ok(SetOutcome::Exists)
    );
    assert!(matches!(
        handle.set(b"k", b"late", &stale(token - 1)),
        Ok(SetOutcome::Stored { .. })
    ));
    let item = handle.get(b"k", Access::Use).unwrap().unwrap();
    assert_eq!(
        (item.value(), item.flags(), item.expiry()),
        (&b"late"[..], 7, 1_000)
    );
    assert!(item.is_stale() && item.is_win_sent());
}

#[test]
fn values_that_stop_half_way_leave_room_to_others() {
    let store = store(4 << 20, true);
    let mut handle = store.handle();
    let options = SetOptions::default();
    let mut arriving = Vec::new();
    // More than there are segments, and each in one of its own.
    for number in 0..100 {
        let room = handle.reserve(&key(number), 5000, &options);
        arriving.push(room.expect("room"));
        for filler in 0..20 {
            set(&handle, 1000 + number * 20 + filler, &[1; 4000]).expect("room");
            handle.quiescent();
        }
    }
    for (number, mut room) in arriving.into_iter().enumerate() {
        assert_eq!(room.len(), 5000);
        room.fill(number as u8);
        let outcome = handle.commit(room, &options).unwrap();
        assert!(
            matches!(outcome, Ok(SetOutcome::Stored { .. })),
            "{outcome:?}"
        );
        {
            let item = handle.get(&key(number as u32), Access::Peek).unwrap();
            let item = item.expect("stored");
            assert!(item.value().iter().all(|byte| *byte == number as u8));
        }
        handle.quiescent();
    }
    // All of it can be emptied again.
    for number in 0..2000 {
        set(&handle, 10_000 + number, &[2; 4000]).expect("room");
        handle.quiescent();
    }
}
