use crate::device::FaultyDevice;
use crate::fixture::Map;
use crate::log::Source;
use crate::options::Durability;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// Where not one slot of the survivor is free, what a device that is gone told of cannot be told,
/// and no slot comes free.
#[test]
fn no_device_stays_in_service_where_what_is_missing_cannot_be_noted() {
    let devices: Vec<_> = (0..2)
        .map(|_| Arc::new(FaultyDevice::new(2 << 20)))
        .collect();
    let (map, _flusher) = Map::open(&devices, Durability::Sync);
    let slots = &map.log.slots;
    for slot in slots.of_device(0).skip(1) {
        assert!(slots.hold(slot, 1));
    }
    devices[1].set_gone(true);
    map.append(1, b"key", Source::Memory);
    map.log.seal_open();
    let deadline = Instant::now() + PATIENCE;
    while map.log.is_in_service() {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
}
