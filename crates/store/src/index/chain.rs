//! One chain of buckets, locked: entries are added, replaced and removed.

use super::bucket::{Bucket, Location, Slot};
use super::{Index, bucket_number};
use crate::sync::{Ordering, spin_loop};

/// The first bucket of a chain, locked. Unlocks when dropped.
pub(crate) struct LockedChain<'i> {
    index: &'i Index,
    head: &'i Bucket,
    tag: u64,
}

/// A slot of a locked chain, for as long as that is borrowed, and so locked.
#[derive(Clone, Copy)]
pub(crate) struct SlotPlace<'l> {
    bucket: &'l Bucket,
    number: usize,
}

pub(super) fn lock_bucket(bucket: &Bucket) {
    while !bucket.try_lock() {
        spin_loop();
    }
}

impl<'i> LockedChain<'i> {
    pub(super) fn lock(index: &'i Index, hash: u64) -> LockedChain<'i> {
        loop {
            let number = bucket_number(hash, index.count.load(Ordering::Acquire));
            let head = index.table.bucket(number);
            lock_bucket(head);
            let chain = LockedChain {
                index,
                head,
                tag: index.tag(hash),
            };
            if bucket_number(hash, index.count.load(Ordering::Acquire)) == number {
                return chain;
            }
        }
    }

    /// The first entry accepted among those whose tag fits.
    pub fn find(
        &self,
        mut accept: impl FnMut(Location) -> bool,
    ) -> Option<(SlotPlace<'_>, Location)> {
        let mut bucket = self.head;
        loop {
            let mut hits = bucket.matches(self.tag);
            while hits != 0 {
                let number = hits.trailing_zeros() as usize;
                hits &= hits - 1;
                let location = bucket.slot(number).location();
                if accept(location) {
                    return Some((SlotPlace { bucket, number }, location));
                }
            }
            bucket = self.index.overflow.bucket(bucket.control().next()?);
        }
    }

    /// Whether an entry of this hash points at exactly this location, and where.
    pub fn place_of(&self, location: Location) -> Option<SlotPlace<'_>> {
        self.find(|candidate| candidate == location)
            .map(|(place, _)| place)
    }

    /// Points an entry at another location.
    ///
    /// # Safety
    /// As for [`LockedChain::insert`].
    pub unsafe fn replace(&self, place: SlotPlace<'_>, location: Location) {
        place
            .bucket
            .set_slot(place.number, Slot::new(self.tag, location));
    }

    /// Removes an entry.
    pub fn remove(&self, place: SlotPlace<'_>) {
        place.bucket.set_slot(place.number, Slot::EMPTY);
        if self.head.control().next().is_some() {
            self.fill_hole(place);
        }
    }

    /// Removes an entry of an item that has another one. A reader may have looked for the other
    /// before it was there, and for this one after it has gone: it looks again.
    pub fn remove_one_of_two(&self, place: SlotPlace<'_>) {
        self.head.bump_version();
        self.head.bump_version();
        self.remove(place);
    }

    /// Moves the last entry of the chain into a hole and frees the last bucket if that empties it:
    /// otherwise each chain would keep the length that it once had.
    fn fill_hole(&self, hole: SlotPlace<'_>) {
        let (mut before_last, mut last, mut last_number) = (self.head, self.head, None);
        while let Some(next) = last.control().next() {
            (before_last, last, last_number) = (last, self.index.overflow.bucket(next), Some(next));
        }
        let Some(last_number) = last_number else {
            return;
        };
        self.head.bump_version();
        if !std::ptr::eq(last, hole.bucket)
            && let Some(number) = last.occupied().next()
        {
            hole.bucket.set_slot(hole.number, last.slot(number));
            last.set_slot(number, Slot::EMPTY);
        }
        if last.occupied().next().is_none() {
            before_last.set_next(None);
            self.index.overflow.give_back(last_number);
        }
        self.head.bump_version();
    }

    /// Adds an entry; false where even the overflow buckets are used up.
    ///
    /// # Safety
    /// Whoever finds the location from now on may look at what lies there. In memory that is an
    /// item that has been written, all of it: its room is not given back as long as the index has
    /// the location, and its segment is retired afterwards. On a device it is a record of which the
    /// log has told.
    #[must_use]
    pub unsafe fn insert(&self, location: Location) -> bool {
        let slot = Slot::new(self.tag, location);
        let mut bucket = self.head;
        loop {
            if let Some(number) = bucket.vacancy() {
                bucket.set_slot(number, slot);
                return true;
            }
            match bucket.control().next() {
                Some(next) => bucket = self.index.overflow.bucket(next),
                None => break,
            }
        }
        let Some(added) = self.index.overflow.take() else {
            return false;
        };
        self.index.overflow.bucket(added).set_slot(0, slot);
        bucket.set_next(Some(added));
        true
    }
}

impl Drop for LockedChain<'_> {
    fn drop(&mut self) {
        self.head.unlock();
    }
}
