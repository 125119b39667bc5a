//! MD5 of several short keys at the same time.
//!
//! Each step of MD5 needs the result of the one before it, so a processor that hashes one key is
//! idle most of the time. Several keys side by side, one in each lane of its vector registers, take
//! little longer than one.
//!
//! Left to itself the compiler does not put the lanes into vector registers, so they are written as
//! such; which registers there are is found out when the program runs.
//!
//! Source: RFC 1321.

use pulp::{Arch, Scalar, Simd, WithSimd};

/// Keys that are hashed side by side at most: what two registers of AVX-512 hold. Processors with
/// narrower registers take several turns.
pub(super) const LANES: usize = 32;

/// Keys that are hashed side by side where there are few: what one such register holds.
pub(super) const FEW_LANES: usize = LANES / 2;

/// Longest key that takes one block with the bit and the length that end a message, in bytes.
pub(super) const ONE_BLOCK_BYTES: usize = 55;

/// One word of each lane's message, all at the same place in it.
type Words<const N: usize> = [u32; N];

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
pub(super) fn first_words<const N: usize>(keys: &[&[u8]; N]) -> Words<N> {
    Arch::new().dispatch(Block(&messages(keys)))
}

/// The first word of the MD5 of one key, for which vector registers would bring nothing.
///
/// # Panics
/// As [`first_words`].
pub(super) fn first_word(key: &[u8]) -> u32 {
    Block(&messages(&[key])).with_simd(Scalar)[0]
}

/// The keys as MD5's messages, word by word, with the bit and the length that end each.
fn messages<const N: usize>(keys: &[&[u8]; N]) -> [Words<N>; 16] {
    let mut messages = [[0; N]; 16];
    for (lane, key) in keys.iter().enumerate() {
        assert!(key.len() <= ONE_BLOCK_BYTES, "the key takes one block");
        let (words, rest) = key.as_chunks::<4>();
        for (index, word) in words.iter().enumerate() {
            messages[index][lane] = u32::from_le_bytes(*word);
        }
        let bytes = rest.iter().rev();
        let end = bytes.fold(0x80, |end, &byte| end << 8 | u32::from(byte));
        messages[words.len()][lane] = end;
        messages[14][lane] = key.len() as u32 * 8;
    }
    messages
}

/// The first word of each lane after its only block (RFC 1321, 3.4).
struct Block<'m, const N: usize>(&'m [Words<N>; 16]);

impl<const N: usize> WithSimd for Block<'_, N> {
    type Output = Words<N>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Words<N> {
        // Each step needs the result of the one before, so a second register's steps run meanwhile.
        if 2 * S::U32_LANES <= N {
            self.by_registers::<S, 2>(simd)
        } else {
            self.by_registers::<S, 1>(simd)
        }
    }
}

impl<const N: usize> Block<'_, N> {
    /// So many registers at the same time.
    #[inline(always)]
    fn by_registers<S: Simd, const R: usize>(self, simd: S) -> Words<N> {
        let mut firsts = [0; N];
        let mut first = 0;
        while first < N {
            let mut words = [[simd.splat_u32s(0); R]; 16];
            for (word, registers) in words.iter_mut().enumerate() {
                let lanes = self.0[word][first..].chunks(S::U32_LANES);
                for (register, lanes) in registers.iter_mut().zip(lanes) {
                    *register = simd.partial_load_u32s(lanes);
                }
            }
            let results = one_block(simd, &words);
            let lanes = firsts[first..].chunks_mut(S::U32_LANES);
            for (lanes, result) in lanes.zip(results) {
                simd.partial_store_u32s(lanes, result);
            }
            first += R * S::U32_LANES;
        }
        firsts
    }
}

/// The first words of the hashes in all lanes of `R` registers, which are computed side by side.
#[inline(always)]
fn one_block<S: Simd, const R: usize>(simd: S, message: &[[S::u32s; R]; 16]) -> [S::u32s; R] {
    let mut state = [[simd.splat_u32s(0); R]; 4];
    for (word, start) in state.iter_mut().zip(START) {
        *word = [simd.splat_u32s(start); R];
    }
    // What each round mixes, and which word its steps add.
    let first = |b, c, d| simd.xor_u32s(d, simd.and_u32s(b, simd.xor_u32s(c, d)));
    round(simd, &mut state, message, 0, first, |index| index);
    // As RFC 1321 writes it: of `c` and `d`, which are known before `b`, one part is ready by then.
    let second = |b, c, d| simd.or_u32s(simd.and_u32s(d, b), simd.and_u32s(simd.not_u32s(d), c));
    round(simd, &mut state, message, 1, second, |index| 5 * index + 1);
    let third = |b, c, d| simd.xor_u32s(b, simd.xor_u32s(c, d));
    round(simd, &mut state, message, 2, third, |index| 3 * index + 5);
    let fourth = |b, c, d| simd.xor_u32s(c, simd.or_u32s(b, simd.not_u32s(d)));
    round(simd, &mut state, message, 3, fourth, |index| 7 * index);
    let mut firsts = state[0];
    for register in &mut firsts {
        *register = simd.add_u32s(*register, simd.splat_u32s(START[0]));
    }
    firsts
}

