//! Shards of any scheme, lengths and losses: what is enough gives the value back, with every
//! kernel, and what does not fit is refused without a panic.
#![no_main]

use farcache_erasure::{Coder, Error, Kernel, Scheme};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [k, m, kernel, a, b, c, d, present, value @ ..] = input else {
        return;
    };
    let Ok(scheme) = Scheme::new(usize::from(k % 34), usize::from(m % 34)) else {
        return;
    };
    let kernels: Vec<Kernel> = Kernel::available().collect();
    let kernel = kernels[usize::from(*kernel) % kernels.len()];
    let mut coder = Coder::with_kernel(scheme, kernel);
    let parity = encode(&coder, value);
    update_like(&coder, value, &parity);
    let lost = u32::from_le_bytes([*a, *b, *c, *d]);
    reconstruct(&mut coder, value, &parity, lost);
    refuse(&mut coder, value, *present);
});

fn encode(coder: &Coder, value: &[u8]) -> Vec<Vec<u8>> {
    let scheme = coder.scheme();
    let mut parity = vec![vec![1; scheme.shard_bytes(value.len())]; scheme.parity_shards()];
    let mut outputs: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
    coder.encode_value(value, &mut outputs).expect("it fits");
    parity
}

/// Computes the parity shard by shard.
fn update_like(coder: &Coder, value: &[u8], expected: &[Vec<u8>]) {
    let scheme = coder.scheme();
    let mut parity = vec![vec![0; scheme.shard_bytes(value.len())]; scheme.parity_shards()];
    let mut outputs: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
    for (shard, data) in scheme.cut(value).iter().enumerate() {
        coder.update(shard, data, &mut outputs).expect("it fits");
    }
    assert_eq!(parity, expected);
}

/// Loses the shards of a set and wants them back.
fn reconstruct(coder: &mut Coder, value: &[u8], parity: &[Vec<u8>], lost: u32) {
    let scheme = coder.scheme();
    let mut shards = scheme.cut(value).to_vec();
    shards.extend(parity.iter().map(Vec::as_slice));
    let is_lost = |shard: usize| lost >> shard & 1 == 1;
    let all = shards.iter().copied().enumerate();
    let present: Vec<_> = all.filter(|(shard, _)| !is_lost(*shard)).collect();
    let wanted: Vec<_> = (0..scheme.shards())
        .filter(|&shard| is_lost(shard))
        .collect();
    let mut found = vec![vec![1; scheme.shard_bytes(value.len())]; wanted.len()];
    let numbers = wanted.iter().copied();
    let mut outputs: Vec<_> = numbers
        .zip(found.iter_mut().map(Vec::as_mut_slice))
        .collect();
    let result = coder.reconstruct(&present, &mut outputs);
    let too_few = Error::TooFewShards {
        needed: scheme.data_shards(),
        present: present.len(),
    };
    if present.len() < scheme.data_shards() {
        assert_eq!(result, Err(too_few));
        return;
    }
    assert_eq!(result, Ok(()));
    for (shard, found) in wanted.iter().zip(&found) {
        let (bytes, padding) = found.split_at(shards[*shard].len());
        assert_eq!(bytes, shards[*shard]);
        assert!(padding.iter().all(|&byte| byte == 0));
    }
}

/// Numbers and lengths as the input has them, which seldom fit.
fn refuse(coder: &mut Coder, bytes: &[u8], present: u8) {
    let shards: Vec<(usize, &[u8])> = bytes
        .chunks(3)
        .take(usize::from(present % 40))
        .map(|shard| (usize::from(shard[0] % 34), shard))
        .collect();
    let (mut first, mut second) = ([0; 3], [0; 3]);
    let wanted = usize::from(present >> 3);
    let _ = coder.reconstruct(&shards, &mut [(wanted, &mut first), (0, &mut second)]);
    let slices: Vec<&[u8]> = shards.iter().map(|(_, shard)| *shard).collect();
    let _ = coder.encode(&slices, &mut [&mut first, &mut second]);
    let _ = coder.update(wanted, bytes, &mut [&mut first]);
}
