//! How many segments are kept ready for writers.

use crate::segment::RECLAIMER_SEGMENTS;

/// Part of all segments that is kept free, and its bounds.
const FREE_PART: u32 = 128;
const FREE_MIN: u32 = 1;
const FREE_MAX: u32 = 32;
/// Part of all segments that is free or can be emptied at once, and its bounds, above devices:
/// where what leaves memory is written first, emptying takes as long as the device does.
const READY_PART: u32 = 16;
const READY_MIN: u32 = 4;
const READY_MAX: u32 = 512;

/// Free segments that are kept, of so many.
pub(crate) fn low_water(allowed: u32) -> u32 {
    (allowed / FREE_PART).clamp(FREE_MIN, FREE_MAX) + RECLAIMER_SEGMENTS
}

/// Segments that are to be free or ready to be emptied without writing, of so many.
pub(crate) fn wanted_above_devices(allowed: u32) -> u32 {
    (allowed / READY_PART).clamp(READY_MIN, READY_MAX) + RECLAIMER_SEGMENTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_stores_keep_some_for_writers() {
        assert_eq!([8, 1280, 1 << 20].map(low_water), [3, 12, 34]);
        assert_eq!([8, 160, 1 << 20].map(wanted_above_devices), [6, 12, 514]);
    }
}
