//! What placement costs: `cargo run --release -p farcache-bench --example placement`.
//!
//! Builds maps of 3 to 1,000 servers, reads them from their text, asks for owners and compares a
//! map with the one that has one server more. Every figure is the best of five turns.

use farcache_cluster::map::{
    Epoch, Incarnation, MapContent, Member, MemberState, Rule, SlotTable, difference,
};
use farcache_cluster::{Address, ClusterMap, ServerId};
use std::hint::black_box;
use std::time::Instant;

const TURNS: usize = 5;
const LOOKUPS: u32 = 2_000_000;

fn member(id: u32) -> Member {
    Member {
        id: ServerId(id),
        incarnation: Incarnation(1),
        weight: 1,
        zone: Some(format!("rack-{}", id % 20).parse().expect("a name")),
        state: MemberState::Serving,
        addresses: vec![Address {
            host: format!("cache-{id}.example"),
            port: 11211,
        }],
    }
}

fn content(servers: u32, is_ketama: bool) -> MapContent {
    let mut content = MapContent {
        cluster: "bench".parse().expect("a name"),
        epoch: Epoch(1),
        rule: Rule::Ketama,
        servers: (0..servers).map(member).collect(),
        moves: Vec::new(),
    };
    if !is_ketama {
        let table = SlotTable::shared(&content.shares()).expect("servers");
        content.rule = Rule::Slots(table);
    }
    content
}

/// Seconds of the fastest turn.
fn best<T>(mut turn: impl FnMut() -> T) -> f64 {
    let mut times = (0..TURNS).map(|_| {
        let start = Instant::now();
        black_box(turn());
        start.elapsed().as_secs_f64()
    });
    times.by_ref().fold(f64::INFINITY, f64::min)
}

/// Nanoseconds of a question for the owners of a hash.
fn lookup_ns(map: &ClusterMap, wanted: usize) -> f64 {
    let seconds = best(|| {
        let mut sum = 0;
        for number in 0..LOOKUPS {
            let hash = black_box(number.wrapping_mul(0x9e37_79b1));
            sum += map.locate_hash(hash, wanted).last().map_or(0, |id| id.0);
        }
        sum
    });
    seconds * 1e9 / f64::from(LOOKUPS)
}

fn main() {
    println!("placement servers build_ms read_ms difference_ms owner_ns three_owners_ns");
    for is_ketama in [true, false] {
        for servers in [3, 100, 1000] {
            let content = content(servers, is_ketama);
            let build = || ClusterMap::new(content.clone()).expect("a map");
            let map = build();
            let text = map.to_string();
            let mut grown = content.clone();
            grown.servers.push(member(servers));
            if let Rule::Slots(table) = &content.rule {
                grown.rule = Rule::Slots(table.rebalanced(&grown.shares()).expect("servers"));
            }
            let grown = ClusterMap::new(grown).expect("a map");
            println!(
                "{} {servers} {:.2} {:.2} {:.2} {:.1} {:.1}",
                content.rule.word(),
                best(build) * 1e3,
                best(|| text.parse::<ClusterMap>()) * 1e3,
                best(|| difference(&map, &grown)) * 1e3,
                lookup_ns(&map, 1),
                lookup_ns(&map, 3),
            );
        }
    }
}
