//! MD5 of several short keys at the same time.
//!
//! Each step of MD5 needs the result of the one before it, so a processor that hashes one key is
//! idle most of the time. Several keys side by side, one in each lane of its vector registers, take
//! little longer than one.
//!
//! Source: RFC 1321.

use std::array::from_fn;

/// Keys that are hashed side by side: two SSE2 registers, which every amd64 processor has.
pub(super) const LANES: usize = 8;

/// Longest key that takes one block with the bit and the length that end a message, in bytes.
pub(super) const ONE_BLOCK_BYTES: usize = 55;

/// The same words of the messages of all lanes.
type Words = [u32; LANES];

/// The words with which MD5 begins (RFC 1321, 3.3).
const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// By how many bits the steps of each round turn their sums (RFC 1321, 3.4).
const TURNS: [[u32; 4]; 4] = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
];

/// What the 64 steps add: the integer part of 2^32 times the sine's magnitude (RFC 1321, 3.4).
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

/// The first word of the MD5 of each of these keys.
///
/// # Panics
/// Where one is longer than [`ONE_BLOCK_BYTES`].
pub(super) fn first_words(keys: &[&[u8]; LANES]) -> [u32; LANES] {
    let mut message = [[0; LANES]; 16];
    for (lane, key) in keys.iter().enumerate() {
        assert!(key.len() <= ONE_BLOCK_BYTES, "the key takes one block");
        let (words, rest) = key.as_chunks::<4>();
        for (index, word) in words.iter().enumerate() {
            message[index][lane] = u32::from_le_bytes(*word);
        }
        let mut end = [0; 4];
        end[..rest.len()].copy_from_slice(rest);
        end[rest.len()] = 0x80;
        message[words.len()][lane] = u32::from_le_bytes(end);
        message[14][lane] = key.len() as u32 * 8;
    }
    block(&message)
}

/// The first word after one block (RFC 1321, 3.4).
fn block(message: &[Words; 16]) -> Words {
    let mut state = START.map(|word| [word; LANES]);
    for (index, word) in message.iter().enumerate() {
        step(&mut state, 0, index, *word, |b, c, d| d ^ (b & (c ^ d)));
    }
    for index in 0..16 {
        let word = message[(5 * index + 1) % 16];
        step(&mut state, 1, index, word, |b, c, d| c ^ (d & (b ^ c)));
    }
    for index in 0..16 {
        let word = message[(3 * index + 5) % 16];
        step(&mut state, 2, index, word, |b, c, d| b ^ c ^ d);
    }
    for index in 0..16 {
        let word = message[(7 * index) % 16];
        step(&mut state, 3, index, word, |b, c, d| c ^ (b | !d));
    }
    from_fn(|lane| state[0][lane].wrapping_add(START[0]))
}

/// One step in all lanes.
#[inline(always)]
fn step(
    state: &mut [Words; 4],
    round: usize,
    index: usize,
    word: Words,
    mix: impl Fn(u32, u32, u32) -> u32,
) {
    let (sine, turn) = (SINES[round * 16 + index], TURNS[round][index % 4]);
    let [a, b, c, d] = *state;
    let next = from_fn(|lane| {
        let sum = a[lane].wrapping_add(mix(b[lane], c[lane], d[lane]));
        let sum = sum.wrapping_add(word[lane]).wrapping_add(sine);
        sum.rotate_left(turn).wrapping_add(b[lane])
    });
    *state = [d, next, b, c];
}

#[cfg(test)]
mod tests {
    use super::super::md5_words;
    use super::*;

    /// RFC 1321, A.5: the test suite, as far as one block goes.
    #[test]
    fn lanes_agree_with_the_published_values() {
        let keys: [&[u8]; LANES] = [
            b"",
            b"a",
            b"abc",
            b"message digest",
            b"abcdefghijklmnopqrstuvwxyz",
            b"",
            b"abc",
            b"a",
        ];
        let published = [
            0xd98c_1dd4,
            0xb975_c10c,
            0x9850_0190,
            0x7d69_6bf9,
            0xd7d3_fcc3,
            0xd98c_1dd4,
            0x9850_0190,
            0xb975_c10c,
        ];
        assert_eq!(first_words(&keys), published);
    }

    #[test]
    fn lanes_agree_with_keys_hashed_one_by_one_at_every_length() {
        for length in 0..=ONE_BLOCK_BYTES {
            let keys: [Vec<u8>; LANES] = from_fn(|lane| {
                let byte = |index: usize| (index * 37 + lane * 101 + length) as u8;
                (0..(length + lane) % (ONE_BLOCK_BYTES + 1))
                    .map(byte)
                    .collect()
            });
            let expected = keys.each_ref().map(|key| md5_words(key)[0]);
            assert_eq!(first_words(&keys.each_ref().map(Vec::as_slice)), expected);
        }
    }
}
