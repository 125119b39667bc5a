use super::*;
use crate::device::FaultyDevice;
use crate::options::StoreConfig;
use crate::store::Store;
use crate::tier::TierConfig;

const SEGMENT_BYTES: u32 = 64 << 10;

fn store() -> Arc<Store> {
    let config = StoreConfig {
        memory_bytes: 1 << 20,
        segment_bytes: SEGMENT_BYTES,
        huge_pages: false,
        ..StoreConfig::default()
    };
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        ..TierConfig::new(vec![Arc::new(FaultyDevice::new(2 << 20))])
    };
    Store::open(config, tier).unwrap()
}

/// Else it could be full before the tombstones have been told that give slots back, with no slot
/// left to tell them in.
#[test]
fn what_leaves_memory_stays_out_of_a_slot_that_is_kept_for_tombstones() {
    let store = store();
    let core = &*store.core;
    let tier = core.tier.as_ref().unwrap();
    let incoming = Incoming {
        hash: 1,
        key: b"key",
        value: b"value",
        fields: Fields::default(),
        state: State::default(),
    };
    let append = |source| tier.append(core, &incoming, source, |_| true);
    assert!(tier.open_for_tombstones(core, Source::Tombstones));
    assert_eq!(append(Source::Memory), Appended::Busy);
    assert_eq!(append(Source::Cleaner), Appended::Done);
    tier.seal_open();
    assert_eq!(append(Source::Memory), Appended::Done);
}

#[test]
fn a_segment_takes_more_items_than_its_table_had_room_for_at_first() {
    let store = store();
    let core = &*store.core;
    let tier = core.tier.as_ref().unwrap();
    let key = |number: usize| format!("key {number}").into_bytes();
    let mut places = Vec::new();
    for number in 0..8 * ITEM_ROOM_MIN {
        let incoming = Incoming {
            hash: number as u64,
            key: &key(number),
            value: b"value",
            fields: Fields::default(),
            state: State::default(),
        };
        let note = |place| {
            places.push(place);
            true
        };
        let appended = tier.append(core, &incoming, Source::Memory, note);
        assert_eq!(appended, Appended::Done);
    }
    assert_eq!(places[0].slot(), places.last().unwrap().slot());
    for (number, place) in places.into_iter().enumerate() {
        let expected = tier.fingerprint(&key(number));
        assert_eq!(tier.fingerprint_at(place), Some(expected));
        let item = tier.in_buffer(place).expect("not written yet");
        assert_eq!(item.key(), key(number));
    }
    // The next one has room for as many from the beginning.
    tier.seal_open();
    assert!(tier.open_for_tombstones(core, Source::Memory));
    assert!(tier.assembler().open.as_ref().unwrap().item_room >= 8 * ITEM_ROOM_MIN);
}
