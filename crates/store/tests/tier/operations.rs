//! Every operation on items that lie on the device does what it does on items in memory.

use crate::common::*;
use farcache_store::*;

/// A store whose first items are on the device.
fn spilled() -> (std::sync::Arc<Store>, StoreHandle) {
    let device = device(16 << 20);
    let store = open(&device);
    let mut handle = store.handle();
    handle.set_now(100);
    let options = SetOptions {
        cas_wanted: true,
        ..SetOptions::set(7, 500)
    };
    for number in 0..20u32 {
        let text = number.to_string();
        handle.set(&key(number), text.as_bytes(), &options).unwrap();
    }
    // Of the same lifetime, so that they follow in the same segments.
    let filler = SetOptions::set(0, 100_000);
    for number in 100..1000 {
        let value = value(number, 0, 4000);
        handle.set(&key(number), &value, &filler).unwrap();
        handle.quiescent();
    }
    eventually("the first items are on the device", || {
        handle.forget_reads();
        let must_be_read = handle.get(&key(0), Access::Peek).is_err();
        handle.forget_reads();
        handle.quiescent();
        must_be_read
    });
    (store, handle)
}

#[test]
fn append_increment_and_touch_read_what_they_need() {
    let (_store, mut handle) = spilled();
    let append = SetOptions {
        mode: SetMode::Append,
        ..SetOptions::default()
    };
    let outcome = handle.run_blocking(|handle| settled(handle.set(&key(1), b"0", &append)));
    assert!(matches!(outcome.unwrap(), Ok(SetOutcome::Stored { .. })));
    let up = ArithmeticOptions {
        delta: 5,
        initial: Some((1000, 0)),
        ..ArithmeticOptions::default()
    };
    let outcome = handle.run_blocking(|handle| settled(handle.arithmetic(&key(2), &up)));
    assert!(matches!(
        outcome.unwrap(),
        Ok(ArithmeticOutcome::Done { value: 7, .. })
    ));
    let touched = handle.run_blocking(|handle| {
        let touched = settled(handle.touch(&key(3), 900, Access::Use))?;
        Ok(touched
            .map(|item| item.map(|item| (item.value().to_vec(), item.flags(), item.expiry()))))
    });
    assert_eq!(touched.unwrap(), Ok(Some((b"3".to_vec(), 7, 900))));
    assert_eq!(get(&mut handle, 1), Some(b"10".to_vec()));
    assert_eq!(get(&mut handle, 2), Some(b"7".to_vec()));
}

#[test]
fn tokens_stay_and_are_compared() {
    let (_store, mut handle) = spilled();
    let cas = |handle: &StoreHandle| {
        let item = handle.get(&key(4), Access::Peek);
        item.map(|item| item.map(|item| item.cas()))
    };
    let token = handle.run_blocking(cas).unwrap().unwrap();
    let swap = |token| SetOptions {
        compare_cas: Some(token),
        ..SetOptions::default()
    };
    let outcome =
        handle.run_blocking(|handle| settled(handle.set(&key(4), b"x", &swap(token + 1))));
    assert_eq!(outcome.unwrap(), Ok(SetOutcome::Exists));
    let outcome = handle.run_blocking(|handle| settled(handle.set(&key(4), b"x", &swap(token))));
    assert!(matches!(outcome.unwrap(), Ok(SetOutcome::Stored { .. })));
    let wrong = DeleteOptions {
        compare_cas: Some(1),
        ..DeleteOptions::default()
    };
    let outcome = handle.run_blocking(|handle| handle.delete(&key(5), &wrong));
    assert_eq!(outcome.unwrap(), DeleteOutcome::Exists);
    handle.quiescent();
}

#[test]
fn set_add_replace_and_delete_read_nothing() {
    let (store, mut handle) = spilled();
    let reads = stats(&store).reads;
    set(&mut handle, 6, 1, 10);
    let add = SetOptions {
        mode: SetMode::Add,
        ..SetOptions::default()
    };
    assert_eq!(handle.set(&key(7), b"x", &add), Ok(SetOutcome::NotStored));
    let replace = SetOptions {
        mode: SetMode::Replace,
        ..SetOptions::default()
    };
    assert!(matches!(
        handle.set(&key(7), b"replaced", &replace),
        Ok(SetOutcome::Stored { .. })
    ));
    let plain = DeleteOptions::default();
    assert_eq!(handle.delete(&key(8), &plain), Ok(DeleteOutcome::Deleted));
    assert_eq!(handle.delete(&key(8), &plain), Ok(DeleteOutcome::NotFound));
    assert_eq!(stats(&store).reads, reads);
    assert_eq!(get(&mut handle, 6), Some(value(6, 1, 10)));
    assert_eq!(get(&mut handle, 7), Some(b"replaced".to_vec()));
    assert_eq!(get(&mut handle, 8), None);
}

#[test]
fn expired_and_flushed_items_are_gone() {
    let (store, mut handle) = spilled();
    assert!(get(&mut handle, 9).is_some());
    handle.set_now(500);
    let reads = stats(&store).reads;
    assert_eq!(get(&mut handle, 9), None);
    assert!(get(&mut handle, 100).is_some());
    handle.flush_all(None);
    assert_eq!(get(&mut handle, 100), None);
    assert!(stats(&store).reads <= reads + 1, "a miss reads nothing");
}

#[test]
fn a_batch_finds_what_lies_in_memory_and_on_the_device() {
    let (_store, handle) = spilled();
    let keys: Vec<Vec<u8>> = [1, 999, 5000, 2].map(key).to_vec();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let found = handle.run_blocking(|handle| {
        let mut found = Vec::new();
        handle.get_batch(&keys, Access::Use, &mut found)?;
        let lengths = found
            .iter()
            .map(|item| item.as_ref().map(|item| item.value().len()));
        Ok(lengths.collect::<Vec<_>>())
    });
    assert_eq!(found.unwrap(), [Some(1), Some(4000), None, Some(1)]);
}

#[test]
fn one_client_wins_the_recache_of_an_item_on_the_device() {
    let (_store, handle) = spilled();
    let claim = |handle: &StoreHandle| {
        handle
            .get(&key(10), Access::Peek)
            .map(|item| item.map(|item| item.claim_win()))
    };
    assert_eq!(handle.run_blocking(claim).unwrap(), Some(true));
    assert_eq!(handle.run_blocking(claim).unwrap(), Some(false));
    let is_sent = |handle: &StoreHandle| {
        handle
            .get(&key(10), Access::Peek)
            .map(|item| item.map(|item| item.is_win_sent()))
    };
    assert_eq!(handle.run_blocking(is_sent).unwrap(), Some(true));
}
