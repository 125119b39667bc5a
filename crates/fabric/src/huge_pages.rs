//! Asks the system for huge pages.
//!
//! A copy between processes (CMA) looks up and pins each page of the sender's memory, which in
//! pages of 4 KiB takes longer than the copy itself: a store of 1 MB took 300 us from such pages
//! and 120 us from huge ones (`docs/journal/2026-11-22-fabric-speed.md`). Registering memory for
//! verbs pins each page too. And memory that is touched for the first time costs a fault for each
//! page.

use rustix::mm::{Advice, madvise};
use std::ffi::c_void;
use std::ptr::NonNull;

/// Smallest stretch that is worth asking for: it holds one huge page (2 MiB on x86-64 and aarch64)
/// at least.
const HUGE_FROM_BYTES: usize = 4 << 20;

/// What advice is given for: whole pages. Larger base pages are multiples of it, and then the
/// system refuses.
const PAGE_BYTES: usize = 4096;

/// Put these pages together now, also where they have been touched: since Linux 6.1 (`madvise(2)`,
/// `MADV_COLLAPSE`), which older systems refuse.
const COLLAPSE: libc::c_int = 25;

/// The whole pages between these bytes; none where there are too few.
fn pages(start: NonNull<u8>, bytes: usize) -> Option<(*mut c_void, usize)> {
    let first = start.as_ptr();
    let skipped = first.addr().next_multiple_of(PAGE_BYTES) - first.addr();
    let whole = bytes.checked_sub(skipped)? / PAGE_BYTES * PAGE_BYTES;
    (whole >= HUGE_FROM_BYTES / 2).then(|| (first.wrapping_add(skipped).cast(), whole))
}

/// Has this memory come in huge pages when it is touched for the first time, where the system has
/// them.
pub(crate) fn prefer(start: NonNull<u8>, bytes: usize) {
    if let Some((first, bytes)) = pages(start, bytes) {
        // SAFETY: the advice changes neither what stands in memory nor whether it is mapped,
        // whosever it is. Where it is refused, the pages are small.
        let _ = unsafe { madvise(first, bytes, Advice::LinuxHugepage) };
    }
}

/// Has this memory come in huge pages now, although it may have been touched.
pub(crate) fn prefer_now(start: NonNull<u8>, bytes: usize) {
    prefer(start, bytes);
    if let Some((first, bytes)) = pages(start, bytes) {
        // SAFETY: as in `prefer`.
        let _ = unsafe { libc::madvise(first, bytes, COLLAPSE) };
    }
}

/// A vector of so many zeros, in huge pages where it is long and the system has them. What is not
/// touched takes no memory.
#[must_use]
pub fn zeroed_memory(bytes: usize) -> Vec<u8> {
    let zeros = vec![0; bytes];
    if bytes >= HUGE_FROM_BYTES {
        prefer(NonNull::from(&zeros[..]).cast(), bytes);
    }
    zeros
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pages_inside_are_meant() {
        let at = |address: usize| NonNull::new(std::ptr::without_provenance_mut(address)).unwrap();
        let range =
            |address, bytes| pages(at(address), bytes).map(|(at, bytes)| (at.addr(), bytes));
        assert_eq!(range(0x1000, 4 << 20), Some((0x1000, 4 << 20)));
        assert_eq!(range(0x1010, 4 << 20), Some((0x2000, (4 << 20) - 4096)));
        assert_eq!(range(0x1010, 100), None);
        assert_eq!(range(0x1000, 1 << 20), None);
    }

    #[test]
    fn what_stands_in_memory_stays() {
        let bytes: Vec<u8> = (0..9usize << 20).map(|at| (at >> 7) as u8).collect();
        let before = bytes.clone();
        prefer_now(NonNull::from(&bytes[..]).cast(), bytes.len());
        assert!(bytes == before);
    }
}
