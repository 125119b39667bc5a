//! Which of several servers a key belongs to, as pymemcache's `HashClient` decides it: the one
//! whose name, joined with the key, has the highest hash. A fleet of both kinds of client so finds
//! every key on the same server.

use pyo3::prelude::*;

/// The index of the key's server among these names; None without names.
#[pyfunction]
pub fn rendezvous(names: Vec<String>, key: &str) -> Option<usize> {
    let score = |name: &String| murmur3(format!("{name}-{key}").chars().map(|letter| letter as u8));
    let scored = names.iter().enumerate();
    // Of equal scores the greater name wins.
    scored
        .max_by_key(|(_, name)| (score(name), *name))
        .map(|(index, _)| index)
}

/// MurmurHash3 x86 32 with seed 0, of the low byte of each letter.
/// Source: <https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp> (public domain).
fn murmur3(letters: impl Iterator<Item = u8>) -> u32 {
    let (mut hash, mut length, mut block) = (0u32, 0u32, 0u32);
    for letter in letters {
        block |= u32::from(letter) << (8 * (length % 4));
        length += 1;
        if length.is_multiple_of(4) {
            hash = (hash ^ scrambled(block)).rotate_left(13);
            hash = hash.wrapping_mul(5).wrapping_add(0xe654_6b64);
            block = 0;
        }
    }
    hash ^= scrambled(block) ^ length;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

fn scrambled(block: u32) -> u32 {
    let block = block.wrapping_mul(0xcc9e_2d51).rotate_left(15);
    block.wrapping_mul(0x1b87_3593)
}
