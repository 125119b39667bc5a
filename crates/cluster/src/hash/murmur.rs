//! Austin Appleby's MurmurHash2 and 32-bit MurmurHash3. Source:
//! <https://github.com/aappleby/smhasher> (`MurmurHash2.cpp`, `MurmurHash3.cpp`), reading words
//! little endian.

use super::length_word;

const MURMUR2_MULTIPLIER: u32 = 0x5bd1_e995;

pub(super) fn murmur2(key: &[u8]) -> u32 {
    let mut hash = seed(key) ^ length_word(key);
    let (blocks, tail) = key.as_chunks::<4>();
    for block in blocks {
        let word = u32::from_le_bytes(*block).wrapping_mul(MURMUR2_MULTIPLIER);
        let word = (word ^ (word >> 24)).wrapping_mul(MURMUR2_MULTIPLIER);
        hash = hash.wrapping_mul(MURMUR2_MULTIPLIER) ^ word;
    }
    if !tail.is_empty() {
        hash = (hash ^ padded_word(tail)).wrapping_mul(MURMUR2_MULTIPLIER);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(MURMUR2_MULTIPLIER);
    hash ^ (hash >> 15)
}

pub(super) fn murmur3(key: &[u8]) -> u32 {
    let (blocks, tail) = key.as_chunks::<4>();
    let mut hash = seed(key);
    for block in blocks {
        hash ^= murmur3_scramble(u32::from_le_bytes(*block));
        hash = hash
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64);
    }
    // An empty tail scrambles to zero and changes nothing.
    hash ^= murmur3_scramble(padded_word(tail));
    murmur3_finish(hash ^ length_word(key))
}

fn murmur3_scramble(word: u32) -> u32 {
    word.wrapping_mul(0xcc9e_2d51)
        .rotate_left(15)
        .wrapping_mul(0x1b87_3593)
}

fn murmur3_finish(mut hash: u32) -> u32 {
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

/// libmemcached's seed of both.
fn seed(key: &[u8]) -> u32 {
    0xdead_beef_u32.wrapping_mul(length_word(key))
}

/// Up to three bytes as a little-endian word.
fn padded_word(tail: &[u8]) -> u32 {
    tail.iter()
        .rev()
        .fold(0, |word, &byte| (word << 8) | u32::from(byte))
}
