//! All kernels compute the same, at every length and alignment, and write nothing else.

mod common;

use common::{bytes, coders, encoded, slices};
use farcache_erasure::{Coder, Kernel, Scheme};
use proptest::prelude::*;

/// Past every step of every kernel, with and without masks.
const BYTES_MAX: usize = 700;
/// What stands around the shards and must stay.
const GUARD: u8 = 0xEE;

/// The parity in unaligned places between guards; checks the guards.
fn guarded(
    coder: &Coder,
    bytes: usize,
    offset: usize,
    code: impl FnOnce(&mut [&mut [u8]]),
) -> Vec<Vec<u8>> {
    let parity = coder.scheme().parity_shards();
    let mut places = vec![vec![GUARD; offset + bytes + 64]; parity];
    let mut outputs: Vec<&mut [u8]> = places
        .iter_mut()
        .map(|place| &mut place[offset..offset + bytes])
        .collect();
    for output in &mut outputs {
        output.fill(0);
    }
    code(&mut outputs);
    for place in &places {
        let (before, rest) = place.split_at(offset);
        let guards = before.iter().chain(&rest[bytes..]);
        assert!(
            guards.copied().all(|byte| byte == GUARD),
            "{}",
            coder.kernel().name()
        );
    }
    places
        .iter()
        .map(|place| place[offset..offset + bytes].to_vec())
        .collect()
}

/// The scalar kernel's parity, against which the others are held.
fn scalar_parity(k: usize, m: usize, data: &[&[u8]]) -> Vec<Vec<u8>> {
    let scalar = coders(k, m).last().expect("it runs everywhere");
    assert_eq!(scalar.kernel().name(), "scalar");
    encoded(&scalar, data)
}

#[test]
fn every_length_is_encoded_alike() {
    let source = bytes(5 * BYTES_MAX);
    for shard_bytes in 0..=BYTES_MAX {
        let data: Vec<&[u8]> = (0..5)
            .map(|s| &source[s * BYTES_MAX..][..shard_bytes])
            .collect();
        for m in [1, 2, 3, 4, 5] {
            let expected = scalar_parity(5, m, &data);
            for coder in coders(5, m) {
                let found = guarded(&coder, shard_bytes, 3, |parity| {
                    coder.encode(&data, parity).expect("it fits");
                });
                assert_eq!(
                    found,
                    expected,
                    "(5,{m}) {} {shard_bytes}",
                    coder.kernel().name()
                );
            }
        }
    }
}

#[test]
fn the_kernels_of_this_machine_are_all_tested() {
    let names: Vec<_> = Kernel::available().map(Kernel::name).collect();
    assert_eq!(names.last(), Some(&"scalar"));
    #[cfg(target_arch = "x86_64")]
    assert_eq!(is_x86_feature_detected!("avx2"), names.contains(&"avx2"));
    #[cfg(target_arch = "aarch64")]
    assert!(names.contains(&"neon"));
}

fn schemes() -> impl Strategy<Value = (usize, usize)> {
    (1..=20_usize, 1..=9_usize)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 300 }))]

    #[test]
    fn values_of_any_length_are_encoded_in_place((k, m) in schemes(), length in 0..3000_usize, offset in 0..64_usize) {
        let memory = bytes(offset + length);
        let value = &memory[offset..];
        let shard_bytes = Scheme::new(k, m).unwrap().shard_bytes(length);
        let mut padded = value.to_vec();
        padded.resize(k * shard_bytes, 0);
        let data: Vec<&[u8]> = (0..k).map(|s| &padded[s * shard_bytes..][..shard_bytes]).collect();
        let expected = scalar_parity(k, m, &data);
        for coder in coders(k, m) {
            let found = guarded(&coder, shard_bytes, offset, |parity| {
                coder.encode_value(value, parity).expect("it fits");
            });
            prop_assert_eq!(&found, &expected, "{}", coder.kernel().name());
        }
    }

    #[test]
    fn data_shards_may_arrive_one_by_one(
        (k, m) in schemes(),
        shard_bytes in 0..BYTES_MAX,
        offset in 0..64_usize,
        reversed: bool,
    ) {
        let source = bytes(k * shard_bytes);
        let shards: Vec<Vec<u8>> = (0..k).map(|s| source[s * shard_bytes..][..shard_bytes].to_vec()).collect();
        let data = slices(&shards);
        let expected = scalar_parity(k, m, &data);
        let mut order: Vec<usize> = (0..k).collect();
        if reversed {
            order.reverse();
        }
        for coder in coders(k, m) {
            let found = guarded(&coder, shard_bytes, offset, |parity| {
                for &shard in &order {
                    coder.update(shard, data[shard], parity).expect("it fits");
                }
            });
            prop_assert_eq!(&found, &expected, "{}", coder.kernel().name());
        }
    }
}
