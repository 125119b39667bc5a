//! Names and messages.

use farcache_libmemcached_abi::{HashAlgorithm, HashReturn, Hashkit};
use std::ffi::c_char;

/// The algorithm's name.
#[unsafe(no_mangle)]
pub extern "C" fn libhashkit_string_hash(algorithm: HashAlgorithm) -> *const c_char {
    algorithm.name().as_ptr()
}

/// What a return code means.
#[unsafe(no_mangle)]
pub extern "C" fn hashkit_strerror(_kit: *mut Hashkit, code: HashReturn) -> *const c_char {
    code.text().as_ptr()
}
