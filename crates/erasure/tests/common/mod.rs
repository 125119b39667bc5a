//! What the tests share: bytes to encode, and shards as the coder takes them.
#![allow(dead_code, reason = "each test file uses a part of it")]

use farcache_erasure::{Coder, Kernel, Scheme};

/// Bytes that look random: a linear congruential generator's, as in `golden/make.c`.
pub fn bytes(count: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        (state >> 16) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// A coder for each kernel that runs here.
pub fn coders(data: usize, parity: usize) -> impl Iterator<Item = Coder> {
    let scheme = Scheme::new(data, parity).expect("a scheme");
    Kernel::available().map(move |kernel| Coder::with_kernel(scheme, kernel))
}

pub fn slices(shards: &[Vec<u8>]) -> Vec<&[u8]> {
    shards.iter().map(Vec::as_slice).collect()
}

/// The parity shards of these data shards, in memory that was not zero.
pub fn encoded(coder: &Coder, data: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut parity = vec![vec![0x5A; data[0].len()]; coder.scheme().parity_shards()];
    let mut outputs: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
    coder.encode(data, &mut outputs).expect("it fits");
    parity
}

/// The wanted shards, from all others that are not among them.
pub fn reconstructed(coder: &mut Coder, shards: &[&[u8]], wanted: &[usize]) -> Vec<Vec<u8>> {
    let all = shards.iter().copied().enumerate();
    let present: Vec<_> = all.filter(|(shard, _)| !wanted.contains(shard)).collect();
    let whole = shards.last().expect("a parity shard").len();
    let mut found = vec![vec![0x5A; whole]; wanted.len()];
    let mut outputs: Vec<_> = wanted
        .iter()
        .zip(&mut found)
        .map(|(&shard, bytes)| (shard, bytes.as_mut_slice()))
        .collect();
    coder.reconstruct(&present, &mut outputs).expect("enough");
    found
}
