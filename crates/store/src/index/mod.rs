//! The index: from the hash of a key to the places where items with such a hash lie.
//!
//! A linear-hashing table (W. Litwin, "Linear Hashing: A New Tool for File and Table Addressing",
//! VLDB 1980) of cache-line buckets: it grows by one bucket at a time, so no operation ever waits
//! for the table to be rebuilt, and the load stays level. Finding takes no lock and writes nothing;
//! changing a chain takes the spin lock in its first bucket for a few dozen instructions.
//!
//! The index knows nothing of keys. Its user says whether a location holds the key looked for.
//! A slot keeps the hash bits above those that the smallest table uses as bucket number, so the
//! table can grow by a factor of 2^20 without looking at a single item.

mod bucket;
mod chain;
mod growth;
mod overflow;
mod table;

use crate::sync::{AtomicU64, Mutex, Ordering, fence, spin_loop};
pub(crate) use bucket::Location;
use bucket::{Bucket, Slot, TAG_BITS};
use chain::lock_bucket;
pub(crate) use chain::{LockedChain, SlotPlace};
use overflow::OverflowBuckets;
use std::io;
use table::Table;

/// Mean number of entries a bucket at which the table grows. Measured: at 6 of 7 slots about one
/// lookup in ten reads a second line, and the index takes 13 to 14 bytes an item.
const LOAD_TARGET: u64 = 6;

/// The table and its overflow buckets.
pub(crate) struct Index {
    table: Table,
    overflow: OverflowBuckets,
    /// Buckets in use; the one word that decides where a hash belongs.
    count: AtomicU64,
    initial_level: u32,
    growing: Mutex<()>,
}

/// Where a lookup will probably lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// To this location, if its key is the right one.
    At(Location),
    /// To the overflow bucket of this number.
    Further(u64),
    /// To nothing.
    Nowhere,
}

impl Index {
    /// An empty index of 2^`initial_level` buckets that can grow to `capacity` buckets.
    ///
    /// # Errors
    /// The kernel's, where the address space cannot be had.
    pub fn new(initial_level: u32, capacity: u64, huge_pages: bool) -> io::Result<Index> {
        let ceiling = 1u64 << (initial_level + TAG_BITS).min(40);
        let capacity = capacity.clamp(1 << initial_level, ceiling);
        let table = Table::reserve(capacity, huge_pages)?;
        table.reach(0, 1 << initial_level);
        Ok(Index {
            table,
            overflow: OverflowBuckets::reserve(capacity, huge_pages)?,
            count: AtomicU64::new(1 << initial_level),
            initial_level,
            growing: Mutex::new(()),
        })
    }

    /// Buckets in use, and overflow buckets in use.
    pub fn buckets(&self) -> (u64, u64) {
        (self.count.load(Ordering::Relaxed), self.overflow.used())
    }

    /// Bytes of memory taken, which are not given back.
    pub fn bytes(&self) -> u64 {
        let buckets = self.count.load(Ordering::Relaxed);
        self.table.bytes_of(buckets) + self.overflow.bytes()
    }

    fn tag(&self, hash: u64) -> u64 {
        hash >> self.initial_level & ((1 << TAG_BITS) - 1)
    }

