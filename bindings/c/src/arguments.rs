//! C's arguments as Rust's.

use crate::status::Failure;
use std::ffi::{CStr, c_char, c_void};

/// The bytes that C names by their start and their length; null is fine where there are none.
///
/// # Safety
/// C's contract: so many bytes are there.
pub unsafe fn bytes<'a>(start: *const c_void, bytes: usize) -> Result<&'a [u8], Failure> {
    if bytes == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(Failure::arguments("a null pointer with a length"));
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), bytes) })
}

/// A text that ends with a zero byte.
///
/// # Safety
/// C's contract: it does, or the pointer is null.
pub unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::arguments("a null pointer instead of a text"));
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|_| Failure::arguments("a text that is not UTF-8"))
}

/// What C's pointer points to.
///
/// # Safety
/// C's contract: it points to such a thing or is null.
pub unsafe fn reference<'a, T>(pointer: *const T) -> Result<&'a T, Failure> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::arguments("a null pointer"))
}

/// What C's pointer points to, to be changed.
///
/// # Safety
/// As [`reference`], and nobody else uses it meanwhile.
pub unsafe fn reference_mut<'a, T>(pointer: *mut T) -> Result<&'a mut T, Failure> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_mut() }.ok_or_else(|| Failure::arguments("a null pointer"))
}
