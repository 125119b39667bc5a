use crate::bytes;
use farcache_cluster::hash::HashAlgorithm;

const GOLDEN: &str = include_str!("hashes.txt");

#[test]
fn every_hash_is_that_of_libmemcached() {
    let (names, lines) = GOLDEN.split_once('\n').unwrap();
    let algorithms: Vec<_> = names
        .split(' ')
        .map(|name| HashAlgorithm::from_name(name).unwrap())
        .collect();
    assert_eq!(algorithms, HashAlgorithm::ALL);
    let mut key_count = 0;
    for line in lines.lines() {
        let (key, hashes) = line.split_once(' ').unwrap();
        let wanted = hashes
            .split(' ')
            .map(|hash| u32::from_str_radix(hash, 16).unwrap());
        let wanted: Vec<_> = wanted.collect();
        let digests: Vec<_> = algorithms
            .iter()
            .map(|algorithm| algorithm.digest(&bytes(key)))
            .collect();
        assert_eq!(digests, wanted, "key {key}");
        key_count += 1;
    }
    assert!(key_count > 400, "{key_count} keys");
}
