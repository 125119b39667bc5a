//! Growth by one bucket: the next bucket in turn is split into itself and a new last one.

use super::bucket::{Bucket, Location, SLOTS, Slot, TAG_BITS};
use super::table::STRETCH_BUCKETS;
use super::{Index, LOAD_TARGET, lock_bucket};
use crate::sync::Ordering;

/// How often somebody is told that the table has grown, in buckets: by as much memory as the
/// smallest segment has.
const TOLD_BUCKETS: u64 = 1 << 10;

impl Index {
    /// Whether this many entries call for growth.
    pub fn wants_growth(&self, entries: u64) -> bool {
        let count = self.count.load(Ordering::Relaxed);
        entries > count * LOAD_TARGET && self.can_grow(count)
    }

    fn can_grow(&self, count: u64) -> bool {
        // The bit that decides a split must be among those that a slot keeps.
        count < self.table.capacity() && count.ilog2() - self.initial_level < TAG_BITS
    }

    /// Adds one bucket, unless another thread is just doing so. True from time to time, when the
    /// index has taken a noticeable amount of memory since.
    pub fn grow(&self) -> bool {
        let Ok(_growing) = self.growing.try_lock() else {
            return false;
        };
        let count = self.count.load(Ordering::Relaxed);
        if self.can_grow(count) {
            self.split(count);
        }
        if count.is_multiple_of(STRETCH_BUCKETS) {
            self.table.reach(count - STRETCH_BUCKETS, count);
        }
        count.is_multiple_of(TOLD_BUCKETS)
    }

    /// Makes the table as large as growth would make it for this many entries, at once: for an
    /// empty index that nobody else uses yet.
    pub fn grow_while_empty(&self, entries: u64) {
        let _growing = crate::sync::lock(&self.growing);
        let wanted = entries.div_ceil(LOAD_TARGET).min(self.table.capacity());
        let count = self.count.load(Ordering::Relaxed);
        self.table.reach(count, wanted);
        self.count.store(count.max(wanted), Ordering::Release);
    }

    /// Backs the buckets that growth will reach next with memory, so that no insertion has to wait
    /// for the kernel to clear it.
    pub fn populate_ahead(&self) {
        self.table
            .populate_ahead(self.count.load(Ordering::Relaxed));
    }

    fn split(&self, count: u64) {
        let level = count.ilog2();
        let source = self.table.bucket(count - (1 << level));
        let target = self.table.bucket(count);
        let deciding_bit = 1 << (level - self.initial_level);
        lock_bucket(source);
        let (mut stay, mut go) = (Vec::with_capacity(2 * SLOTS), Vec::with_capacity(2 * SLOTS));
        self.for_each_in_chain(source, |slot| {
            if slot.tag() & deciding_bit == 0 {
                stay.push(slot)
            } else {
                go.push(slot)
            }
        });
        let fits = self.fill(target, &go);
        if fits {
            source.bump_version();
            self.count.store(count + 1, Ordering::Release);
            self.compact(source, &stay);
            source.bump_version();
        }
        source.unlock();
    }

    /// Writes entries into a chain that cannot be reached yet; false (and an empty chain) where
    /// the overflow buckets do not suffice.
    fn fill(&self, head: &Bucket, slots: &[Slot]) -> bool {
        let mut bucket = head;
        for (number, &slot) in slots.iter().enumerate() {
            if number > 0 && number % SLOTS == 0 {
                let Some(next) = self.overflow.take() else {
                    self.compact(head, &[]);
                    return false;
                };
                bucket.set_next(Some(next));
                bucket = self.overflow.bucket(next);
            }
            bucket.set_slot(number % SLOTS, slot);
        }
        true
    }

    /// Keeps only some entries of a locked chain.
    pub(super) fn retain(&self, head: &Bucket, mut keeps: impl FnMut(Location) -> bool) {
        let (mut kept, mut entries) = (Vec::with_capacity(2 * SLOTS), 0);
        self.for_each_in_chain(head, |slot| {
            entries += 1;
            if keeps(slot.location()) {
                kept.push(slot);
            }
        });
        if kept.len() < entries {
            head.bump_version();
            self.compact(head, &kept);
            head.bump_version();
        }
    }

    /// Rewrites a locked chain with some of its own entries and frees the buckets left over.
    fn compact(&self, head: &Bucket, slots: &[Slot]) {
        let mut bucket = head;
        let mut written = slots.chunks(SLOTS);
        let mut chunk = written.next().unwrap_or(&[]);
        loop {
            for number in 0..SLOTS {
                let slot = chunk.get(number).copied().unwrap_or(Slot::EMPTY);
                if bucket.slot(number) != slot {
                    bucket.set_slot(number, slot);
                }
            }
            let next = bucket.control().next();
            match (written.next(), next) {
                (Some(more), Some(next)) => {
                    chunk = more;
                    bucket = self.overflow.bucket(next);
                }
                (_, rest) => {
                    bucket.set_next(None);
                    self.free_chain(rest);
                    return;
                }
            }
        }
    }

    fn free_chain(&self, mut first: Option<u64>) {
        while let Some(number) = first {
            first = self.overflow.bucket(number).control().next();
            self.overflow.give_back(number);
        }
    }
}
