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
        handle
            .delete(&key(number), &DeleteOptions::default())
            .unwrap();
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

#[test]
fn a_store_over_two_devices_comes_back_whichever_is_named_first() {
    let devices = [device(4 << 20), device(4 << 20)];
    let open = |first: usize| {
        let order = [&devices[first], &devices[1 - first]];
        let order = order.map(|device| std::sync::Arc::clone(device) as std::sync::Arc<dyn Device>);
        let tier = TierConfig {
            devices: order.to_vec(),
            ..tier(&devices[0])
        };
        Store::open(config(1 << 20), tier).unwrap()
    };
    let store = open(0);
    let mut handle = store.handle();
    for number in 0..1200 {
        set(&mut handle, number, 0, 4000);
    }
    drop(handle);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    let store = open(1);
    let mut handle = store.handle();
    for number in 0..1200 {
        assert_eq!(get(&mut handle, number), Some(value(number, 0, 4000)));
    }
}

#[test]
fn devices_of_different_stores_are_refused() {
    let (first, second) = (device(4 << 20), device(4 << 20));
    drop((open(&first), open(&second)));
    let tier = TierConfig {
        devices: vec![first, second],
        ..TierConfig::new(Vec::new())
    };
    let refusal = Store::open(config(1 << 20), tier).err().unwrap();
    assert_eq!(refusal.kind(), std::io::ErrorKind::InvalidInput);
}
