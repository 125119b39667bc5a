//! The log alone, with an owner that is a map.

use crate::device::FaultyDevice;
use crate::fixture::Map;
use crate::log::{Appended, Source};
use crate::options::Durability;
use std::sync::Arc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn what_was_appended_and_not_removed_is_found_again() {
    let devices = [4, 3].map(|mib| Arc::new(FaultyDevice::new(mib << 20)));
    let (map, flusher) = Map::open(&devices, Durability::Writeback);
    for number in 0..3000 {
        let key = format!("key {number}");
        while map.append(number, key.as_bytes(), Source::Memory) != Appended::Done {
            map.log.wait_for_progress(Duration::from_millis(1));
        }
    }
    assert!(map.log.drain(PATIENCE));
    // Of these the next segment alone tells.
    (0..3000).step_by(3).for_each(|number| map.remove(number));
    assert!(map.log.drain(PATIENCE));
    let left = map.hashes();
    assert_eq!(left.len(), 2000);
    drop((flusher, map));
    let (again, _flusher) = Map::open(&devices, Durability::Writeback);
    assert_eq!(again.hashes(), left);
    let stats = again.log.stats();
    assert_eq!((stats.items, stats.items_recovered), (2000, 2000));
}
