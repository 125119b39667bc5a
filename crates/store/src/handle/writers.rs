//! The segments that one thread has open, by the queue that they will be in.

use crate::segment::{Arena, Placed, Queue, RECLAIMER_SEGMENTS, Writer, is_large};
use std::cell::{RefCell, RefMut};

/// Segments of the store for each thread, below which threads open none for what comes back: an
/// open segment cannot be evicted, and is half empty in the mean.
const SEGMENTS_PER_THREAD: usize = 16;

/// One thread's open segments.
pub(crate) struct Writers {
    /// Of the probation queue: for what is new.
    new: RefCell<Writer>,
    /// Of the main queue: for what was evicted a short while ago.
    returned: Option<RefCell<Writer>>,
}

impl Writers {
    /// None is open yet; of a thread of so many.
    pub fn new(arena: &Arena, threads: usize) -> Writers {
        let of = |queue| RefCell::new(Writer::new(queue, RECLAIMER_SEGMENTS));
        let has_returned = arena.segment_count() as usize >= SEGMENTS_PER_THREAD * threads;
        Writers {
            new: of(Queue::Probation),
            returned: has_returned.then(|| of(Queue::Main)),
        }
    }

    /// For what is new, and for copies of what is there.
    #[inline]
    pub fn for_new(&self) -> RefMut<'_, Writer> {
        self.new.borrow_mut()
    }

    /// For what was evicted a short while ago, if this thread has segments for an item of this size.
    /// It has none for large items, which would hold several segments each.
    pub fn for_returned(&self, arena: &Arena, size: usize) -> Option<RefMut<'_, Writer>> {
        let is_small = !is_large(size, arena.segment_bytes());
        let returned = self.returned.as_ref().filter(|_| is_small);
        returned.map(RefCell::borrow_mut)
    }

    /// Takes back room that was placed last and never published.
    pub fn unplace(&self, arena: &Arena, placed: &Placed) {
        self.new.borrow_mut().unplace(arena, placed);
        if let Some(returned) = &self.returned {
            returned.borrow_mut().unplace(arena, placed);
        }
    }

    /// Seals every open segment, and all that were left with some room.
    pub fn seal_all(&self, arena: &Arena) {
        self.new.borrow_mut().seal_all(arena);
        if let Some(returned) = &self.returned {
            returned.borrow_mut().seal_all(arena);
        }
    }
}
