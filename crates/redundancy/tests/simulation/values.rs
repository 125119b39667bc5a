//! Values that tell what they are, and their shards, made by the real coder.

use farcache_erasure::{Coder, Scheme};
use farcache_redundancy::Redundancy;
use farcache_redundancy::plan::Part;
use std::collections::BTreeMap;

/// Not a multiple of the shards, so that the last one is short.
const VALUE_BYTES: usize = 31;

/// The value of a write.
pub fn value(number: u32) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9);
    let filler = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    number
        .to_le_bytes()
        .into_iter()
        .chain(filler)
        .take(VALUE_BYTES)
        .collect()
}

/// Which write a value is of; none where it is of no write.
pub fn number_of(bytes: &[u8]) -> Option<u32> {
    let number = u32::from_le_bytes(*bytes.first_chunk()?);
    (bytes == value(number)).then_some(number)
}

fn scheme_of(redundancy: Redundancy) -> Scheme {
    match redundancy {
        Redundancy::Erasure(scheme) => scheme,
        _ => panic!("only values under ec have shards"),
    }
}

/// The bytes of a part.
pub fn part_of(redundancy: Redundancy, bytes: &[u8], part: Part) -> Vec<u8> {
    let shard = match part {
        Part::Tombstone | Part::Witness => return Vec::new(),
        Part::Copy => return bytes.to_vec(),
        Part::Shard(shard) => usize::from(shard),
    };
    let scheme = scheme_of(redundancy);
    if let Some(data) = scheme.cut(bytes).get(shard) {
        return data.to_vec();
    }
    let shard_bytes = scheme.shard_bytes(bytes.len());
    let mut parity = vec![vec![0; shard_bytes]; scheme.parity_shards()];
    let mut slices: Vec<&mut [u8]> = parity.iter_mut().map(|one| &mut one[..]).collect();
    Coder::new(scheme).encode_value(bytes, &mut slices).unwrap();
    parity[shard - scheme.data_shards()].clone()
}

/// The value of k shards, by their numbers.
pub fn decode(redundancy: Redundancy, shards: &BTreeMap<u8, Vec<u8>>) -> Vec<u8> {
    let scheme = scheme_of(redundancy);
    let shard_bytes = scheme.shard_bytes(VALUE_BYTES);
    let padded: BTreeMap<usize, Vec<u8>> = shards
        .iter()
        .map(|(number, bytes)| {
            let mut bytes = bytes.clone();
            bytes.resize(shard_bytes, 0);
            (usize::from(*number), bytes)
        })
        .collect();
    let data = scheme.data_shards();
    let missing: Vec<usize> = (0..data).filter(|one| !padded.contains_key(one)).collect();
    let mut made = vec![vec![0; shard_bytes]; missing.len()];
    let known: Vec<(usize, &[u8])> = padded
        .iter()
        .map(|(one, bytes)| (*one, &bytes[..]))
        .collect();
    let mut wanted: Vec<(usize, &mut [u8])> = missing
        .iter()
        .copied()
        .zip(made.iter_mut().map(|one| &mut one[..]))
        .collect();
    Coder::new(scheme).reconstruct(&known, &mut wanted).unwrap();
    let made: BTreeMap<usize, Vec<u8>> = missing.into_iter().zip(made).collect();
    let shard = |number: usize| padded.get(&number).or_else(|| made.get(&number)).unwrap();
    let mut value: Vec<u8> = (0..data).flat_map(|number| shard(number).clone()).collect();
    value.truncate(VALUE_BYTES);
    value
}

#[test]
fn any_shards_give_the_value_back() {
    let redundancy: Redundancy = "ec:3,2".parse().unwrap();
    let bytes = value(5);
    for pattern in 0_u32..32 {
        let chosen = (0..5_u8).filter(|shard| pattern >> shard & 1 == 1);
        let part = |shard| part_of(redundancy, &bytes, Part::Shard(shard));
        let shards: BTreeMap<u8, Vec<u8>> = chosen.map(|shard| (shard, part(shard))).collect();
        if shards.len() == 3 {
            assert_eq!(
                number_of(&decode(redundancy, &shards)),
                Some(5),
                "{pattern:b}"
            );
        }
    }
    assert_eq!(number_of(&value(5)[..30]), None);
}
