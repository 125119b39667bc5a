//! libhashkit's types.

use std::ffi::{c_char, c_uint, c_void};

/// `hashkit_hash_fn`: a key's hash.
pub type HashFunction =
    unsafe extern "C" fn(key: *const c_char, key_length: usize, context: *mut c_void) -> u32;

/// `hashkit_hash_algorithm_t`, and with the same numbers `memcached_hash_t`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashAlgorithm(pub c_uint);

impl HashAlgorithm {
    /// One-at-a-time.
    pub const DEFAULT: Self = Self(0);
    /// MD5.
    pub const MD5: Self = Self(1);
    /// CRC-32.
    pub const CRC: Self = Self(2);
    /// 64-bit FNV-1.
    pub const FNV1_64: Self = Self(3);
    /// 64-bit FNV-1a.
    pub const FNV1A_64: Self = Self(4);
    /// 32-bit FNV-1.
    pub const FNV1_32: Self = Self(5);
    /// 32-bit FNV-1a.
    pub const FNV1A_32: Self = Self(6);
    /// Hsieh's, which Debian builds without.
    pub const HSIEH: Self = Self(7);
    /// MurmurHash2.
    pub const MURMUR: Self = Self(8);
    /// lookup3.
    pub const JENKINS: Self = Self(9);
    /// MurmurHash3.
    pub const MURMUR3: Self = Self(10);
    /// A function of the application's own.
    pub const CUSTOM: Self = Self(11);
    /// One more than the last.
    pub const MAX: Self = Self(12);

    /// The name of libhashkit's manual.
    #[must_use]
    pub const fn name(self) -> &'static std::ffi::CStr {
        match self.0 {
            0 => c"DEFAULT",
            1 => c"MD5",
            2 => c"CRC",
            3 => c"FNV1_64",
            4 => c"FNV1A_64",
            5 => c"FNV1_32",
            6 => c"FNV1A_32",
            7 => c"HSIEH",
            8 => c"MURMUR",
            9 => c"JENKINS",
            10 => c"MURMUR3",
            11 => c"CUSTOM",
            _ => c"INVALID",
        }
    }
}

/// `hashkit_return_t`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashReturn(pub c_uint);

impl HashReturn {
    /// The call has done what was asked.
    pub const SUCCESS: Self = Self(0);
    /// The call has failed.
    pub const FAILURE: Self = Self(1);
    /// No memory.
    pub const MEMORY_ALLOCATION_FAILURE: Self = Self(2);
    /// There is no such algorithm.
    pub const INVALID_HASH: Self = Self(3);
    /// An argument makes no sense.
    pub const INVALID_ARGUMENT: Self = Self(4);

    /// What `hashkit_strerror` says.
    #[must_use]
    pub const fn text(self) -> &'static std::ffi::CStr {
        match self.0 {
            0 => c"SUCCESS",
            1 => c"FAILURE",
            2 => c"MEMORY ALLOCATION FAILURE",
            3 => c"INVALID hashkit_hash_algorithm_t",
            4 => c"INVALID ARGUMENT",
            _ => c"INVALID hashkit_return_t",
        }
    }
}

/// `hashkit_function_st`: a hash function and what it is called with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HashkitFunction {
    /// The function.
    pub function: Option<HashFunction>,
    /// Its last argument.
    pub context: *mut c_void,
}

/// `hashkit_st`.
#[repr(C)]
#[derive(Debug)]
pub struct Hashkit {
    /// Hashes keys.
    pub base_hash: HashkitFunction,
    /// Hashes servers.
    pub distribution_hash: HashkitFunction,
    /// Bit 0: `is_base_same_distributed`.
    pub flags: u8,
    /// Bit 0: `is_allocated`.
    pub options: u8,
    /// The cipher, if there is one.
    pub key: *mut c_void,
}
