//! C's arguments as Rust's.

use crate::context::Context;
use farcache_libmemcached_abi::{Handle, Return};
use std::ffi::{CStr, c_char};

/// Bytes at a place; none where the length is 0 or the place is null.
///
/// # Safety
/// `length` bytes can be read while the result is used, unless `start` is null.
pub(crate) unsafe fn bytes<'a>(start: *const c_char, length: usize) -> &'a [u8] {
    if length == 0 || start.is_null() {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(start.cast(), length) }
}

/// A list; empty where it is null. Each function in one may be null.
///
/// # Safety
/// There are `count` entries, which can be read while the result is used, unless `start` is null.
pub(crate) unsafe fn list<'a, T>(start: *const T, count: u32) -> &'a [T] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(start, count as usize) }
}

/// A text; `None` of null.
///
/// # Safety
/// The text ends with a zero byte and can be read while the result is used, unless it is null.
pub(crate) unsafe fn text<'a>(start: *const c_char) -> Option<&'a CStr> {
    if start.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    Some(unsafe { CStr::from_ptr(start) })
}

/// A handle with what it points to; `None` of null.
///
/// # Safety
/// The handle was created by this library and nobody else uses it now, unless it is null.
pub(crate) unsafe fn context<'a>(handle: *const Handle) -> Option<Context<'a>> {
    // SAFETY: as the caller promises; C's `const` means only that the public fields stay.
    unsafe { Context::new(handle.cast_mut()) }
}

/// Writes where C wants to know something, unless it does not.
///
/// # Safety
/// The place can be written, unless it is null.
pub(crate) unsafe fn tell<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: as the caller promises.
        unsafe { place.write(value) };
    }
}

/// The return code of something that brings nothing else.
pub(crate) fn code(outcome: Result<(), Return>) -> Return {
    outcome.err().unwrap_or(Return::SUCCESS)
}
