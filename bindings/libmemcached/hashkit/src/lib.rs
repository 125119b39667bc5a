//! A drop-in for libhashkit.so.2 of libmemcached 1.1: the same functions, the same results.
//!
//! C's contract holds for every function: a pointer that is not said to be optional points to what
//! its type says, and a key to as many bytes as the length beside it.

mod algorithm;
mod cipher;
mod kit;
mod text;

use std::ffi::c_char;

/// A key that C handed over. No bytes are looked at where the length is 0, so the pointer may then
/// be null.
///
/// # Safety
/// `length` bytes at `key` can be read while the result is used.
unsafe fn bytes<'a>(key: *const c_char, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller promises these bytes.
    unsafe { std::slice::from_raw_parts(key.cast(), length) }
}
