//! The hash functions by themselves.

use crate::bytes;
use farcache_cluster::hash::HashAlgorithm as Algorithm;
use farcache_libmemcached_abi::HashAlgorithm;
use md5::{Digest, Md5};
use std::ffi::{c_char, c_uchar, c_void};

/// Length of an MD5 signature.
const MD5_BYTES: usize = 16;

/// Defines the two faces of an algorithm: the exported one, and the one that a `hashkit_st` points
/// to.
macro_rules! algorithms {
    ($($number:ident $exported:ident $pointed:ident => $algorithm:expr;)*) => {
        $(
            #[doc = concat!("The key's hash by `HASHKIT_HASH_", stringify!($number), "`.")]
            ///
            /// # Safety
            /// `key_length` bytes at `key` can be read.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $exported(key: *const c_char, key_length: usize) -> u32 {
                // SAFETY: as the caller promises.
                digest($algorithm, unsafe { bytes(key, key_length) })
            }

            unsafe extern "C" fn $pointed(
                key: *const c_char,
                key_length: usize,
                _context: *mut c_void,
            ) -> u32 {
                // SAFETY: whoever calls a kit's function promises the key.
                digest($algorithm, unsafe { bytes(key, key_length) })
            }
        )*

        /// The function of an algorithm, as a kit points to it.
        pub(crate) fn function(
            algorithm: HashAlgorithm,
        ) -> Option<farcache_libmemcached_abi::HashFunction> {
            match algorithm {
                $(HashAlgorithm::$number => Some($pointed),)*
                _ => None,
            }
        }

        /// The algorithms, in the order of their numbers.
        const ALL: &[HashAlgorithm] = &[$(HashAlgorithm::$number),*];
    };
}

algorithms! {
    DEFAULT libhashkit_one_at_a_time one_at_a_time => Some(Algorithm::Default);
    MD5 libhashkit_md5 md5 => Some(Algorithm::Md5);
    CRC libhashkit_crc32 crc32 => Some(Algorithm::Crc);
    FNV1_64 libhashkit_fnv1_64 fnv1_64 => Some(Algorithm::Fnv1_64);
    FNV1A_64 libhashkit_fnv1a_64 fnv1a_64 => Some(Algorithm::Fnv1a64);
    FNV1_32 libhashkit_fnv1_32 fnv1_32 => Some(Algorithm::Fnv1_32);
    FNV1A_32 libhashkit_fnv1a_32 fnv1a_32 => Some(Algorithm::Fnv1a32);
    HSIEH libhashkit_hsieh hsieh => None;
    MURMUR libhashkit_murmur murmur => Some(Algorithm::Murmur);
    JENKINS libhashkit_jenkins jenkins => Some(Algorithm::Jenkins);
    MURMUR3 libhashkit_murmur3 murmur3 => Some(Algorithm::Murmur3);
}

/// 0 for an algorithm that Debian builds without.
fn digest(algorithm: Option<Algorithm>, key: &[u8]) -> u32 {
    algorithm.map_or(0, |algorithm| algorithm.digest(key))
}

/// The algorithm of a kit's function; `CUSTOM` for the application's own.
pub(crate) fn algorithm_of(
    wanted: Option<farcache_libmemcached_abi::HashFunction>,
) -> HashAlgorithm {
    let Some(wanted) = wanted else {
        return HashAlgorithm::CUSTOM;
    };
    let is_it = |algorithm: &&HashAlgorithm| {
        function(**algorithm).is_some_and(|known| std::ptr::fn_addr_eq(known, wanted))
    };
    ALL.iter()
        .find(is_it)
        .copied()
        .unwrap_or(HashAlgorithm::CUSTOM)
}

/// Whether this build has the algorithm: all but Hsieh's.
#[unsafe(no_mangle)]
pub extern "C" fn libhashkit_has_algorithm(algorithm: HashAlgorithm) -> bool {
    // libhashkit counts the application's own function as one that it has.
    algorithm == HashAlgorithm::CUSTOM
        || algorithm != HashAlgorithm::HSIEH && ALL.contains(&algorithm)
}

/// The key's hash by the algorithm of this number; 1 for one that there is no function of.
///
/// # Safety
/// `key_length` bytes at `key` can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn libhashkit_digest(
    key: *const c_char,
    key_length: usize,
    algorithm: HashAlgorithm,
) -> u32 {
    match function(algorithm) {
        Some(function) if algorithm != HashAlgorithm::HSIEH => {
            // SAFETY: as the caller promises.
            unsafe { function(key, key_length, std::ptr::null_mut()) }
        }
        _ => 1,
    }
}

/// Writes the key's MD5 signature, 16 bytes.
///
/// # Safety
/// `length` bytes at `key` can be read, 16 at `result` written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn libhashkit_md5_signature(
    key: *const c_uchar,
    length: usize,
    result: *mut c_uchar,
) {
    // SAFETY: as the caller promises.
    let signature: [u8; MD5_BYTES] = Md5::digest(unsafe { bytes(key.cast(), length) }).into();
    // SAFETY: as the caller promises; the signature is this function's own.
    unsafe { std::ptr::copy_nonoverlapping(signature.as_ptr(), result, MD5_BYTES) };
}
