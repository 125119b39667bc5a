//! Telling the processor which cache lines will be read soon.

/// Starts fetching the cache line in which something begins.
#[inline]
pub fn prefetch<T>(what: &T) {
    prefetch_line(std::ptr::from_ref(what).cast());
}

/// Starts fetching the cache line at an address, which need not be valid.
#[inline]
pub fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint; it neither faults nor changes memory, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
