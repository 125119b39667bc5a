//! What lies on the devices, whether it counts or not.

use crate::format::{Tombstone, WHOLE_SEGMENT};
use std::collections::HashSet;

/// What lies on the devices, as far as writing goes.
pub(crate) struct Physical {
    /// Write numbers of the segments that a scan would find, dead or not.
    pub numbers: HashSet<u64>,
    /// The dead ones: their end as a whole has been told, or will be before any of their slots is
    /// used again.
    pub dead: HashSet<u64>,
    /// The write number of the segment in each slot; 0 for none.
    pub of_slot: Vec<u64>,
}

impl Physical {
    /// Whether a tombstone must go on being told, because what died is still there.
    pub fn needs(&self, tombstone: &Tombstone) -> bool {
        let number = &tombstone.write_number;
        let is_told = tombstone.item != WHOLE_SEGMENT && self.dead.contains(number);
        self.numbers.contains(number) && !is_told
    }

    /// A segment has been overwritten.
    pub fn forget(&mut self, number: u64) {
        self.numbers.remove(&number);
        self.dead.remove(&number);
    }
}

/// What opening a log has found, for its flusher to go on from.
pub struct Recovered {
    /// What lies on the devices.
    pub(crate) physical: Physical,
    /// The last write number.
    pub(crate) last: u64,
}
