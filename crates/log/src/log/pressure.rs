//! Whether there is room, as the flusher and whoever brings items tell each other.

use crate::schedule::atomic::{AtomicBool, Ordering::*};

/// What they tell.
#[derive(Default)]
pub(crate) struct Pressure {
    is_full: AtomicBool,
    is_room_wanted: AtomicBool,
    is_at_rest: AtomicBool,
    is_short_of_tombstone_slots: AtomicBool,
}

impl Pressure {
    /// Nothing can be written, and nothing will come free.
    pub fn is_full(&self) -> bool {
        self.is_full.load(Acquire)
    }

    pub fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Release);
    }

    /// Somebody found no slot to write to.
    pub fn is_room_wanted(&self) -> bool {
        self.is_room_wanted.load(Acquire)
    }

    pub fn set_room_wanted(&self, is_wanted: bool) {
        self.is_room_wanted.store(is_wanted, Release);
    }

    /// Memory has been written out, and nothing has come since.
    pub fn is_at_rest(&self) -> bool {
        self.is_at_rest.load(Acquire)
    }

    pub fn set_at_rest(&self, is_at_rest: bool) {
        self.is_at_rest.store(is_at_rest, Release);
    }

    /// Tombstones wait to be told, and no slot can be spared for them.
    pub fn is_short_of_tombstone_slots(&self) -> bool {
        self.is_short_of_tombstone_slots.load(Acquire)
    }

    pub fn set_short_of_tombstone_slots(&self, is_short: bool) {
        self.is_short_of_tombstone_slots.store(is_short, Release);
    }
}
