//! Where an item lies: in memory, in units that the arena chooses, or on a device.
//!
//! | bits of a location | content |
//! |---|---|
//! | 42 | 1: on a device |
//! | 17 to 41 | slot, of one on a device |
//! | 0 to 16 | number of the item in the slot's segment, of one on a device |

/// Bits of a location.
pub const LOCATION_BITS: u32 = 43;

const ON_DEVICE: u64 = 1 << 42;
const ITEM_BITS: u32 = 17;
/// Slots that can be told apart: with 1 MiB each, 35,184 GB.
pub const SLOTS_MAX: u64 = 1 << 25;
/// Items of one segment that can be told apart.
pub const ITEMS_MAX: u32 = 1 << ITEM_BITS;

/// Where an item lies; at most [`LOCATION_BITS`] bits.
///
/// An address, which promises nothing: that an item lies there is what whoever puts it into the
/// index vouches for, and that it still does what whoever looks there does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location(u64);

impl Location {
    /// The one that [`Location::bits`] stand for; bits above [`LOCATION_BITS`] are none of it.
    #[inline]
    pub fn from_bits(bits: u64) -> Location {
        Location(bits & ((1 << LOCATION_BITS) - 1))
    }

    /// The place of an item in memory, in the arena's units.
    #[inline]
    pub fn in_memory(unit: u64) -> Location {
        debug_assert!(unit < ON_DEVICE);
        Location(unit)
    }

    /// What it is kept as.
    #[inline]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The place of an item on a device.
    #[inline]
    pub fn on_device(slot: u32, item: u32) -> Location {
        debug_assert!(u64::from(slot) < SLOTS_MAX && item < ITEMS_MAX);
        Location(ON_DEVICE | u64::from(slot) << ITEM_BITS | u64::from(item))
    }

    /// Whether it is on a device; else it is in memory.
    #[inline]
    pub fn is_on_device(self) -> bool {
        self.0 & ON_DEVICE != 0
    }

    /// The slot, of a location on a device.
    #[inline]
    pub fn slot(self) -> u32 {
        ((self.0 & !ON_DEVICE) >> ITEM_BITS) as u32
    }

    /// The item's number in its segment, of a location on a device.
    #[inline]
    pub fn item(self) -> u32 {
        self.0 as u32 & (ITEMS_MAX - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_location_fits_and_comes_apart_again() {
        let location = Location::on_device(SLOTS_MAX as u32 - 1, ITEMS_MAX - 1);
        assert!(location.0 < 1 << LOCATION_BITS && location.is_on_device());
        assert_eq!(location.slot(), SLOTS_MAX as u32 - 1);
        assert_eq!(location.item(), ITEMS_MAX - 1);
        assert_eq!(Location::from_bits(location.bits() | 1 << 43), location);
        assert!(!Location::in_memory((1 << 42) - 1).is_on_device());
    }
}
