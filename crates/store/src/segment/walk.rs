//! Going through the items of a segment.

use super::arena::Arena;
use crate::index::Location;
use crate::item::{ITEM_ALIGNMENT, RawItem};

/// What is left to be seen of a filling that is complete: from where an item, or filler, begins to
/// the end of what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    /// Both in units of locations.
    next: u64,
    end: u64,
}

impl Walk {
    /// All of a segment, or run, that is not being filled any more.
    pub fn through(arena: &Arena, head: u32) -> Walk {
        let start = arena.start(head).location().bits();
        let written = u64::from(arena.meta(head).written()) / ITEM_ALIGNMENT as u64;
        Walk {
            next: start,
            end: start + written,
        }
    }

    pub fn is_over(&self) -> bool {
        self.next >= self.end
    }

    /// The next item, or filler.
    ///
    /// # Safety
    /// The segment still has the filling with which the walk began, and that is being emptied by
    /// the caller, who does not use the item after the segment has been retired. Or it was in
    /// service after this participant's last quiescent point, and the item is not used after the
    /// next one.
    pub unsafe fn next<'a>(&mut self, arena: &'a Arena) -> Option<(Location, RawItem<'a>)> {
        if self.is_over() {
            return None;
        }
        let location = Location::in_memory(self.next);
        // SAFETY: items follow one another from the start of a segment to what is written of it,
        // and the caller vouches for the segment.
        let item = unsafe { arena.item(location) };
        self.next += (item.layout().size() / ITEM_ALIGNMENT) as u64;
        Some((location, item))
    }
}
