use super::*;
use crate::device::FaultyDevice;
use std::sync::Arc;

const SEGMENT_BYTES: u64 = 4096;

/// Slots of devices with so many slots that may be written.
fn slots(devices: &[u64]) -> Slots {
    let device = |&count| {
        let device = FaultyDevice::new((count + 1) * SEGMENT_BYTES);
        Arc::new(device) as Arc<dyn crate::device::Device>
    };
    let devices: Vec<_> = devices.iter().map(device).collect();
    Slots::new(&devices.into(), SEGMENT_BYTES)
}

fn take(slots: &Slots, run: u32, reach: Reach) -> Option<u32> {
    slots.open(run, reach, 1, Table::with_room(1, 1, None))
}

/// How many slots may be taken, each alone.
fn take_all(slots: &Slots, reach: Reach) -> usize {
    std::iter::from_fn(|| take(slots, 1, reach)).count()
}

#[test]
fn each_of_several_devices_keeps_slots_for_when_it_is_left_alone() {
    for gone in [0, 1] {
        let slots = slots(&[9, 4]);
        assert_eq!(slots.counts().0, 7);
        assert_eq!(take_all(&slots, Reach::Leaving(1)), 6);
        assert_eq!(take_all(&slots, Reach::Leaving(0)), 1);
        assert_eq!((slots.counts().0, slots.free_of_all()), (0, 6));
        slots.fail_device(gone);
        assert_eq!(slots.counts().0, 3, "nobody else is left");
        assert_eq!(take_all(&slots, Reach::Leaving(0)), 3);
    }
}

#[test]
fn what_devices_keep_is_taken_last_and_first_where_most_is_free() {
    let slots = slots(&[4, 10]);
    for _ in 0..8 {
        let slot = take(&slots, 1, Reach::All).unwrap();
        slots.empty(slot, &Epochs::new(0));
    }
    assert_eq!(slots.counts(), (0, 8));
    let taken = std::iter::from_fn(|| take(&slots, 1, Reach::All));
    let devices: Vec<_> = taken.map(|slot| slots.device_of(slot)).collect();
    for pair in devices.chunks(2) {
        assert!(pair == [0, 1] || pair == [1, 0], "{devices:?}");
    }
    assert_eq!(devices.len(), 6);
    slots.release(1, 1);
    assert_eq!((slots.counts().0, slots.free_of_all()), (0, 1));
}

#[test]
fn slots_in_a_row_leave_what_their_device_keeps() {
    let slots = slots(&[7, 6]);
    assert!(slots.has_run(4, 3) && !slots.has_run(4, 4) && !slots.has_run(5, 0));
    // The last device has three beside its own.
    assert_eq!(take(&slots, 4, Reach::Leaving(3)), Some(4));
    assert_eq!(take(&slots, 3, Reach::Leaving(0)), Some(12));
    assert!(!slots.has_run(1, 0));
    slots.fail_device(1);
    assert!(slots.has_run(3, 0) && !slots.has_run(4, 0));
}

#[test]
fn what_is_spared_is_taken_last() {
    let slots = slots(&[7]);
    slots.spare(2..4);
    let taken: Vec<_> = (0..7).map(|_| take(&slots, 1, Reach::All)).collect();
    assert_eq!(taken, [1, 4, 5, 6, 7, 2, 3].map(Some));
}
