//! Two hashes of Bob Jenkins. Sources: "Algorithm Alley: Hash Functions", Dr. Dobb's Journal,
//! September 1997 (one-at-a-time); <https://burtleburtle.net/bob/c/lookup3.c>, May 2006 (lookup3,
//! `hashlittle`).

use super::{length_word, sign_extended};

/// What libmemcached passes to lookup3 as its `initval`.
const INITIAL_VALUE: u32 = 13;

pub(super) fn one_at_a_time(key: &[u8]) -> u32 {
    let mut hash = 0_u32;
    for &byte in key {
        hash = hash.wrapping_add(sign_extended(byte));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

pub(super) fn lookup3(key: &[u8]) -> u32 {
    let start = 0xdead_beef_u32
        .wrapping_add(length_word(key))
        .wrapping_add(INITIAL_VALUE);
    let mut state = [start; 3];
    let mut rest = key;
    // The last block is mixed otherwise, even a whole one.
    while let Some((block, after)) = rest.split_first_chunk::<12>()
        && !after.is_empty()
    {
        add(&mut state, block);
        mix(&mut state);
        rest = after;
    }
    if rest.is_empty() {
        return state[2];
    }
    let mut block = [0; 12];
    block[..rest.len()].copy_from_slice(rest);
    add(&mut state, &block);
    finish(state)
}

fn add(state: &mut [u32; 3], block: &[u8; 12]) {
    let (words, _) = block.as_chunks::<4>();
    for (word, bytes) in state.iter_mut().zip(words) {
        *word = word.wrapping_add(u32::from_le_bytes(*bytes));
    }
}

/// `mix()`: the same step six times, each time with the words' roles moved on by one.
fn mix(state: &mut [u32; 3]) {
    for bits in [4, 6, 8, 16, 19, 4] {
        let [a, b, c] = *state;
        *state = [
            b,
            c.wrapping_add(b),
            a.wrapping_sub(c) ^ c.rotate_left(bits),
        ];
    }
}

/// `final()`: seven steps; the result is the word that the last one changed.
fn finish(state: [u32; 3]) -> u32 {
    let [mut a, mut b, mut c] = state;
    for bits in [14, 11, 25, 16, 4, 14, 24] {
        let changed = (c ^ b).wrapping_sub(b.rotate_left(bits));
        (a, b, c) = (b, changed, a);
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_values() {
        // <https://en.wikipedia.org/wiki/Jenkins_hash_function>
        assert_eq!(one_at_a_time(b"a"), 0xca2e_9442);
        assert_eq!(
            one_at_a_time(b"The quick brown fox jumps over the lazy dog"),
            0x519e_91f5
        );
    }

    #[test]
    fn an_empty_key_is_not_mixed() {
        assert_eq!(lookup3(b""), 0xdead_beef + INITIAL_VALUE);
    }
}
