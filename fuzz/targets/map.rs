//! A cluster's map: reading any text never panics, a map that is read is written back byte for
//! byte, and it answers for every hash. What moves by it goes on moving, and comes to its end.
#![no_main]

use farcache_cluster::map::{Epoch, Move, Progress, Rule, advanced, difference, planned};
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
    go_on(&map);
});

/// Everything has been done.
struct Done;

impl Progress for Done {
    fn is_acknowledged(&self, _: &Move, _: Epoch) -> bool {
        true
    }

    fn is_complete(&self, _: &Move, _: Epoch) -> bool {
        true
    }
}

fn go_on(map: &ClusterMap) {
    let moving = |map: &ClusterMap| {
        let arcs = map.content().moves.iter().flat_map(|moved| &moved.arcs);
        arcs.map(|arc| arc.hashes()).sum::<u64>()
    };
    let next = planned(map, map.content().clone()).expect("it says what it said");
    assert_eq!(moving(&next.map), moving(map));
    let mut map = next.map;
    for _ in 0..2 {
        if let Some(content) = advanced(&map, &Done) {
            map = ClusterMap::new(content).expect("moves go on");
        }
    }
    assert_eq!(moving(&map), 0);
}

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
