//! Buckets by number: in reserved address space, so that a bucket never moves and the table grows
//! by touching more of it.

use super::bucket::Bucket;
#[cfg(not(loom))]
use crate::region::Region;
use std::io;

/// Room for a fixed number of buckets, all empty at first.
pub(super) struct Table {
    #[cfg(not(loom))]
    region: Region,
    #[cfg(loom)]
    buckets: Vec<Bucket>,
    capacity: u64,
}

#[cfg(not(loom))]
impl Table {
    pub fn reserve(capacity: u64, huge_pages: bool) -> io::Result<Table> {
        let bytes = usize::try_from(capacity)
            .ok()
            .and_then(|n| n.checked_mul(size_of::<Bucket>()));
        let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Table {
            region: Region::reserve(bytes, huge_pages)?,
            capacity,
        })
    }

    #[inline]
    pub fn bucket(&self, number: u64) -> &Bucket {
        debug_assert!(number < self.capacity);
        // SAFETY: callers take numbers below the capacity from the index's own words. The region
        // is aligned to huge pages, its bytes are zero or were written through `Bucket`'s atomics,
        // any bytes are a valid `Bucket`, and it lives as long as the table.
        unsafe { &*self.region.base().cast::<Bucket>().add(number as usize) }
    }

    /// Starts fetching a bucket into the cache.
    #[inline]
    pub fn prefetch(&self, number: u64) {
        crate::prefetch::prefetch_line(std::ptr::from_ref(self.bucket(number)).cast());
    }

    /// Has the kernel back these buckets now.
    pub fn populate(&self, first: u64, count: u64) {
        let bucket = size_of::<Bucket>();
        self.region
            .populate(first as usize * bucket, count as usize * bucket);
    }
}

#[cfg(loom)]
impl Table {
    pub fn reserve(capacity: u64, _huge_pages: bool) -> io::Result<Table> {
        Ok(Table {
            buckets: (0..capacity).map(|_| Bucket::empty()).collect(),
            capacity,
        })
    }

    pub fn bucket(&self, number: u64) -> &Bucket {
        &self.buckets[number as usize]
    }

    pub fn prefetch(&self, _number: u64) {}

    pub fn populate(&self, _first: u64, _count: u64) {}
}

impl Table {
    pub fn capacity(&self) -> u64 {
        self.capacity
    }
}
