//! Maps of clusters: their text, whom they give keys to, and what changes between two of them.

mod differences;
mod moves;
mod owners;
mod strategies;
mod texts;

use farcache_cluster::map::{Epoch, Incarnation, MapContent, Member, MemberState, Rule, SlotTable};
use farcache_cluster::{Address, ClusterMap, ServerId};

/// A server of weight 1 without a zone.
fn member(id: u32) -> Member {
    Member {
        id: ServerId(id),
        incarnation: Incarnation(1),
        weight: 1,
        zone: None,
        state: MemberState::Serving,
        addresses: vec![Address {
            host: format!("cache-{id}.example"),
            port: 11211,
        }],
    }
}

/// A map at rest with these servers.
fn content(rule: Rule, servers: impl IntoIterator<Item = Member>) -> MapContent {
    MapContent {
        cluster: "orders".parse().unwrap(),
        epoch: Epoch(1),
        rule,
        servers: servers.into_iter().collect(),
        moves: Vec::new(),
    }
}

fn ketama(servers: impl IntoIterator<Item = Member>) -> ClusterMap {
    ClusterMap::new(content(Rule::Ketama, servers)).unwrap()
}

/// Its slots are shared out anew.
fn slots(servers: impl IntoIterator<Item = Member>) -> ClusterMap {
    let mut content = content(Rule::Ketama, servers);
    content.rule = Rule::Slots(SlotTable::shared(&content.shares()).unwrap());
    ClusterMap::new(content).unwrap()
}

/// Hashes from everywhere: a sequence of full period.
fn hashes(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|number| number.wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15))
}
