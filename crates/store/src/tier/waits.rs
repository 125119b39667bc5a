//! For how long the flusher waits, told in the times that it asks for: so tests can hold it to a
//! bound whatever else their machine does.

use crate::options::{SetOptions, StoreConfig};
use crate::store::Store;
use farcache_log::{Device, Durability, Fault, FaultyDevice, TierConfig};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

/// What clients are promised: an error within this time once the last device has failed.
const PROMISED: Duration = Duration::from_secs(1);

const PATIENCE: Duration = Duration::from_secs(60);

fn open(device: &Arc<FaultyDevice>) -> Arc<Store> {
    let config = StoreConfig {
        memory_bytes: 1 << 20,
        segment_bytes: 64 << 10,
        huge_pages: false,
        ..StoreConfig::default()
    };
    let tier = TierConfig {
        segment_bytes: 64 << 10,
        durability: Durability::Sync,
        ..TierConfig::new(vec![Arc::clone(device) as Arc<dyn Device>])
    };
    Store::open(config, tier).unwrap()
}

/// Between the change and the news that it is lost the flusher waits for less than that, apart from
/// what the device takes to fail.
#[test]
fn who_waits_when_the_last_device_fails_is_told_within_the_promised_time() {
    type Failure = fn(&FaultyDevice);
    let failures: [Failure; 3] = [
        |device| device.set_gone(true),
        |device| device.fail_syncs(true),
        |device| {
            let next = device.writes();
            (next..next + 1000).for_each(|write| {
                device.fail_write(write, Fault::Error);
            });
        },
    ];
    for (how, fail) in failures.into_iter().enumerate() {
        let device = Arc::new(FaultyDevice::new(4 << 20));
        let store = open(&device);
        let mut handle = store.handle();
        let log = store.core.tier.as_ref().unwrap();
        let change = |handle: &mut crate::StoreHandle| {
            let value = [b'v'; 2000];
            for number in 0..20 {
                let key = format!("key {number}");
                handle
                    .set(key.as_bytes(), &value, &SetOptions::default())
                    .unwrap();
            }
            let mark = handle.durable_mark();
            handle.park();
            mark
        };
        let wait_until = |what: &str, holds: &dyn Fn() -> bool| {
            let deadline = Instant::now() + PATIENCE;
            while !holds() {
                assert!(Instant::now() < deadline, "{what}, {how}");
                std::thread::yield_now();
            }
        };
        let mark = change(&mut handle);
        wait_until("durable", &|| handle.is_durable(mark));
        fail(&device);
        let before = log.waited();
        let mark = change(&mut handle);
        let noted = log.waited();
        wait_until("lost", &|| handle.is_lost(mark));
        let before_loss = store.core.dirty.waited_before_loss_us.load(SeqCst);
        let waited = Duration::from_micros(before_loss).saturating_sub(noted);
        assert!(before <= noted);
        assert!(waited < PROMISED, "{waited:?}, failure {how}");
    }
}