    /// Starts fetching the bucket of a hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.table
            .prefetch(bucket_number(hash, self.count.load(Ordering::Relaxed)));
    }

    /// Where a lookup of the hash will probably lead, as far as its first bucket tells.
    #[inline]
    pub fn hint(&self, hash: u64) -> Hint {
        let number = bucket_number(hash, self.count.load(Ordering::Acquire));
        self.hint_in(self.table.bucket(number), hash)
    }

    /// Where a lookup of the hash will probably lead, as far as an overflow bucket tells that an
    /// earlier hint named.
    #[inline]
    pub fn hint_further(&self, overflow: u64, hash: u64) -> Hint {
        self.hint_in(self.overflow.bucket(overflow), hash)
    }

    /// Starts fetching an overflow bucket.
    #[inline]
    pub fn prefetch_further(&self, overflow: u64) {
        self.overflow.prefetch(overflow);
    }

    #[inline]
    fn hint_in(&self, bucket: &Bucket, hash: u64) -> Hint {
        let tag = self.tag(hash);
        let hits = bucket.matches(tag);
        if hits != 0 {
            let slot = bucket.slot(hits.trailing_zeros() as usize);
            if slot.has_tag(tag) {
                return Hint::At(slot.location());
            }
        }
        bucket.control().next().map_or(Hint::Nowhere, Hint::Further)
    }

    /// Offers every location whose tag fits the hash until one is accepted. A location stays
    /// readable until the caller's next quiescent point.
    #[inline]
    pub fn find<R>(&self, hash: u64, mut accept: impl FnMut(Location) -> Option<R>) -> Option<R> {
        loop {
            let count = self.count.load(Ordering::Acquire);
            let number = bucket_number(hash, count);
            let head = self.table.bucket(number);
            let before = head.control();
            if let Some(found) = self.find_in_chain(head, self.tag(hash), &mut accept) {
                return Some(found);
            }
            // A miss counts only if no entry was moved meanwhile, within the chain or out of it.
            fence(Ordering::Acquire);
            let settled = !before.is_moving() && !head.control().moved_since(before);
            if settled && bucket_number(hash, self.count.load(Ordering::Acquire)) == number {
                return None;
            }
            spin_loop();
        }
    }

    #[inline]
    fn find_in_chain<R>(
        &self,
        head: &Bucket,
        tag: u64,
        accept: &mut impl FnMut(Location) -> Option<R>,
    ) -> Option<R> {
        let mut bucket = head;
        loop {
            let mut hits = bucket.matches(tag);
            while hits != 0 {
                let slot = bucket.slot(hits.trailing_zeros() as usize);
                hits &= hits - 1;
                if slot.has_tag(tag)
                    && let Some(found) = accept(slot.location())
                {
                    return Some(found);
                }
            }
            bucket = self.overflow.bucket(bucket.control().next()?);
        }
    }

    /// Whether an entry of this hash points at exactly this location.
    #[inline]
    pub fn has(&self, hash: u64, location: Location) -> bool {
        self.find(hash, |found| (found == location).then_some(()))
            .is_some()
    }

    /// Locks the chain of a hash.
    pub fn lock(&self, hash: u64) -> LockedChain<'_> {
        LockedChain::lock(self, hash)
    }

    /// Visits the location of every entry that was there throughout, once each, class by class:
    /// a class is what one bucket of the table at `level` has been split into. Growth waits while
    /// a class is visited; entries added or removed meanwhile may or may not be seen.
    pub fn visit_class(&self, class: u64, level: u32, mut visit: impl FnMut(Location)) {
        self.visit_class_hashed(class, level, |_, location| visit(location));
    }

    /// Visits a class as [`Index::visit_class`] does, and gives with each location a hash by which
    /// the entry is found: that of its key as far as the index knows it.
    pub fn visit_class_hashed(&self, class: u64, level: u32, mut visit: impl FnMut(u64, Location)) {
        let _no_growth = crate::sync::lock(&self.growing);
        let count = self.count.load(Ordering::Acquire);
        let tag_mask = ((1 << TAG_BITS) - 1) << self.initial_level;
        let mut number = class;
        while number < count {
            self.for_each_in_chain(self.table.bucket(number), |slot| {
                let hash = number & !tag_mask | slot.tag() << self.initial_level;
                visit(hash, slot.location());
            });
            number += 1 << level;
        }
    }

    /// Removes the entries of a class (as in [`Index::visit_class`]) that the caller gives up. It
    /// is shown each of them with all that were in its chain.
    pub fn remove_class(
        &self,
        class: u64,
        level: u32,
        mut gives_up: impl FnMut(Location, &[Location]) -> bool,
    ) {
        let _no_growth = crate::sync::lock(&self.growing);
        let count = self.count.load(Ordering::Acquire);
        let mut number = class;
        let mut chain = Vec::new();
        while number < count {
            let head = self.table.bucket(number);
            lock_bucket(head);
            chain.clear();
            self.for_each_in_chain(head, |slot| chain.push(slot.location()));
            self.retain(head, |location| !gives_up(location, &chain));
            head.unlock();
            number += 1 << level;
        }
    }

    /// The level at which a scan by [`Index::visit_class`] can start now: it has 2^level classes.
    pub fn scan_level(&self) -> u32 {
        self.count.load(Ordering::Acquire).ilog2()
    }

    fn for_each_in_chain(&self, head: &Bucket, mut visit: impl FnMut(Slot)) {
        let mut bucket = head;
        loop {
            bucket
                .occupied()
                .for_each(|number| visit(bucket.slot(number)));
            match bucket.control().next() {
                Some(next) => bucket = self.overflow.bucket(next),
                None => return,
            }
        }
    }
}

/// Where a hash belongs in a table of `count` buckets: those below 2^level have been split if the
/// number that one more bit gives exists already.
#[inline]
fn bucket_number(hash: u64, count: u64) -> u64 {
    let mask = (count - 1).checked_ilog2().map_or(0, |top| (2 << top) - 1);
    let number = hash & mask;
    if number < count {
        number
    } else {
        hash & (mask >> 1)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod model;
