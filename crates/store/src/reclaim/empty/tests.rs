use super::*;
use crate::options::{Access, SetOptions, StoreConfig};
use crate::reclaimer::patience::Patience;
use crate::store::Store;
use farcache_log::{Device, Durability, EngineChoice, TierConfig};
use std::io;
use std::sync::{Arc, Condvar, Mutex};

/// The item at a location that has just been found in the index.
fn item_at(core: &Core, location: Location) -> RawItem<'_> {
    // SAFETY: these tests use what they find before anything can be reused.
    unsafe { core.arena.item(location) }
}

/// The thread that empties a segment finds an item expired; a client that still saw the item gives
/// it a later expiry before it is dropped.
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
    let item = item_at(core, location);
    assert!(handle.touch(key, 200, Access::Peek).unwrap().is_some());
    core.advance_clock(150);
    assert!(!core.drop_item(handle.guard(), candidate, item, true));
    assert!(core.index.has(hash, location));
    core.advance_clock(200);
    assert!(core.drop_item(handle.guard(), candidate, item, true));
    assert!(!core.index.has(hash, location));
}

/// What is evicted leaves a ghost; what has expired does not, nobody misses it.
#[test]
fn an_evicted_item_counts_as_used_when_it_comes_back_and_an_expired_one_does_not() {
    let config = StoreConfig {
        memory_bytes: 1 << 20,
        segment_bytes: 64 << 10,
        huge_pages: false,
        ..StoreConfig::default()
    };
    let store = Store::new(config).unwrap();
    let core = &*store.core;
    let handle = store.handle();
    core.ghosts.fit(1000, 1 << 20);
    let frequency_of_the_next = |is_void: bool| {
        let key: &[u8] = if is_void { b"expired" } else { b"evicted" };
        handle.set(key, b"1", &SetOptions::set(0, 100)).unwrap();
        let hash = core.hash(key);
        let location = core.index.find(hash, Some).unwrap();
        core.advance_clock(if is_void { 150 } else { 50 });
        let item = item_at(core, location);
        assert_eq!(item.state().frequency(), 0);
        assert!(core.drop_item(handle.guard(), Candidate { location, hash }, item, is_void));
        handle.set(key, b"2", &SetOptions::default()).unwrap();
        let location = core.index.find(hash, Some).unwrap();
        item_at(core, location).state().frequency()
    };
    assert_eq!(frequency_of_the_next(false), 2);
    assert_eq!(frequency_of_the_next(true), 0);
}

/// A device whose writes do not end while it is held.
#[derive(Default)]
struct HeldDevice {
    is_held: Mutex<bool>,
    released: Condvar,
}

impl HeldDevice {
    const BYTES: u64 = 4 << 20;

    fn hold(&self, is_held: bool) {
        *self.is_held.lock().unwrap() = is_held;
        self.released.notify_all();
    }
}

/// Eight segments of memory over a device with room for two in its buffers.
fn store_over(device: &Arc<HeldDevice>, durability: Durability) -> Arc<Store> {
    let config = StoreConfig {
        memory_bytes: 512 << 10,
        segment_bytes: 64 << 10,
        huge_pages: false,
        ..StoreConfig::default()
    };
    let tier = TierConfig {
        segment_bytes: 64 << 10,
        durability,
        write_buffers: 2,
        engine: EngineChoice::Threads,
        ..TierConfig::new(vec![Arc::clone(device) as Arc<dyn Device>])
    };
    Store::open(config, tier).unwrap()
}

struct Release<'d>(&'d HeldDevice);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.hold(false);
    }
}

impl Device for HeldDevice {
    fn name(&self) -> String {
        "held".into()
    }

    fn bytes(&self) -> u64 {
        HeldDevice::BYTES
    }

    fn block_bytes(&self) -> usize {
        512
    }

    fn read_at(&self, buffer: &mut [u8], _: u64) -> io::Result<()> {
        buffer.fill(0);
        Ok(())
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        let is_held = self.is_held.lock().unwrap();
        drop(self.released.wait_while(is_held, |is_held| *is_held));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Each of them waited as long as the first before.
#[test]
fn items_do_not_wait_for_a_device_that_stands_still_one_after_the_other() {
    let device = Arc::new(HeldDevice::default());
    let store = store_over(&device, Durability::Writeback);
    let core = &*store.core;
    let waits = || core.tier.as_ref().unwrap().counters().waits.get();
    device.hold(true);
    // Whatever happens: without its device the store does not end.
    let _release = Release(&device);
    let mut handle = store.handle();
    let mut stored = 0;
    let mut store_one = || {
        let key = format!("key {stored}");
        handle
            .set(key.as_bytes(), &[b'v'; 1000], &SetOptions::default())
            .unwrap();
        handle.quiescent();
        stored += 1;
        core.hash(key.as_bytes())
    };
    // The buffers fill up.
    let spill = |hash| {
        let location = core.index.find(hash, Some).unwrap();
        let attendance = core.attend_as_flusher();
        core.spill(attendance.guard(), hash, location, item_at(core, location))
    };
    while spill(store_one()) == Spilled::Done {}
    core.reclaimer.state().patience = Patience::exhausted();
    while store.stats().evictions < 100 {
        store_one();
        assert_eq!(waits(), 0);
    }
}

/// With a device what is evicted has nothing to come back to: ghosts are off.
#[test]
fn what_is_evicted_beside_a_device_leaves_no_ghost() {
    let device = Arc::new(HeldDevice::default());
    let store = store_over(&device, Durability::Cache);
    let core = &*store.core;
    device.hold(true);
    let _release = Release(&device);
    let mut handle = store.handle();
    let key = |number: u32| format!("key {number}").into_bytes();
    let mut numbers = 0..;
    while store.stats().evictions < 1000 {
        let number = numbers.next().expect("there is a next one");
        handle
            .set(&key(number), &[b'v'; 1000], &SetOptions::default())
            .unwrap();
        handle.quiescent();
    }
    let mut stored = 0..numbers.start;
    assert!(stored.all(|number| !core.ghosts.take(core.hash(&key(number)))));
}
