//! Stores that may evict what expires and nothing else (`--evict-expiring`).

mod common;

use common::*;
use farcache_base::time::NEVER;
use farcache_store::*;
use std::collections::VecDeque;
use std::sync::Arc;

const IN_A_DAY: u32 = 86_400;

fn store(memory_bytes: u64) -> Arc<Store> {
    Store::new(StoreConfig {
        memory_bytes,
        segment_bytes: SEGMENT,
        evict: false,
        evict_expiring: true,
        ..StoreConfig::default()
    })
    .unwrap()
}

#[test]
fn where_only_what_expires_is_evicted_it_gives_way_and_nothing_else_does() {
    let store = store(4 << 20);
    let mut handle = store.handle();
    let in_a_day = SetOptions::set(0, IN_A_DAY);
    (0..1_000).for_each(|number| _ = set(&handle, number, &[1; 1_000]).unwrap());
    // Three times what there is room for.
    for number in 1_000..10_000 {
        handle.set(&key(number), &[2; 1_000], &in_a_day).unwrap();
        handle.quiescent();
    }
    assert!(store.stats().evictions > 5_000, "{:?}", store.stats());
    // What is told not to expire any more is like the others.
    let kept = (9_900..10_000).filter(|&number| holds(&handle, number));
    let kept: Vec<u32> = kept.collect();
    assert!(kept.len() > 50, "{kept:?}");
    for &number in &kept {
        assert!(
            handle
                .touch(&key(number), NEVER, Access::Peek)
                .unwrap()
                .is_some()
        );
        handle.quiescent();
    }
    let fits = |&number: &u32| {
        let is_stored = set(&handle, number, &[3; 1_000]).is_ok();
        handle.park();
        is_stored
    };
    let fitted = (20_000..30_000).take_while(fits).count() as u32;
    assert!(fitted > 1_500, "{fitted} of 4,000 that would fill all");
    let all = (0..1_000).chain(kept).chain(20_000..20_000 + fitted);
    for number in all {
        assert!(holds(&handle, number), "{number}");
    }
    handle.quiescent();
}

/// As a burst buffer does: values longer than a segment are written, stay for a while, and may go
/// once they are stored elsewhere, which is told by an expiry.
#[test]
fn values_longer_than_a_segment_find_room_while_others_expire() {
    const STAYING_MAX: usize = 24;
    let store = store(16 << 20);
    let mut handle = store.handle();
    let mut staying = VecDeque::new();
    for number in 0..2_000 {
        let value = vec![number as u8; 70_000 + number as usize * 7_919 % 130_000];
        let stored = set(&handle, number, &value);
        assert!(stored.is_ok(), "{number}: {stored:?}, {:?}", store.stats());
        handle.park();
        staying.push_back((number, value));
        if staying.len() > STAYING_MAX {
            let place = number as usize * 104_729 % staying.len();
            let (number, _) = staying.swap_remove_back(place).unwrap();
            let touched = handle.touch(&key(number), IN_A_DAY, Access::Peek);
            assert!(touched.unwrap().is_some(), "{number}");
            handle.park();
        }
    }
    assert!(store.stats().evictions > 1_000, "{:?}", store.stats());
    for (number, value) in staying {
        let item = handle.get(&key(number), Access::Peek).unwrap().unwrap();
        assert!(item.value() == value, "{number}");
    }
}
