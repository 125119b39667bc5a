//! What is there after a restart.

use crate::common::*;
use farcache_store::*;

#[test]
fn after_an_orderly_stop_everything_is_back() {
    let device = device(16 << 20);
    let store = open(&device);
    let mut handle = store.handle();
    for number in 0..1000 {
        set(&mut handle, number, 0, 4000);
    }
    for number in (0..1000).step_by(7) {
        handle.delete(&key(number), &DeleteOptions::default());
    }
    for number in (1..1000).step_by(7) {
        set(&mut handle, number, 1, 100);
    }
    drop(handle);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    let store = open(&device);
    let mut handle = store.handle();
    for number in 0..1000 {
        let expected = match number % 7 {
            0 => None,
            1 => Some(value(number, 1, 100)),
            _ => Some(value(number, 0, 4000)),
        };
        assert_eq!(get(&mut handle, number), expected, "{number}");
    }
    assert_eq!(store.stats().items, 857);
    assert_eq!(stats(&store).items_recovered, 857);
}
