//! What C calls to make a handle by a text, to check one, or to make a handle anew.

use crate::arguments::{bytes, code, context};
use crate::lifecycle;
use crate::options::configure;
use farcache_libmemcached_abi::{Handle, Return};
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Writes a text into C's room, cut off where there is not enough.
///
/// # Safety
/// `room` bytes at `place` can be written, unless it is null.
unsafe fn write_text(place: *mut c_char, room: usize, text: &[u8]) {
    if place.is_null() || room == 0 {
        return;
    }
    let length = text.len().min(room - 1);
    // SAFETY: as the caller promises.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), place, length);
        place.add(length).write(0);
    }
}

export! {
    /// Whether a handle could be made of the text; why not is written into the buffer.
    fn libmemcached_check_configuration(
        text: *const c_char,
        length: usize,
        error: *mut c_char,
        error_room: usize,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let text = unsafe { bytes(text, length) };
        if text.is_empty() {
            return Return::INVALID_ARGUMENTS;
        }
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { write_text(error, error_room, b"") };
        let mut handle = MaybeUninit::<Handle>::uninit();
        // SAFETY: the memory is this function's own.
        let handle = unsafe { lifecycle::create(handle.as_mut_ptr()) };
        // SAFETY: the handle was made just now, and is this function's own.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::MEMORY_ALLOCATION_FAILURE;
        };
        let outcome = configure(&mut context, text);
        if outcome.is_err() {
            let last = context.state.errors.last();
            let message = last.map_or(&b""[..], |last| last.message.to_bytes());
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { write_text(error, error_room, message) };
        }
        // SAFETY: the handle is this function's own, and is used no more.
        unsafe { lifecycle::destroy(handle) };
        code(outcome)
    }

    /// Sets a handle back to how it was made.
    fn memcached_reset(handle: *mut Handle) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        code(context.reset())
    }

    /// Makes a handle as the text says, or as the variable LIBMEMCACHED says where there is no
    /// text.
    fn memcached(text: *const c_char, length: usize) -> *mut Handle {
        if text.is_null() != (length == 0) {
            return null_mut();
        }
        // SAFETY: it makes memory of its own.
        let handle = unsafe { lifecycle::create(null_mut()) };
        // SAFETY: it was made just now, and nobody else knows of it.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return null_mut();
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        if configure(&mut context, unsafe { bytes(text, length) }).is_err() {
            // SAFETY: as above; it is used no more.
            unsafe { lifecycle::destroy(handle) };
            return null_mut();
        }
        handle
    }
}
