//! The memory of all segments: one contiguous range, reserved at once.

use crate::index::Location;
use crate::item::{Fields, ITEM_ALIGNMENT, RawItem};
use crate::region::Region;
use crate::schedule::atomic::{AtomicBool, Ordering::SeqCst};
use farcache_base::time::NEVER;
use std::io;
use std::ptr::NonNull;

/// Bits of a location in memory; one above them says that a location is on a device.
const MEMORY_LOCATION_BITS: u32 = 40;
/// The largest range in which places are told apart, in bytes.
pub(super) const SPACE_BYTES_MAX: u64 = (ITEM_ALIGNMENT as u64) << MEMORY_LOCATION_BITS;

/// Bytes of the smallest filler: an item's header and a key of one byte, padded.
pub(crate) const FILLER_BYTES_MIN: usize = 12;

/// A byte offset in the space at which an item lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(pub u64);

impl Place {
    pub fn location(self) -> Location {
        Location::in_memory(self.0 / ITEM_ALIGNMENT as u64)
    }
}

/// The address space, which the kernel fills as it is used.
pub(super) struct Space {
    region: Region,
    segment_shift: u32,
    /// The network knows the memory's pages: they are not given back.
    keeps_pages: AtomicBool,
}

impl Space {
    /// Reserves so many segments of this size, which is a power of two.
    ///
    /// # Errors
    /// The kernel's.
    pub fn reserve(segments: u32, segment_bytes: u32, huge_pages: bool) -> io::Result<Space> {
        let bytes = u64::from(segments) * u64::from(segment_bytes);
        debug_assert!(segment_bytes.is_power_of_two() && bytes <= SPACE_BYTES_MAX);
        Ok(Space {
            region: Region::reserve(bytes as usize, huge_pages)?,
            segment_shift: segment_bytes.trailing_zeros(),
            keeps_pages: AtomicBool::new(false),
        })
    }

    #[inline]
    pub fn segment_bytes(&self) -> usize {
        1 << self.segment_shift
    }

    /// First place of a segment.
    #[inline]
    pub fn start(&self, segment: u32) -> Place {
        Place(u64::from(segment) << self.segment_shift)
    }

    /// Number of the segment in which a location lies.
    #[inline]
    pub fn segment_of(&self, location: Location) -> u32 {
        ((location.bits() * ITEM_ALIGNMENT as u64) >> self.segment_shift) as u32
    }

    /// Address of a place, for the one who owns what lies there.
    #[inline]
    pub fn address(&self, place: Place) -> *mut u8 {
        debug_assert!((place.0 as usize) < self.region.bytes());
        self.region.base().wrapping_add(place.0 as usize)
    }

    /// Address of a location, for prefetching.
    #[inline]
    pub fn address_of(&self, location: Location) -> *mut u8 {
        self.address(Place(location.bits() * ITEM_ALIGNMENT as u64))
    }

    /// Writes a filler of so many bytes, from [`FILLER_BYTES_MIN`] on: an item that is dead from
    /// its beginning, as it is never in the index.
    ///
    /// # Safety
    /// The bytes belong to the caller alone, who has them of the open segment that it fills.
    pub unsafe fn write_filler(&self, place: Place, bytes: usize) {
        let fields = Fields {
            expiry: NEVER,
            ..Fields::default()
        };
        let key = [0];
        let header_bytes = fields.layout(key.len(), 0).value_offset();
        let layout = fields.layout(key.len(), bytes - header_bytes);
        assert_eq!(layout.size(), bytes);
        // SAFETY: the bytes are the caller's alone, and as many as the layout has. The value is
        // never read.
        unsafe { RawItem::write_header(self.address(place), layout, &fields, &key, 0) };
    }

    /// From now on no page is given back. Returns the first byte.
    pub fn keep_pages(&self) -> NonNull<u8> {
        self.keeps_pages.store(true, SeqCst);
        NonNull::new(self.region.base()).expect("a mapping is never at 0")
    }

    /// Has the kernel back a segment with memory, so that whoever fills it need not wait for that.
    pub fn back(&self, segment: u32) {
        let start = self.start(segment).0 as usize;
        self.region.populate(start, self.segment_bytes());
    }

    /// Gives a segment's memory back to the system, unless pages are kept.
    ///
    /// # Safety
    /// Nobody refers to anything in the segment, nor writes there before this has ended.
    pub unsafe fn give_back(&self, segment: u32) {
        if self.keeps_pages.load(SeqCst) {
            return;
        }
        let start = self.start(segment).0 as usize;
        // SAFETY: by this function's contract.
        unsafe { self.region.release(start, self.segment_bytes()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_by_its_location() {
        let space = Space::reserve(4, 1 << 16, false).unwrap();
        let place = Place(space.start(2).0 + 400);
        assert_eq!(space.segment_of(place.location()), 2);
        assert_eq!(space.address_of(place.location()), space.address(place));
        let last = Place(space.start(3).0 - ITEM_ALIGNMENT as u64);
        assert_eq!(space.segment_of(last.location()), 2);
    }

    #[test]
    fn pages_are_given_back_unless_they_are_kept() {
        let space = Space::reserve(2, 1 << 16, false).unwrap();
        let second = space.address(space.start(1));
        let write_and_give_back = || {
            // SAFETY: in the second segment, which is this test's alone.
            unsafe {
                second.write(7);
                space.give_back(1);
                second.read()
            }
        };
        assert_eq!(write_and_give_back(), 0);
        space.keep_pages();
        assert_eq!(write_and_give_back(), 7);
    }

    #[test]
    fn a_filler_takes_all_its_room() {
        let space = Space::reserve(1, 1 << 16, false).unwrap();
        for bytes in [FILLER_BYTES_MIN, FILLER_BYTES_MIN + 4, 400] {
            // SAFETY: the space is this test's alone.
            let item = unsafe {
                space.write_filler(Place(64), bytes);
                RawItem::at(space.address(Place(64)))
            };
            assert_eq!(item.layout().size(), bytes);
        }
    }
}
