//! Parts of vectors, for vectors without masks: by way of the stack.

use super::lanes::Lanes;

/// Bytes of the widest vector without masks.
const BYTES_MAX: usize = 32;

/// Reads the first `bytes` bytes of a vector; the others are zero.
///
/// # Safety
///
/// The bytes can be read and are no more than a vector's. The processor has the instructions of
/// `L`.
#[inline(always)]
pub unsafe fn load<L: Lanes>(from: *const u8, bytes: usize) -> L {
    const { assert!(L::BYTES <= BYTES_MAX) };
    let mut buffer = [0_u8; BYTES_MAX];
    // SAFETY: the caller vouches for the bytes; the buffer has room for a vector.
    unsafe {
        from.copy_to_nonoverlapping(buffer.as_mut_ptr(), bytes);
        L::load(buffer.as_ptr())
    }
}

/// Writes the first `bytes` bytes of a vector.
///
/// # Safety
///
/// The bytes can be written and are no more than a vector's. The processor has the instructions of
/// `L`.
#[inline(always)]
pub unsafe fn store<L: Lanes>(vector: L, to: *mut u8, bytes: usize) {
    const { assert!(L::BYTES <= BYTES_MAX) };
    let mut buffer = [0_u8; BYTES_MAX];
    // SAFETY: the caller vouches for the bytes; the buffer has room for a vector.
    unsafe {
        vector.store(buffer.as_mut_ptr());
        buffer.as_ptr().copy_to_nonoverlapping(to, bytes);
    }
}
