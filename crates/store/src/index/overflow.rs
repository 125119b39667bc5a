//! Overflow buckets: what does not fit a chain's first bucket goes here.
//!
//! They are type-stable: a freed one is only ever used as an overflow bucket again, so a reader
//! that strays through it sees entries of another chain, rejects them by their keys, and notices by
//! the version of its own chain that it must look again.

use super::bucket::{Bucket, SLOTS, Slot};
use super::table::{STRETCH_BUCKETS, Table};
use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use std::io;

struct Free {
    /// Buckets below this one have been used at least once.
    untouched: u64,
    /// First of the freed ones, linked through their control words.
    first: Option<u64>,
}

pub(super) struct OverflowBuckets {
    table: Table,
    free: Mutex<Free>,
    used: AtomicU64,
    /// As `Free::untouched`, for those who only look.
    touched: AtomicU64,
}

impl OverflowBuckets {
    pub fn reserve(capacity: u64, huge_pages: bool) -> io::Result<OverflowBuckets> {
        Ok(OverflowBuckets {
            table: Table::reserve(capacity, huge_pages)?,
            free: Mutex::new(Free {
                untouched: 0,
                first: None,
            }),
            used: AtomicU64::new(0),
            touched: AtomicU64::new(0),
        })
    }

    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes of memory taken, which are not given back.
    pub fn bytes(&self) -> u64 {
        self.table.bytes_of(self.touched.load(Ordering::Relaxed))
    }

    pub fn bucket(&self, number: u64) -> &Bucket {
        self.table.bucket(number)
    }

    pub fn prefetch(&self, number: u64) {
        self.table.prefetch(number);
    }

    /// An empty bucket with no successor; none where all are used.
    pub fn take(&self) -> Option<u64> {
        let mut free = lock(&self.free);
        let number = match free.first {
            Some(first) => {
                free.first = self.bucket(first).control().next();
                self.bucket(first).set_next(None);
                first
            }
            None if free.untouched < self.table.capacity() => self.touch_next(&mut free),
            None => return None,
        };
        self.used.fetch_add(1, Ordering::Relaxed);
        Some(number)
    }

    fn touch_next(&self, free: &mut Free) -> u64 {
        let next = free.untouched;
        free.untouched = next + 1;
        self.touched.store(next + 1, Ordering::Relaxed);
        if next > 0 && next.is_multiple_of(STRETCH_BUCKETS) {
            self.table.reach(next - STRETCH_BUCKETS, next);
        }
        next
    }

    /// Gives a bucket back that no chain links to any longer.
    pub fn give_back(&self, number: u64) {
        let bucket = self.bucket(number);
        (0..SLOTS).for_each(|slot| bucket.set_slot(slot, Slot::EMPTY));
        let mut free = lock(&self.free);
        bucket.set_next(free.first);
        free.first = Some(number);
        self.used.fetch_sub(1, Ordering::Relaxed);
    }
}
