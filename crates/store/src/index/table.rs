//! Buckets by number: in reserved address space, so that a bucket never moves and the table grows
//! by touching more of it.
//!
//! Huge pages make a large table faster, and a small one large: its one bucket would take 2 MiB. So
//! a table is in pages while it is small, each stretch of the size of a huge page becomes one when
//! it is full, and only a table of some such stretches takes them ahead of growth.

use super::bucket::Bucket;
#[cfg(not(loom))]
use crate::region::{HUGE_PAGE_BYTES, Region};
use std::io;

/// Buckets in a stretch that may be a huge page.
pub(super) const STRETCH_BUCKETS: u64 = 1 << 15;
/// Where so many stretches are full, the next ones are huge pages before they are.
const FULL_STRETCHES_MIN: u64 = 4;
/// How many those are: the one that is being filled and the one that is backed ahead of it.
const AHEAD_STRETCHES: u64 = 2;
#[cfg(not(loom))]
const _: () = assert!(STRETCH_BUCKETS as usize * size_of::<Bucket>() == HUGE_PAGE_BYTES);

/// Room for a fixed number of buckets, all empty at first.
pub(super) struct Table {
    #[cfg(not(loom))]
    region: Region,
    #[cfg(not(loom))]
    huge_pages: bool,
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
            region: Region::reserve(bytes, false)?,
            huge_pages,
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
        crate::prefetch::prefetch(self.bucket(number));
    }

    /// Buckets below `used`, which has just been reached, are in use. Stretches from the one in
    /// which `before` lies are asked for as huge pages, as far as they are, or will be, full.
    pub fn reach(&self, before: u64, used: u64) {
        let first = before / STRETCH_BUCKETS;
        let end = huge_stretches(used);
        if self.huge_pages && first < end {
            let stretches = (end - first) as usize;
            self.region.ask_for_huge_pages(
                first as usize * HUGE_PAGE_BYTES,
                stretches * HUGE_PAGE_BYTES,
            );
        }
    }

    /// Has the kernel back the stretch behind that of `used` now, where it is a huge page.
    pub fn populate_ahead(&self, used: u64) {
        if self.huge_pages && used / STRETCH_BUCKETS >= FULL_STRETCHES_MIN {
            let next = used.div_ceil(STRETCH_BUCKETS) as usize;
            self.region
                .populate(next * HUGE_PAGE_BYTES, HUGE_PAGE_BYTES);
        }
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

    pub fn reach(&self, _before: u64, _used: u64) {}

    pub fn populate_ahead(&self, _used: u64) {}
}

impl Table {
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes of memory behind a table of which so many buckets are, or have been, in use.
    pub fn bytes_of(&self, used: u64) -> u64 {
        let huge = huge_stretches(used) * STRETCH_BUCKETS;
        used.max(huge).min(self.capacity) * size_of::<Bucket>() as u64
    }
}

/// Stretches that are to be huge pages of a table of which so many buckets are in use.
fn huge_stretches(used: u64) -> u64 {
    let full = used / STRETCH_BUCKETS;
    match full >= FULL_STRETCHES_MIN {
        true => full + AHEAD_STRETCHES,
        false => full,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_small_table_takes_no_more_memory_than_its_buckets() {
        let stretch = STRETCH_BUCKETS;
        let taken = |used| Table::reserve(100 * stretch, false).unwrap().bytes_of(used) / 64;
        assert_eq!(taken(2048), 2048);
        assert_eq!(taken(4 * stretch - 1), 4 * stretch - 1);
        assert_eq!(
            taken(4 * stretch),
            6 * stretch,
            "two are huge pages already"
        );
        assert_eq!(taken(99 * stretch), 100 * stretch, "no more than there are");
        assert_eq!(huge_stretches(2 * stretch - 1), 1);
    }
}