/// The sixteen steps of a round in all lanes of some registers.
#[inline(always)]
fn round<S: Simd, const R: usize>(
    simd: S,
    state: &mut [[S::u32s; R]; 4],
    message: &[[S::u32s; R]; 16],
    round: usize,
    mix: impl Fn(S::u32s, S::u32s, S::u32s) -> S::u32s,
    word: impl Fn(usize) -> usize,
) {
    let [mut a, mut b, mut c, mut d] = *state;
    // Four at a time, so that it is known to the compiler by how many bits each turns.
    for first in [0, 4, 8, 12] {
        let added = |step| {
            (
                &message[word(first + step) % 16],
                SINES[round * 16 + first + step],
            )
        };
        let [one, two, three, four] = TURNS[round];
        step(simd, &mut a, [&b, &c, &d], added(0), one, &mix);
        step(simd, &mut d, [&a, &b, &c], added(1), two, &mix);
        step(simd, &mut c, [&d, &a, &b], added(2), three, &mix);
        step(simd, &mut b, [&c, &d, &a], added(3), four, &mix);
    }
    *state = [a, b, c, d];
}

/// One step in all lanes of some registers: `a` becomes what it makes of `b`, `c` and `d`.
#[inline(always)]
fn step<S: Simd, const R: usize>(
    simd: S,
    a: &mut [S::u32s; R],
    [b, c, d]: [&[S::u32s; R]; 3],
    (message, sine): (&[S::u32s; R], u32),
    turn: u32,
    mix: &impl Fn(S::u32s, S::u32s, S::u32s) -> S::u32s,
) {
    for register in 0..R {
        let added = simd.add_u32s(message[register], simd.splat_u32s(sine));
        let mixed = mix(b[register], c[register], d[register]);
        let sum = simd.add_u32s(simd.add_u32s(a[register], added), mixed);
        let high = simd.wrapping_dyn_shl_u32s(sum, simd.splat_u32s(turn));
        let low = simd.wrapping_dyn_shr_u32s(sum, simd.splat_u32s(32 - turn));
        a[register] = simd.add_u32s(simd.or_u32s(high, low), b[register]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::md5_words;
    use super::*;
    use std::array::from_fn;

    /// What lanes that hold no key of the test hold.
    const EMPTY: &[u8] = b"";
    const EMPTY_FIRST: u32 = 0xd98c_1dd4;

    /// RFC 1321, A.5: the test suite, as far as one block goes.
    fn agree_with_the_published_values<const N: usize>() {
        let published: [(&[u8], u32); 5] = [
            (b"", EMPTY_FIRST),
            (b"a", 0xb975_c10c),
            (b"abc", 0x9850_0190),
            (b"message digest", 0x7d69_6bf9),
            (b"abcdefghijklmnopqrstuvwxyz", 0xd7d3_fcc3),
        ];
        for first in 0..N {
            let (mut keys, mut firsts) = ([EMPTY; N], [EMPTY_FIRST; N]);
            for (index, (key, word)) in published.into_iter().enumerate() {
                let lane = (first + index) % N;
                (keys[lane], firsts[lane]) = (key, word);
            }
            assert_eq!(first_words(&keys), firsts);
        }
    }

    fn agree_with_keys_hashed_one_by_one<const N: usize>() {
        for length in 0..=ONE_BLOCK_BYTES {
            let keys: [Vec<u8>; N] = from_fn(|lane| {
                let byte = |index: usize| (index * 37 + lane * 101 + length) as u8;
                (0..(length + lane) % (ONE_BLOCK_BYTES + 1))
                    .map(byte)
                    .collect()
            });
            let expected = keys.each_ref().map(|key| md5_words(key)[0]);
            let keys = keys.each_ref().map(Vec::as_slice);
            assert_eq!(first_words(&keys), expected);
            assert_eq!(Block(&messages(&keys)).with_simd(Scalar), expected);
        }
    }

    #[test]
    fn lanes_agree_with_the_published_values() {
        agree_with_the_published_values::<FEW_LANES>();
        agree_with_the_published_values::<LANES>();
    }

    #[test]
    fn a_single_key_agrees_with_the_library_at_every_length() {
        for length in 0..=ONE_BLOCK_BYTES {
            let key: Vec<u8> = (0..length).map(|index| (index * 37) as u8).collect();
            assert_eq!(first_word(&key), md5_words(&key)[0]);
        }
    }

    #[test]
    fn lanes_agree_with_keys_hashed_one_by_one_at_every_length() {
        agree_with_keys_hashed_one_by_one::<FEW_LANES>();
        agree_with_keys_hashed_one_by_one::<LANES>();
    }
}
