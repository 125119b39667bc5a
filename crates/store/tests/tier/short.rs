//! Memory for reads that runs short: who waits for it, and that everybody can tell.

use crate::common::*;
use farcache_store::*;

/// Four reads of such values take all memory for reads.
const VALUE_BYTES: usize = 200_000;
const READ_BYTES: usize = 1 << 20;
const FIT: u32 = 4;

/// A store of which the first values are on the device only.
fn spilled() -> std::sync::Arc<Store> {
    let device = device(32 << 20);
    let tier = TierConfig {
        read_buffer_bytes: READ_BYTES,
        ..tier(&device)
    };
    let store = Store::open(config(4 << 20), tier).unwrap();
    let mut handle = store.handle();
    (0..60).for_each(|number| set(&mut handle, number, 0, VALUE_BYTES));
    store
}

/// Starts the read of a key that is on the device.
fn start(handle: &mut StoreHandle, number: u32) -> ReadId {
    eventually("the item is on the device", || {
        handle.forget_reads();
        let must_be_read = handle.get(&key(number), Access::Peek).is_err();
        handle.quiescent();
        must_be_read
    });
    handle.start_reads().unwrap()
}

fn await_reads(handle: &StoreHandle, mut count: usize) {
    let mut done = Vec::new();
    eventually("the reads have ended", || {
        handle.poll_reads(&mut done);
        count -= done.drain(..).count();
        count == 0
    });
}

#[test]
fn who_waits_for_memory_is_known_to_all_until_it_has_some_or_goes() {
    let store = spilled();
    let (mut first, mut second) = (store.handle(), store.handle());
    let kept: Vec<ReadId> = (0..FIT).map(|number| start(&mut first, number)).collect();
    await_reads(&first, kept.len());
    assert!(!first.is_read_memory_short(), "nobody waits");
    assert_eq!(stats(&store).read_bytes_held, READ_BYTES as u64);

    start(&mut second, FIT);
    second.poll_reads(&mut Vec::new());
    assert!(second.reads_await_memory());
    assert!(first.is_read_memory_short() && second.is_read_memory_short());
    first.cancel_reads(kept[0]);
    await_reads(&second, 1);
    assert!(!first.is_read_memory_short(), "there was enough for it");

    start(&mut second, FIT + 1);
    second.poll_reads(&mut Vec::new());
    assert!(first.is_read_memory_short());
    drop(second);
    assert!(!first.is_read_memory_short(), "it has gone");
    kept[1..].iter().for_each(|&id| first.cancel_reads(id));
    drop(first);
    assert_eq!(stats(&store).read_bytes_held, 0);
}
