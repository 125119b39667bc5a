//! The segments that one thread has open, by the queue that they will be in.

use crate::segment::{Arena, Placed, Queue, RECLAIMER_SEGMENTS, Writer};
use std::cell::{RefCell, RefMut};

/// Stores with fewer segments have no open segments for what comes back: one of each thread would
/// be too much of their memory.
const SEGMENTS_FOR_RETURNED: u32 = 256;

/// One thread's open segments.
pub(crate) struct Writers {
    /// Of the probation queue: for what is new.
    new: RefCell<Writer>,
    /// Of the main queue: for what was evicted a short while ago.
    returned: RefCell<Writer>,
}

impl Writers {
    /// None is open yet.
    pub fn new() -> Writers {
        let of = |queue| RefCell::new(Writer::new(queue, RECLAIMER_SEGMENTS));
        Writers {
            new: of(Queue::Probation),
            returned: of(Queue::Main),
        }
    }

    /// For what is new, and copies of what is there.
    #[inline]
    pub fn for_new(&self) -> RefMut<'_, Writer> {
        self.new.borrow_mut()
    }

    /// For what was evicted a short while ago; none in a small store.
    pub fn for_returned(&self, arena: &Arena) -> Option<RefMut<'_, Writer>> {
        let is_large = arena.segment_count() >= SEGMENTS_FOR_RETURNED;
        is_large.then(|| self.returned.borrow_mut())
    }

    /// Takes back room that was placed last and never published.
    pub fn unplace(&self, arena: &Arena, placed: &Placed) {
        let writer = match placed.queue() {
            Queue::Probation => &self.new,
            Queue::Main => &self.returned,
        };
        writer.borrow_mut().unplace(arena, placed);
    }

    /// Seals every open segment, and all that were left with some room.
    pub fn seal_all(&self, arena: &Arena) {
        self.new.borrow_mut().seal_all(arena);
        self.returned.borrow_mut().seal_all(arena);
    }
}
