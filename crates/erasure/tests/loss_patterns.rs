//! Whatever up to m shards are lost, they come back, in every scheme up to (12,4).

mod common;

use common::{bytes, coders, encoded, reconstructed};

/// Every way to lose 1 to m of the shards.
fn losses(shards: usize, parity: usize) -> impl Iterator<Item = Vec<usize>> {
    (1_u32..1 << shards)
        .filter(move |pattern| pattern.count_ones() as usize <= parity)
        .map(move |pattern| (0..shards).filter(|s| pattern >> s & 1 == 1).collect())
}

/// Loses everything that this scheme can lose, with the last data shards short or empty.
fn lose_everything(k: usize, m: usize) {
    let value = bytes(k * 35 - k.min(37) / 2);
    for mut coder in coders(k, m) {
        let mut shards: Vec<&[u8]> = coder.scheme().cut(&value).to_vec();
        let parity = encoded(&coder, &shards);
        shards.extend(parity.iter().map(Vec::as_slice));
        for lost in losses(k + m, m) {
            let found = reconstructed(&mut coder, &shards, &lost);
            for (shard, found) in lost.iter().zip(&found) {
                let (bytes, padding) = found.split_at(shards[*shard].len());
                let kernel = coder.kernel().name();
                assert_eq!(bytes, shards[*shard], "({k},{m}) {kernel} {lost:?}");
                assert!(padding.iter().all(|&byte| byte == 0), "({k},{m}) {kernel}");
            }
        }
    }
}

#[test]
fn every_loss_of_up_to_4_of_16_shards_is_reconstructed() {
    for m in 1..=4 {
        for k in 1..=12 {
            lose_everything(k, m);
        }
    }
}

#[test]
fn more_parity_than_one_pass_computes_is_reconstructed() {
    lose_everything(3, 6);
}
