//! The hashes of Fowler, Noll and Vo. Source: draft-eastlake-fnv, "The FNV Non-Cryptographic Hash
//! Algorithm".
//!
//! libmemcached returns the lower half of the 64-bit hashes.

use super::sign_extended;

const BASIS_32: u32 = 0x811c_9dc5;
const PRIME_32: u32 = 0x0100_0193;
const BASIS_64: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME_64: u64 = 0x0000_0100_0000_01b3;

pub(super) fn fnv1_32(key: &[u8]) -> u32 {
    key.iter().fold(BASIS_32, |hash, &byte| {
        hash.wrapping_mul(PRIME_32) ^ sign_extended(byte)
    })
}

pub(super) fn fnv1a_32(key: &[u8]) -> u32 {
    key.iter().fold(BASIS_32, |hash, &byte| {
        (hash ^ sign_extended(byte)).wrapping_mul(PRIME_32)
    })
}

pub(super) fn fnv1_64(key: &[u8]) -> u32 {
    let step = |hash: u64, &byte: &u8| hash.wrapping_mul(PRIME_64) ^ u64::from(sign_extended(byte));
    key.iter().fold(BASIS_64, step) as u32
}

pub(super) fn fnv1a_64(key: &[u8]) -> u32 {
    let step =
        |hash: u64, &byte: &u8| (hash ^ u64::from(sign_extended(byte))).wrapping_mul(PRIME_64);
    key.iter().fold(BASIS_64, step) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_values() {
        // From the authors' test suite (test_fnv.c), key "foobar"; of the 64-bit hashes the lower
        // half.
        assert_eq!(fnv1_32(b"foobar"), 0x31f0_b262);
        assert_eq!(fnv1a_32(b"foobar"), 0xbf9c_f968);
        assert_eq!(fnv1_64(b"foobar"), 0x340d_8765_a4dd_a9c2_u64 as u32);
        assert_eq!(fnv1a_64(b"foobar"), 0x8594_4171_f739_67e8_u64 as u32);
    }
}
