//! Free slots that are not for everybody: what is kept for cleaning, and for tombstones.

use super::{Log, Source};
use crate::format::{HEADER_BYTES, TOMBSTONE_BYTES, TOMBSTONE_COPIES};
use crate::schedule::atomic::{AtomicU64, Ordering::*};
use crate::slots::Reach;

/// Slots that only cleaning may take: it needs somewhere to move items to before it can free what
/// they leave.
pub(crate) const CLEANER_SLOTS: u32 = 3;
/// Of the cleaner's slots, the ones that are only for tombstones whose writing frees slots.
pub(crate) const TOMBSTONE_SLOTS: u32 = 1;
/// Of the cleaner's slots, the ones that tombstones may not take whose writing frees no slot: the
/// segment that tells of them may be needed for long, and cleaning must still be possible.
const UNGAINFUL_SLOTS: u32 = 2;
/// Part of all slots that is kept for tombstones where nothing may be evicted.
const RESERVE_PART: u32 = 128;

/// One of the slots that devices keep, which a segment of tombstones may take if no other has: it
/// gives back what it takes only once it is durable.
#[derive(Default)]
pub(crate) struct Loan {
    /// The last segment that took one.
    given_to: AtomicU64,
    durable_through: AtomicU64,
}

impl Loan {
    /// The segment with this write number has taken one.
    pub fn give(&self, write_number: u64) {
        self.given_to.store(write_number, Release);
    }

    /// All segments up to this write number are durable.
    pub fn note_durable(&self, through: u64) {
        self.durable_through.store(through, Release);
    }

    /// Whether a segment has one that is not durable yet.
    pub fn is_out(&self) -> bool {
        self.given_to.load(Acquire) > self.durable_through.load(Acquire)
    }
}

impl Log {
    /// The free slots that a segment for what comes from there may take.
    pub(super) fn reach(&self, source: Source) -> Reach {
        match source {
            Source::Memory => Reach::Leaving(self.reserve()),
            Source::Cleaner => Reach::Leaving(TOMBSTONE_SLOTS),
            Source::Told => Reach::Leaving(UNGAINFUL_SLOTS),
            Source::Tombstones if self.loan.is_out() => Reach::Leaving(0),
            Source::Tombstones | Source::Gap => Reach::All,
        }
    }

    /// Free slots that are not for what leaves memory. Where nothing may be evicted, the more
    /// tombstones wait the more of them there must be.
    pub fn reserve(&self) -> u32 {
        match self.evicts {
            true => CLEANER_SLOTS,
            false => CLEANER_SLOTS + self.slots.count() / RESERVE_PART + self.tombstone_slots(),
        }
    }

    /// Segments that the tombstones fill which wait.
    fn tombstone_slots(&self) -> u32 {
        (self.tombstones.pending() / self.tombstone_room()) as u32
    }

    /// Tombstones that a segment has room for which tells of nothing else.
    pub fn tombstone_room(&self) -> usize {
        (self.slots.segment_bytes() as usize - HEADER_BYTES) / (TOMBSTONE_COPIES * TOMBSTONE_BYTES)
    }
}
