use crate::{hashes, ketama, member, slots, strategies};
use farcache_cluster::map::{
    Change, HashArc, Incomparable, MapContent, Rule, SLOTS, difference, plan_moves,
};
use farcache_cluster::{ClusterMap, ServerId};
use proptest::prelude::*;

/// The change on which a hash lies.
fn change_of(changes: &[Change], hash: u32) -> Option<&Change> {
    let after = changes.partition_point(|change| change.arc.first <= hash);
    let change = &changes[after.checked_sub(1)?];
    change.arc.contains(hash).then_some(change)
}

/// Compares a difference with what both maps say of each of these hashes.
fn check(
    old: &ClusterMap,
    new: &ClusterMap,
    changes: &[Change],
    hashes: impl Iterator<Item = u32>,
) {
    for hash in hashes {
        let from = old.locate_hash(hash, 1)[0];
        let to = new.locate_hash(hash, 1)[0];
        let told = change_of(changes, hash).map(|change| (change.from, change.to));
        assert_eq!(told, (from != to).then_some((from, to)), "hash {hash:08x}");
    }
}

/// The ends of all arcs and the hashes beside them.
fn ends(changes: &[Change]) -> impl Iterator<Item = u32> {
    changes.iter().flat_map(|Change { arc, .. }| {
        let HashArc { first, last } = *arc;
        [first.wrapping_sub(1), first, last, last.wrapping_add(1)]
    })
}

fn check_everywhere(old: &ClusterMap, new: &ClusterMap) -> Vec<Change> {
    let changes = difference(old, new).unwrap();
    check(old, new, &changes, hashes(100_000));
    check(old, new, &changes, ends(&changes));
    for pair in changes.windows(2) {
        let (low, high) = (pair[0], pair[1]);
        assert!(low.arc.last < high.arc.first);
        let goes_on = low.arc.last + 1 == high.arc.first;
        assert!(!goes_on || (low.from, low.to) != (high.from, high.to));
    }
    changes
}

fn hashes_of(changes: &[Change]) -> u64 {
    changes.iter().map(|change| change.arc.hashes()).sum()
}

#[test]
fn the_difference_of_rings_is_what_a_look_at_every_hash_finds() {
    for (before, after) in [(1, 2), (3, 4), (10, 11), (11, 10), (24, 25), (40, 30)] {
        let (old, new) = (
            ketama((0..before).map(member)),
            ketama((0..after).map(member)),
        );
        check_everywhere(&old, &new);
    }
}

#[test]
fn a_ring_without_its_quirk_moves_keys_to_the_server_that_joins_only() {
    let joined = ServerId(3);
    let changes = difference(&ketama((0..3).map(member)), &ketama((0..4).map(member))).unwrap();
    assert!(changes.iter().all(|change| change.to == joined));
    // A quarter of all hashes, as far as 160 points share them out.
    let share = hashes_of(&changes) as f64 / (1_u64 << 32) as f64;
    assert!((0.15..0.35).contains(&share), "{share}");
}

#[test]
fn single_precision_moves_keys_between_servers_that_stay() {
    let changes = difference(&ketama((0..24).map(member)), &ketama((0..25).map(member))).unwrap();
    let (joining, staying): (Vec<Change>, _) =
        changes.iter().partition(|change| change.to == ServerId(24));
    let share = hashes_of(&staying) as f64 / (1_u64 << 32) as f64;
    assert!(
        !joining.is_empty() && (0.01..0.05).contains(&share),
        "{share}"
    );
}

/// A cluster after this change of its list of servers, with the slots that this takes.
fn rebalanced(old: &ClusterMap, change: impl Fn(&mut MapContent)) -> ClusterMap {
    let mut content = old.content().clone();
    change(&mut content);
    let Rule::Slots(table) = &old.content().rule else {
        unreachable!()
    };
    content.rule = Rule::Slots(table.rebalanced(&content.shares()).unwrap());
    ClusterMap::new(content).unwrap()
}

#[test]
fn the_difference_of_slots_is_the_share_of_the_server_that_joins_or_leaves() {
    let old = slots((0..6).map(member));
    let grown = rebalanced(&old, |content| content.servers.push(member(6)));
    let changes = check_everywhere(&old, &grown);
    assert!(changes.iter().all(|change| change.to == ServerId(6)));
    let slots_moved = hashes_of(&changes) / ((1 << 32) / SLOTS as u64);
    assert!((SLOTS as u64 / 7..=SLOTS as u64 / 7 + 1).contains(&slots_moved));
    let shrunk = rebalanced(&grown, |content| drop(content.servers.remove(2)));
    let changes = check_everywhere(&grown, &shrunk);
    assert!(changes.iter().all(|change| change.from == ServerId(2)));
}

#[test]
fn a_map_does_not_differ_from_itself() {
    for map in [ketama((0..9).map(member)), slots((0..9).map(member))] {
        assert_eq!(difference(&map, &map), Ok(Vec::new()));
    }
}

#[test]
fn maps_that_hash_differently_or_name_no_owner_have_no_difference() {
    let (ring, table) = (ketama([member(1)]), slots([member(1)]));
    assert_eq!(difference(&ring, &table), Err(Incomparable::Hashes));
    assert_eq!(difference(&ketama([]), &ring), Err(Incomparable::NoOwners));
    let client = ClusterMap::new(crate::content(Rule::Client, [])).unwrap();
    assert_eq!(difference(&client, &client), Err(Incomparable::NoOwners));
}

#[test]
fn planned_moves_leave_every_key_where_it_was_until_they_go_on() {
    let old = ketama((0..24).map(member));
    let mut content = old.content().clone();
    content.servers.push(member(24));
    let new = ClusterMap::new(content.clone()).unwrap();
    content.moves = plan_moves(&difference(&old, &new).unwrap());
    let planned = ClusterMap::new(content).unwrap();
    for hash in hashes(50_000) {
        assert_eq!(planned.locate_hash(hash, 1), old.locate_hash(hash, 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn differences_of_any_two_maps_are_what_a_look_at_hashes_finds(
        old in strategies::map(),
        new in strategies::map(),
    ) {
        // What is on its way does not count.
        let [old, new] = [old, new].map(|map| {
            let mut content = map.into_content();
            content.moves.clear();
            ClusterMap::new(content).unwrap()
        });
        if let Ok(changes) = difference(&old, &new) {
            check(&old, &new, &changes, hashes(2000));
            check(&old, &new, &changes, ends(&changes));
        }
    }
}
