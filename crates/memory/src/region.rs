//! Address space reserved at once and filled by the kernel page by page, zeroed, as it is touched.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::io;
use std::ptr::NonNull;

/// A private anonymous mapping. Its memory is zero until written and stays in place for the life of
/// the region.
pub struct Region {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a region is a plain range of memory; those who hand out references into it make sure
// that what they hand out may be shared.
unsafe impl Send for Region {}
// SAFETY: as for Send; the region's own methods only give out its address.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves address space; with `huge_pages` the kernel is asked to back it with huge pages.
    ///
    /// # Errors
    /// The kernel's, where it refuses the mapping.
    pub fn reserve(bytes: usize, huge_pages: bool) -> io::Result<Region> {
        let bytes = bytes.next_multiple_of(HUGE_PAGE_BYTES);
        let padded = bytes + HUGE_PAGE_BYTES;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice overlaps nothing.
        let mapping = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                padded,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }?
        .cast::<u8>();
        let lead = mapping.align_offset(HUGE_PAGE_BYTES);
        // SAFETY: the lead before the first huge-page boundary and the rest behind the region lie
        // inside the mapping just made, and nothing refers to them.
        let base = unsafe {
            unmap(mapping, lead);
            unmap(mapping.add(lead + bytes), padded - lead - bytes);
            mapping.add(lead)
        };
        let region = Region {
            base: NonNull::new(base).expect("mmap never maps 0"),
            bytes,
        };
        if huge_pages {
            region.ask_for_huge_pages(0, bytes);
        }
        Ok(region)
    }

    /// Asks the kernel to back a range with huge pages. What has memory already is gathered into
    /// huge pages by the kernel's own thread, in its own time. Out-of-range parts are ignored.
    pub fn ask_for_huge_pages(&self, start: usize, bytes: usize) {
        let start = start.min(self.bytes) / PAGE_BYTES * PAGE_BYTES;
        let bytes = bytes.min(self.bytes - start);
        // Advice only: without it the region is slower, not wrong.
        // SAFETY: the range lies in the region, and the advice does not change its contents.
        let _ = unsafe { madvise(self.base().add(start).cast(), bytes, Advice::LinuxHugepage) };
    }

    /// First byte of the region, on a huge-page boundary.
    #[inline]
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Size in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Has the kernel back a range with memory now, so that touching it later costs no fault.
    /// Out-of-range parts are ignored, and so is a kernel that cannot.
    pub fn populate(&self, start: usize, bytes: usize) {
        let start = start.min(self.bytes) / PAGE_BYTES * PAGE_BYTES;
        let bytes = bytes.min(self.bytes - start).next_multiple_of(PAGE_BYTES);
        // SAFETY: the range lies in the region; populating does not change its contents.
        let _ = unsafe {
            madvise(
                self.base().add(start).cast(),
                bytes,
                Advice::LinuxPopulateWrite,
            )
        };
    }

    /// Gives a range's memory back to the system; it reads as zero afterwards.
    ///
    /// # Safety
    /// Nothing may refer to the contents of the range.
    pub unsafe fn release(&self, start: usize, bytes: usize) {
        debug_assert!(start + bytes <= self.bytes);
        // SAFETY: the range lies in the region, and the caller vouches for its contents.
        let _ = unsafe { madvise(self.base().add(start).cast(), bytes, Advice::LinuxDontNeed) };
    }
}

/// # Safety
/// The range must be a whole number of pages of a mapping to which nothing refers.
unsafe fn unmap(start: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: by this function's contract.
        let _ = unsafe { munmap(start.cast(), bytes) };
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the region owns the mapping, and its owner is being dropped.
        unsafe { unmap(self.base(), self.bytes) };
    }
}

/// x86-64's and aarch64's (4 KiB granule) huge page, in bytes.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;
const PAGE_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_aligned_zeroed_and_can_be_released() {
        let region = Region::reserve(3 << 20, true).unwrap();
        assert_eq!(region.bytes(), 4 << 20);
        assert_eq!(region.base() as usize % HUGE_PAGE_BYTES, 0);
        region.populate(0, 8192);
        // SAFETY: inside the region, and this test is its only user.
        unsafe {
            assert_eq!(region.base().add(5000).read(), 0);
            region.base().add(5000).write(7);
            region.release(4096, 4096);
            assert_eq!(region.base().add(5000).read(), 0);
        }
    }
}
