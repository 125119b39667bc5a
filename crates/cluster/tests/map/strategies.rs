//! Maps of all kinds, for tests of properties.

use farcache_cluster::map::{
    Epoch, HashArc, Incarnation, MapContent, Member, MemberState, Move, Phase, Rule, SLOTS,
    SlotTable, difference, plan_moves,
};
use farcache_cluster::{Address, ClusterMap, ServerId};
use proptest::collection::vec;
use proptest::prelude::*;

fn address(id: u32) -> impl Strategy<Value = Address> {
    let host = prop_oneof![
        Just(format!("cache-{id}.example")),
        Just(format!("fd00::{id:x}")),
    ];
    prop_oneof![
        (host, any::<u16>()).prop_map(|(host, port)| Address { host, port }),
        Just(Address {
            host: format!("/run/farcached/{id}"),
            port: 0,
        }),
    ]
}

fn member(id: u32) -> impl Strategy<Value = Member> {
    let state = prop_oneof![
        4 => Just(MemberState::Serving),
        2 => Just(MemberState::Joining),
        1 => Just(MemberState::Draining),
        1 => Just(MemberState::Gone),
    ];
    let zone = proptest::option::of((0_u32..4).prop_map(|number| format!("rack-{number}")));
    let weight = prop_oneof![1_u32..5, any::<u32>().prop_map(|weight| weight.max(1))];
    let addresses = vec(address(id), 1..4);
    (any::<u64>(), weight, zone, state, addresses).prop_map(
        move |(incarnation, weight, zone, state, mut addresses)| {
            addresses.sort();
            addresses.dedup();
            Member {
                id: ServerId(id),
                incarnation: Incarnation(incarnation),
                weight,
                zone: zone.map(|zone| zone.parse().unwrap()),
                state,
                addresses,
            }
        },
    )
}

fn members() -> impl Strategy<Value = Vec<Member>> {
    vec(1_u32..1000, 0..7).prop_flat_map(|gaps| {
        let ids = gaps.into_iter().scan(0, |id, gap| {
            *id += gap;
            Some(*id)
        });
        ids.map(member).collect::<Vec<_>>()
    })
}

/// Shared out slots, some of which then changed hands.
fn table(content: &MapContent, changes: &[(usize, usize)]) -> Option<SlotTable> {
    let shares = content.shares();
    let mut owners = SlotTable::shared(&shares)?.owners().to_vec();
    for (slot, owner) in changes {
        owners[slot % SLOTS] = shares[owner % shares.len()].0;
    }
    SlotTable::from_owners(owners)
}

/// Moves to this map from one in which a server more or less owns keys, as far as they are allowed.
fn moves(map: &ClusterMap, other: usize, streaming: bool) -> Option<Vec<Move>> {
    let mut before = map.content().clone();
    let other = other.checked_rem(before.servers.len())?;
    let state = &mut before.servers[other].state;
    *state = match state.owns_keys() {
        true => MemberState::Gone,
        false => MemberState::Serving,
    };
    if let Rule::Slots(table) = &before.rule {
        before.rule = Rule::Slots(table.rebalanced(&before.shares())?);
    }
    let before = ClusterMap::new(before).ok()?;
    let mut moves = plan_moves(&difference(&before, map).ok()?);
    moves.retain(|moved| {
        let from = map.server(moved.from);
        from.is_some_and(|from| from.state != MemberState::Gone)
    });
    for (index, moved) in moves.iter_mut().enumerate() {
        if streaming && index % 2 == 0 {
            moved.phase = Phase::Streaming;
        }
        // So that arcs have ends of their own.
        let first = &mut moved.arcs[0];
        let (one, other) = (first.first, first.last);
        *first = HashArc {
            first: one + (other - one) / 3,
            last: other - (other - one) / 3,
        };
    }
    Some(moves)
}

/// A map with any servers, rule and moves.
pub fn map() -> impl Strategy<Value = ClusterMap> {
    let changes = vec((any::<usize>(), any::<usize>()), 0..20);
    let movement = (any::<usize>(), any::<bool>());
    (any::<u64>(), 0..3_u32, members(), changes, movement).prop_map(
        |(epoch, rule, servers, changes, (other, streaming))| {
            let mut content = super::content(Rule::Client, servers);
            content.epoch = Epoch(epoch);
            content.rule = match rule {
                0 => Rule::Ketama,
                1 => table(&content, &changes).map_or(Rule::Client, Rule::Slots),
                _ => Rule::Client,
            };
            let map = ClusterMap::new(content).unwrap();
            let moves = moves(&map, other, streaming).unwrap_or_default();
            let mut content = map.into_content();
            content.moves = moves;
            ClusterMap::new(content).unwrap()
        },
    )
}
