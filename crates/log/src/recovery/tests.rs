//! The log alone, with an owner that is a map.

use crate::device::{BUFFER_ALIGNMENT, Buffer, Device, FaultyDevice};
use crate::fixture::Map;
use crate::format::SegmentHeader;
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

/// What a newer segment has overwritten in part has died, but once that one has gone it would be
/// found again, and by then nobody would tell that it has.
#[test]
fn what_is_cut_off_is_erased() {
    let devices = [Arc::new(FaultyDevice::new(4 << 20))];
    let (map, flusher) = Map::open(&devices, Durability::Writeback);
    let appended = map.append(1, b"key", Source::Memory);
    assert_eq!(appended, Appended::Done);
    assert!(map.log.drain(PATIENCE));
    let place = map.place_of(1).expect("just appended");
    let (newer, older) = (place.slot(), map.log.slots.count() - 2);
    let offset = |slot| map.log.slots.offset_of(slot);
    let mut block = Buffer::new(BUFFER_ALIGNMENT);
    devices[0].read_at(&mut block, offset(newer)).unwrap();
    let header = SegmentHeader::decode(&block).expect("just written");
    // As if the older one had been a run up to where the newer one is now.
    devices[0].write_at(&block, offset(older + 1)).unwrap();
    let run = SegmentHeader {
        slots: 2,
        write_number: header.write_number - 1,
        ..header
    };
    run.encode(&mut block);
    devices[0].write_at(&block, offset(older)).unwrap();
    devices[0].sync().unwrap();
    drop((flusher, map));
    let (again, _flusher) = Map::open(&devices, Durability::Writeback);
    let offset = again.log.slots.offset_of(older);
    devices[0].read_at(&mut block, offset).unwrap();
    assert_eq!(SegmentHeader::decode(&block), None);
}

/// What looks at tables without being a participant relies on it.
#[test]
#[should_panic(expected = "recovered once")]
fn a_log_is_recovered_once() {
    let map = Map::at_rest();
    map.log.phases.begin_recovery();
}

/// Two would free tables at which the other looks.
#[test]
#[should_panic(expected = "one flusher")]
fn a_log_has_one_flusher() {
    let devices = [Arc::new(FaultyDevice::new(2 << 20))];
    let (map, _flusher) = Map::open(&devices, Durability::Writeback);
    map.log.phases.begin_flushing();
}
