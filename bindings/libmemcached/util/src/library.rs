//! The functions of libmemcached.so.11 that this library calls.

use farcache_libmemcached_abi::{Behavior, Handle, Return, ServerStructure, Statistics};
use std::ffi::{c_char, c_void};

/// `memcached_server_fn`. The server is libmemcached's own structure, which nobody looks into.
pub(crate) type ServerFunction =
    unsafe extern "C" fn(*const Handle, *const ServerStructure, *mut c_void) -> Return;

unsafe extern "C" {
    pub(crate) fn memcached(text: *const c_char, length: usize) -> *mut Handle;
    pub(crate) fn memcached_create(handle: *mut Handle) -> *mut Handle;
    pub(crate) fn memcached_free(handle: *mut Handle);
    pub(crate) fn memcached_clone(to: *mut Handle, from: *const Handle) -> *mut Handle;
    pub(crate) fn memcached_behavior_set(
        handle: *mut Handle,
        behavior: Behavior,
        value: u64,
    ) -> Return;
    pub(crate) fn memcached_behavior_get(handle: *mut Handle, behavior: Behavior) -> u64;
    pub(crate) fn memcached_server_add(
        handle: *mut Handle,
        host: *const c_char,
        port: u16,
    ) -> Return;
    pub(crate) fn memcached_set_sasl_auth_data(
        handle: *mut Handle,
        name: *const c_char,
        password: *const c_char,
    ) -> Return;
    pub(crate) fn memcached_version(handle: *mut Handle) -> Return;
    pub(crate) fn memcached_server_instance_by_position(
        handle: *const Handle,
        index: u32,
    ) -> *const ServerStructure;
    pub(crate) fn memcached_server_error_return(server: *const ServerStructure) -> Return;
    pub(crate) fn memcached_flush(handle: *mut Handle, expiration: libc::time_t) -> Return;
    pub(crate) fn memcached_stat(
        handle: *mut Handle,
        group: *mut c_char,
        error: *mut Return,
    ) -> *mut Statistics;
    pub(crate) fn memcached_stat_free(handle: *const Handle, statistics: *mut Statistics);
    pub(crate) fn memcached_server_cursor(
        handle: *const Handle,
        functions: *const ServerFunction,
        context: *mut c_void,
        count: u32,
    ) -> Return;
    pub(crate) fn memcached_server_major_version(server: *const ServerStructure) -> u8;
    pub(crate) fn memcached_server_minor_version(server: *const ServerStructure) -> u8;
    pub(crate) fn memcached_server_micro_version(server: *const ServerStructure) -> u8;
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
