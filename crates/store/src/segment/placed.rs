//! Room for an item, and an item that has been written there.

use super::arena::Arena;
use super::space::Place;
use crate::index::Location;
use crate::item::{Fields, Layout, RawItem};
use farcache_base::time::Seconds;

/// Room for one item, which belongs to whoever was given it, once.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(super) place: Place,
    pub(super) head: u32,
    pub(super) size: usize,
    pub(super) class: usize,
}

impl Placed {
    /// The segment, or run, in which it lies.
    pub fn head(&self) -> u32 {
        self.head
    }

    /// Bytes of it.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Its first byte.
    pub fn address(&self, arena: &Arena) -> *mut u8 {
        arena.address(self.place)
    }

    /// An item that has been written there in another way than by [`Written::new`].
    ///
    /// # Safety
    /// All of the item is there, its value too, and stays for `'a` whatever becomes of the room.
    pub unsafe fn written<'a>(&self, arena: &'a Arena) -> Written<'a> {
        let location = self.place.location();
        Written {
            placed: Placed { ..*self },
            // SAFETY: by this function's contract.
            item: unsafe { arena.item(location) },
        }
    }
}

/// Room in which an item has been written, with its key and value: its location may enter the
/// index, if the room is not given back afterwards.
#[derive(Debug)]
pub(crate) struct Written<'a> {
    placed: Placed,
    item: RawItem<'a>,
}

impl<'a> Written<'a> {
    /// Writes an item whose value is the parts in a row.
    ///
    /// # Safety
    /// The room was placed in this arena, for an item of this layout, which is that of the fields,
    /// the key and the parts. It is not reused for `'a` but by who gives it back.
    #[inline]
    pub unsafe fn new(
        arena: &'a Arena,
        placed: Placed,
        layout: Layout,
        fields: &Fields,
        key: &[u8],
        parts: [&[u8]; 3],
        now: Seconds,
    ) -> Written<'a> {
        let address = placed.address(arena);
        // SAFETY: by this function's contract the header and the parts fill exactly the layout.
        let item = unsafe {
            let item = RawItem::write_header(address, layout, fields, key, now);
            let mut end = address.add(layout.value_offset());
            for part in parts {
                end.copy_from_nonoverlapping(part.as_ptr(), part.len());
                end = end.add(part.len());
            }
            item
        };
        Written { placed, item }
    }

    /// The item.
    #[inline]
    pub fn item(&self) -> RawItem<'a> {
        self.item
    }

    /// Where it lies.
    #[inline]
    pub fn location(&self) -> Location {
        self.placed.place.location()
    }

    /// The segment, or run, in which it lies.
    #[inline]
    pub fn head(&self) -> u32 {
        self.placed.head
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        self.placed.size
    }

    /// Its room, to be given back.
    pub fn into_placed(self) -> Placed {
        self.placed
    }
}
