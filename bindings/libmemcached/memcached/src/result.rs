//! Results: a value with its key, flags and CAS token, in memory that C sees.

use crate::arguments::bytes;
use crate::memory;
use farcache_libmemcached_abi::{Handle, KEY_ROOM_BYTES, ResultStructure, Return, StringStructure};
use std::ffi::c_char;
use std::ptr::null_mut;

/// Bit of `options`: this library allocated the structure.
const IS_ALLOCATED: u8 = 1;
/// Bit of `options`.
const IS_INITIALIZED: u8 = 1 << 1;

/// Fills a result that may never have been set.
///
/// # Safety
/// The result can be written.
pub(crate) unsafe fn initialize(result: *mut ResultStructure, root: *mut Handle, options: u8) {
    // SAFETY: as the caller promises. All zero is a valid result; the fields of the key are left as
    // they are but for the first, as libmemcached does.
    unsafe {
        (&raw mut (*result).item_flags).write(0);
        (&raw mut (*result).item_expiration).write(0);
        (&raw mut (*result).key_length).write(0);
        (&raw mut (*result).item_cas).write(0);
        (&raw mut (*result).root).write(root);
        (&raw mut (*result).value).write(StringStructure {
            end: null_mut(),
            string: null_mut(),
            current_size: 0,
            root,
            options: IS_INITIALIZED,
        });
        (&raw mut (*result).numeric_value).write(u64::MAX);
        (&raw mut (*result).count).write(0);
        (&raw mut (*result).item_key).cast::<c_char>().write(0);
        (&raw mut (*result).options).write(options | IS_INITIALIZED);
    }
}

/// A new result of this handle, in its memory.
///
/// # Safety
/// The handle is null or has been created.
pub(crate) unsafe fn create(root: *mut Handle) -> *mut ResultStructure {
    // SAFETY: as the caller promises.
    unsafe {
        let result: *mut ResultStructure =
            memory::allocate(root, size_of::<ResultStructure>()).cast();
        if !result.is_null() {
            initialize(result, root, IS_ALLOCATED);
        }
        result
    }
}

pub(crate) fn is_allocated(result: &ResultStructure) -> bool {
    result.options & IS_ALLOCATED != 0
}

/// Gives the value's memory back.
pub(crate) fn clear(result: &mut ResultStructure) {
    let value = &mut result.value;
    // SAFETY: the string came from the same allocators.
    unsafe { memory::release(value.root, value.string.cast()) };
    (value.string, value.end, value.current_size) = (null_mut(), null_mut(), 0);
    result.numeric_value = u64::MAX;
    result.count = 0;
}

/// Empties a result for the next value, whose memory is used again.
pub(crate) fn reset(result: &mut ResultStructure) {
    result.key_length = 0;
    result.value.end = result.value.string;
    result.item_flags = 0;
    result.item_cas = 0;
    result.item_expiration = 0;
    result.numeric_value = u64::MAX;
}

/// Puts bytes behind the value.
pub(crate) fn append(result: &mut ResultStructure, more: &[u8]) -> Result<(), Return> {
    let value = &mut result.value;
    let length = length(value);
    let needed = length + more.len() + 1;
    // SAFETY: the string came from the same allocators; it then has room for `needed` bytes, of
    // which the last ends it for those who read it as a text.
    unsafe {
        if needed > value.current_size {
            let grown = memory::reallocate(value.root, value.string.cast(), needed);
            if grown.is_null() {
                return Err(Return::MEMORY_ALLOCATION_FAILURE);
            }
            (value.string, value.current_size) = (grown.cast(), needed);
        }
        let at = value.string.add(length);
        std::ptr::copy_nonoverlapping(more.as_ptr().cast(), at, more.len());
        value.end = at.add(more.len());
        value.end.write(0);
    }
    Ok(())
}

/// Sets key and value.
pub(crate) fn fill(result: &mut ResultStructure, key: &[u8], value: &[u8]) -> Result<(), Return> {
    set_key(result, key);
    append(result, value)
}

/// Sets key and value, and takes the value's memory over, where the result's comes from C's own
/// allocators.
pub(crate) fn adopt(result: &mut ResultStructure, key: &[u8], value: Vec<u8>) {
    set_key(result, key);
    let length = value.len();
    let to = &mut result.value;
    // SAFETY: the string came from the same allocators.
    unsafe { memory::release(to.root, to.string.cast()) };
    (to.string, to.current_size) = memory::hand_over(value);
    to.end = to.string.wrapping_add(length);
}

