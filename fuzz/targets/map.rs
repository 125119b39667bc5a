//! A cluster's map: reading any text never panics, a map that is read is written back byte for
//! byte, and it answers for every hash.
#![no_main]

use farcache_cluster::map::{Rule, difference};
use farcache_cluster::{ClusterMap, OWNERS_MAX};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Ok(map) = text.parse::<ClusterMap>() else {
        return;
    };
    let written = map.to_string();
    let says = |line: &&str| !line.is_empty() && !line.starts_with('#');
    assert!(written.lines().eq(text.split('\n').filter(says)));
    assert_eq!(written.parse(), Ok(map.clone()));
    ask(&map);
});

fn ask(map: &ClusterMap) {
    let arcs = map.content().moves.iter().flat_map(|moved| &moved.arcs);
    let ends = arcs.flat_map(|arc| [arc.first, arc.last]);
    for hash in ends.take(64).chain([0, u32::MAX]) {
        let owners = map.locate_hash(hash, OWNERS_MAX);
        assert!(owners.iter().all(|owner| map.server(*owner).is_some()));
        assert_eq!(owners.first(), map.locate_hash(hash, 1).first());
    }
    let has_owners = !map.locate_hash(0, 1).is_empty();
    assert!(!has_owners || map.content().rule != Rule::Client);
    assert_eq!(difference(map, map).ok(), has_owners.then(Vec::new));
}
