//! Shards equal those of ISA-L 2.31, which `golden/make.c` has written down.

mod common;

use common::{bytes, coders, encoded};

fn from_hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn shards_equal_those_of_isa_l() {
    for line in include_str!("golden/shards.txt").lines() {
        let mut words = line.split(' ');
        let [k, m, shard_bytes] = [(); 3].map(|()| words.next().unwrap().parse::<usize>().unwrap());
        let expected: Vec<_> = words.map(from_hex).collect();
        let data = bytes(k * shard_bytes);
        let data: Vec<&[u8]> = data.chunks(shard_bytes).collect();
        for coder in coders(k, m) {
            let found = encoded(&coder, &data);
            assert_eq!(found, expected, "({k},{m}) {}", coder.kernel().name());
        }
    }
}
