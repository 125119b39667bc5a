use super::*;
use crate::fixture::{Map, SEGMENT_BYTES, incoming};
use crate::log::open_segment::ITEM_ROOM_MIN;

/// Else it could be full before the tombstones have been told that give slots back, with no slot
/// left to tell them in.
#[test]
fn what_leaves_memory_stays_out_of_a_slot_that_is_kept_for_tombstones() {
    let map = Map::at_rest();
    let append = |source| map.append(1, b"key", source);
    assert!(map.log.open_for_tombstones(&map, Source::Tombstones));
    assert_eq!(append(Source::Memory), Appended::Busy);
    assert_eq!(append(Source::Cleaner), Appended::Done);
    map.log.seal_open();
    assert_eq!(append(Source::Memory), Appended::Done);
}

#[test]
fn a_segment_takes_more_items_than_its_table_had_room_for_at_first() {
    let map = Map::at_rest();
    let log = &map.log;
    let key = |number: u64| format!("key {number}").into_bytes();
    let count = 8 * ITEM_ROOM_MIN as u64;
    for number in 0..count {
        let appended = map.append(number, &key(number), Source::Memory);
        assert_eq!(appended, Appended::Done);
    }
    let place = |number| map.place_of(number).expect("just appended");
    assert_eq!(place(0).slot(), place(count - 1).slot());
    for number in 0..count {
        let expected = log.fingerprint(&key(number));
        map.looking(|guard| {
            assert_eq!(log.fingerprint_at(guard, place(number)), Some(expected));
            // SAFETY: the map has the place, of which appending has told it.
            let item = unsafe { log.in_buffer(guard, place(number)) };
            assert_eq!(item.expect("not written yet").key(), key(number));
        });
    }
    // The next one has room for as many from the beginning.
    log.seal_open();
    assert!(log.open_for_tombstones(&map, Source::Memory));
    assert!(log.assembler().open.as_ref().unwrap().item_room >= count as usize);
}

/// Else the segment would hide a dead one that lay there, and its end would be forgotten: once
/// something else has taken the first slot, that one would be back.
#[test]
fn a_run_that_is_not_needed_any_more_gives_back_what_is_not_written() {
    let map = Map::at_rest();
    let log = &map.log;
    let (free, _) = log.slots.counts();
    let value = vec![0; 2 * SEGMENT_BYTES as usize];
    let large = Incoming {
        value: &value,
        ..incoming(1, b"large")
    };
    let appended = log.append(&map, &large, Source::Memory, |_| false);
    assert_eq!(appended, Appended::Gone);
    assert_eq!(log.slots.counts().0, free - 3);
    assert_eq!(map.append(2, b"key", Source::Memory), Appended::Done);
    log.seal_open();
    assert_eq!(log.slots.counts().0, free - 1);
    let slots: Vec<u32> = log
        .flusher
        .queue()
        .jobs
        .iter()
        .map(|job| job.header.slots)
        .collect();
    assert_eq!(slots, [1]);
    let place = map.place_of(2).expect("just appended");
    assert_eq!(log.slots.slot(place.slot()).run(), 1);
}
