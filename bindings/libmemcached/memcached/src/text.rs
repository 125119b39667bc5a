//! Names and messages.

use farcache_libmemcached_abi::{Behavior, Distribution, Handle, HashAlgorithm, Return};
use std::ffi::c_char;

export! {
    /// What a return code means.
    fn memcached_strerror(_handle: *const Handle, code: Return) -> *const c_char {
        code.text().as_ptr()
    }

    /// The version of libmemcached that this library stands in for.
    fn memcached_lib_version() -> *const c_char {
        c"1.1.4".as_ptr()
    }

    /// The name of a behavior's constant.
    fn libmemcached_string_behavior(behavior: Behavior) -> *const c_char {
        behavior.name().as_ptr()
    }

    /// The name of a distribution's constant.
    fn libmemcached_string_distribution(distribution: Distribution) -> *const c_char {
        distribution.name().as_ptr()
    }

    /// A hash function's name.
    fn libmemcached_string_hash(algorithm: HashAlgorithm) -> *const c_char {
        algorithm.name().as_ptr()
    }
}