/// Empties a result and sets its key.
fn set_key(result: &mut ResultStructure, key: &[u8]) {
    reset(result);
    let key = &key[..key.len().min(KEY_ROOM_BYTES - 1)];
    for (place, &byte) in result.item_key.iter_mut().zip(key) {
        *place = byte.cast_signed();
    }
    result.item_key[key.len()] = 0;
    result.key_length = key.len();
}

/// Length of a string in bytes.
pub(crate) fn length(string: &StringStructure) -> usize {
    string.end.addr() - string.string.addr()
}

/// The value's memory, which is the caller's from now on.
pub(crate) fn take(result: &mut ResultStructure) -> *mut c_char {
    let value = &mut result.value;
    let taken = value.string;
    (value.string, value.end, value.current_size) = (null_mut(), null_mut(), 0);
    taken
}

export! {
    /// Makes a result, in the application's memory where it gave some.
    fn memcached_result_create(handle: *const Handle, result: *mut ResultStructure) -> *mut ResultStructure {
        let root = handle.cast_mut();
        if result.is_null() {
            // SAFETY: C's contract, as it stands at the top of the crate.
            return unsafe { create(root) };
        }
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { initialize(result, root, 0) };
        result
    }

    /// Frees a result, or empties it where the memory is the application's.
    fn memcached_result_free(result: *mut ResultStructure) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(given) = (unsafe { result.as_mut() }) else { return };
        clear(given);
        if is_allocated(given) {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { memory::release(given.root, result.cast()) };
        } else {
            given.options &= !IS_INITIALIZED;
        }
    }

    /// Empties a result for the next value.
    fn memcached_result_reset(result: *mut ResultStructure) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        if let Some(result) = unsafe { result.as_mut() } {
            reset(result);
        }
    }

    /// The key; null where there is none.
    fn memcached_result_key_value(result: *const ResultStructure) -> *const c_char {
        // SAFETY: C's contract, as it stands at the top of the crate.
        match unsafe { result.as_ref() } {
            Some(result) if result.key_length > 0 => result.item_key.as_ptr(),
            _ => std::ptr::null(),
        }
    }

    /// Length of the key in bytes.
    fn memcached_result_key_length(result: *const ResultStructure) -> usize {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { result.as_ref() }.map_or(0, |result| result.key_length)
    }

    /// The value.
    fn memcached_result_value(result: *const ResultStructure) -> *const c_char {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { result.as_ref() }.map_or(std::ptr::null(), |result| result.value.string)
    }

    /// Length of the value in bytes.
    fn memcached_result_length(result: *const ResultStructure) -> usize {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { result.as_ref() }.map_or(0, |result| length(&result.value))
    }

    /// The value, which is the caller's from now on; it is freed as `memcached_get`'s.
    fn memcached_result_take_value(result: *mut ResultStructure) -> *mut c_char {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { result.as_mut() }.map_or(null_mut(), take)
    }

    /// The application's number, as stored.
    fn memcached_result_flags(result: *const ResultStructure) -> u32 {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { result.as_ref() }.map_or(0, |result| result.item_flags)
    }

    /// The CAS token.
    fn memcached_result_cas(result: *const ResultStructure) -> u64 {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { result.as_ref() }.map_or(0, |result| result.item_cas)
    }

    /// Puts bytes behind the value.
    fn memcached_result_set_value(
        result: *mut ResultStructure,
        value: *const c_char,
        length: usize,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        match unsafe { (result.as_mut(), bytes(value, length)) } {
            (None, _) => Return::INVALID_ARGUMENTS,
            // Nothing needs no memory.
            (Some(_), []) => Return::SUCCESS,
            (Some(result), value) => crate::arguments::code(append(result, value)),
        }
    }

    /// Sets the application's number.
    fn memcached_result_set_flags(result: *mut ResultStructure, flags: u32) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        if let Some(result) = unsafe { result.as_mut() } {
            result.item_flags = flags;
        }
    }

    /// Sets the expiry.
    fn memcached_result_set_expiration(result: *mut ResultStructure, expiration: libc::time_t) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        if let Some(result) = unsafe { result.as_mut() } {
            result.item_expiration = expiration;
        }
    }
}
