//! libhashkit's functions, and what the handle offers of them.

use crate::arguments::context;
use crate::context::Context;
use farcache_libmemcached_abi::{Handle, HashAlgorithm, HashReturn, Hashkit, Opaque, Return};
use std::ffi::c_char;

/// Of libhashkit.so.2, which this library needs, as libmemcached's does.
mod library {
    use super::*;

    unsafe extern "C" {
        pub(super) fn hashkit_create(kit: *mut Hashkit) -> *mut Hashkit;
        pub(super) fn hashkit_clone(to: *mut Hashkit, from: *const Hashkit) -> *mut Hashkit;
        pub(super) fn hashkit_free(kit: *mut Hashkit);
        pub(super) fn hashkit_digest(kit: *const Hashkit, key: *const c_char, length: usize)
        -> u32;
        pub(super) fn libhashkit_digest(
            key: *const c_char,
            length: usize,
            algorithm: HashAlgorithm,
        ) -> u32;
        pub(super) fn hashkit_set_function(
            kit: *mut Hashkit,
            algorithm: HashAlgorithm,
        ) -> HashReturn;
        pub(super) fn hashkit_get_function(kit: *const Hashkit) -> HashAlgorithm;
        pub(super) fn hashkit_set_distribution_function(
            kit: *mut Hashkit,
            algorithm: HashAlgorithm,
        ) -> HashReturn;
        pub(super) fn hashkit_get_distribution_function(kit: *const Hashkit) -> HashAlgorithm;
        pub(super) fn hashkit_key(kit: *mut Hashkit, key: *const c_char, length: usize) -> bool;
        pub(super) fn hashkit_encrypt(
            kit: *mut Hashkit,
            from: *const c_char,
            length: usize,
        ) -> *mut Opaque;
        pub(super) fn hashkit_decrypt(
            kit: *mut Hashkit,
            from: *const c_char,
            length: usize,
        ) -> *mut Opaque;
        pub(super) fn hashkit_string_length(text: *const Opaque) -> usize;
        pub(super) fn hashkit_string_c_str(text: *const Opaque) -> *const c_char;
        pub(super) fn hashkit_string_free(text: *mut Opaque);
    }
}

/// Fills a kit that may never have been set.
///
/// # Safety
/// The kit can be written.
pub(crate) unsafe fn create(kit: *mut Hashkit) {
    // SAFETY: as the caller promises.
    unsafe { library::hashkit_create(kit) };
}

pub(crate) fn free(kit: &mut Hashkit) {
    // SAFETY: a handle's kit has been created.
    unsafe { library::hashkit_free(kit) };
}

pub(crate) fn clone(to: &mut Hashkit, from: &Hashkit) {
    // The system's libhashkit frees what the destination had, ours does not.
    free(to);
    // SAFETY: both kits have been created, and the destination has no cipher any more.
    unsafe { library::hashkit_clone(to, from) };
}

/// A key's hash by a kit's function.
pub(crate) fn digest(kit: &Hashkit, key: &[u8]) -> u32 {
    // SAFETY: the kit has been created, the key is a slice.
    unsafe { library::hashkit_digest(kit, key.as_ptr().cast(), key.len()) }
}

pub(crate) fn key_hash(kit: &Hashkit) -> HashAlgorithm {
    // SAFETY: the kit has been created.
    unsafe { library::hashkit_get_function(kit) }
}

pub(crate) fn set_key_hash(kit: &mut Hashkit, algorithm: HashAlgorithm) -> HashReturn {
    // SAFETY: a handle's kit has been created.
    unsafe { library::hashkit_set_function(kit, algorithm) }
}

pub(crate) fn set_distribution_hash(kit: &mut Hashkit, algorithm: HashAlgorithm) -> HashReturn {
    // SAFETY: a handle's kit has been created.
    unsafe { library::hashkit_set_distribution_function(kit, algorithm) }
}

pub(crate) fn distribution_hash(kit: &Hashkit) -> HashAlgorithm {
    // SAFETY: the kit has been created.
    unsafe { library::hashkit_get_distribution_function(kit) }
}

impl Context<'_> {
    pub(crate) fn is_encrypted(&self) -> bool {
        !self.handle.hashkit.key.is_null()
    }

    /// The value as it goes to the server.
    pub(crate) fn encrypt(&mut self, value: &[u8]) -> Option<Vec<u8>> {
        let kit = &mut self.handle.hashkit;
        // SAFETY: a handle's kit has been created, the value is a slice.
        taken(unsafe { library::hashkit_encrypt(kit, value.as_ptr().cast(), value.len()) })
    }

    /// The value as it came from the server.
    pub(crate) fn decrypt(&mut self, value: &[u8]) -> Option<Vec<u8>> {
        let kit = &mut self.handle.hashkit;
        // SAFETY: a handle's kit has been created, the value is a slice.
        taken(unsafe { library::hashkit_decrypt(kit, value.as_ptr().cast(), value.len()) })
    }
}

/// The bytes of a text of libhashkit, which is freed.
fn taken(text: *mut Opaque) -> Option<Vec<u8>> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the text came from libhashkit, and is not used after it was freed.
    unsafe {
        let start = library::hashkit_string_c_str(text);
        let bytes = crate::arguments::bytes(start, library::hashkit_string_length(text)).to_vec();
        library::hashkit_string_free(text);
        Some(bytes)
    }
}

export! {
    /// A key's hash by one of the functions.
    fn memcached_generate_hash_value(
        key: *const c_char,
        key_length: usize,
        algorithm: HashAlgorithm,
    ) -> u32 {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { library::libhashkit_digest(key, key_length, algorithm) }
    }

    /// The handle's kit, which stays the handle's.
    fn memcached_get_hashkit(handle: *const Handle) -> *const Hashkit {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { handle.as_ref() }.map_or(std::ptr::null(), |handle| &raw const handle.hashkit)
    }

    /// Encrypts the values from now on.
    fn memcached_set_encoding_key(handle: *mut Handle, key: *const c_char, length: usize) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { library::hashkit_key(&mut context.handle.hashkit, key, length) };
        Return::SUCCESS
    }
}
