use crate::{content, hashes, ketama, member, slots, strategies};
use farcache_cluster::distribution::{Distribution, Placement, PlacementSettings, Server};
use farcache_cluster::hash::HashAlgorithm;
use farcache_cluster::map::{Domain, HashArc, MapContent, MemberState, Move, Phase, Rule};
use farcache_cluster::{ClusterMap, OWNERS_MAX, ServerId};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn ketama_is_that_of_libmemcached() {
    let members = (0..40).map(|id| {
        let mut member = member(id);
        member.weight = id % 4 + 1;
        member
    });
    let map = ketama(members);
    let servers = map.content().servers.iter().map(|member| {
        let server = Server::at(member.addresses[0].clone());
        server.with_weight(member.weight)
    });
    // Which the golden tests compare with libmemcached itself.
    let settings = PlacementSettings {
        distribution: Distribution::KetamaWeighted,
        key_hash: HashAlgorithm::Md5,
        ..PlacementSettings::default()
    };
    let placement = Placement::new(settings, servers.collect());
    for number in 0..5000 {
        let key = format!("key{number}");
        for wanted in [1, 3, OWNERS_MAX] {
            let owners = placement.locate(key.as_bytes(), wanted);
            assert_eq!(map.locate(key.as_bytes(), wanted), owners, "{key}");
        }
    }
}

/// A change of a map.
type Edit = fn(&mut MapContent);

fn edited(map: &ClusterMap, edit: Edit) -> ClusterMap {
    let mut content = map.content().clone();
    content.epoch.0 += 1;
    edit(&mut content);
    ClusterMap::new(content).unwrap()
}

#[test]
fn maps_that_place_alike_name_the_same_owners() {
    let map = ketama((1..=5).map(member));
    let alike: [Edit; 4] = [
        |_| {},
        |content| content.servers[1].incarnation.0 += 1,
        |content| content.servers[2].state = MemberState::Joining,
        |content| {
            let mut gone = member(9);
            gone.state = MemberState::Gone;
            content.servers.push(gone);
        },
    ];
    for edit in alike {
        let next = edited(&map, edit);
        assert!(map.places_as(&next) && next.places_as(&map));
        for hash in hashes(2000) {
            for wanted in [1, 2, 5] {
                assert_eq!(
                    map.locate_hash(hash, wanted),
                    next.locate_hash(hash, wanted)
                );
            }
        }
    }
}

#[test]
fn maps_by_which_anything_may_lie_elsewhere_do_not_place_alike() {
    let map = ketama((1..=5).map(member));
    let others: [Edit; 6] = [
        |content| content.servers[0].weight = 2,
        |content| {
            content.servers[..2]
                .iter_mut()
                .for_each(|it| it.zone = Some("z".parse().unwrap()))
        },
        |content| content.servers[3].addresses[0].port = 1,
        |content| content.servers[4].state = MemberState::Draining,
        |content| _ = content.servers.pop(),
        |content| content.servers.push(member(9)),
    ];
    for edit in others {
        let next = edited(&map, edit);
        assert!(!map.places_as(&next) && !next.places_as(&map));
    }
    // While it is handed over an arc is the old owner's still, and who follows is further behind.
    let mut content = map.content().clone();
    let arcs = vec![map.arcs_of(ServerId(1))[0]];
    let (from, to, phase) = (ServerId(2), ServerId(1), Phase::HandingOver);
    content.moves.push(Move {
        from,
        to,
        arcs,
        phase,
    });
    let handing_over = ClusterMap::new(content.clone()).unwrap();
    content.moves[0].phase = Phase::Streaming;
    let streaming = ClusterMap::new(content).unwrap();
    assert!(!handing_over.places_as(&streaming) && !streaming.places_as(&map));
}

#[test]
fn only_servers_that_join_or_serve_own_keys() {
    for states in [MemberState::Draining, MemberState::Gone] {
        let servers = (0..4).map(|id| {
            let mut member = member(id);
            member.state = [MemberState::Serving, MemberState::Joining, states][id as usize % 3];
            member
        });
        for map in [ketama(servers.clone()), slots(servers)] {
            let owners: BTreeSet<_> = hashes(5000)
                .flat_map(|hash| map.locate_hash(hash, 1).to_vec())
                .collect();
            assert_eq!(owners, [0, 1, 3].map(ServerId).into());
        }
    }
}

/// Asks for many keys at once and for each alone.
fn check_decides(map: &ClusterMap, keys: &[&[u8]]) {
    let members = map.content().servers.iter().map(|member| member.id);
    for server in members.map(Some).chain([Some(ServerId(u32::MAX)), None]) {
        let domain = Domain::new(map, server);
        let decides = |key: &&[u8]| {
            map.locate(key, 1)
                .first()
                .is_none_or(|owner| Some(*owner) == server)
        };
        for keys in [keys, &keys[..1], &keys[..2], &keys[..9]] {
            assert_eq!(domain.has_each(keys), keys.iter().all(decides));
        }
        for key in keys {
            if let Some(hash) = map.hash_of_key(key) {
                assert_eq!(domain.has_hash(hash), decides(key));
            }
        }
        let own: Vec<&[u8]> = keys.iter().copied().filter(decides).collect();
        assert!(domain.has_each(&own));
        if domain.is_all() {
            assert_eq!(own.len(), keys.len());
        }
    }
}

#[test]
fn a_server_alone_decides_on_every_key() {
    let alone = [member(7), {
        let mut left = member(8);
        left.state = MemberState::Gone;
        left
    }];
    let client = ClusterMap::new(content(Rule::Client, [member(7), member(9)])).unwrap();
    for map in [ketama(alone.clone()), slots(alone), client] {
        assert!(Domain::new(&map, Some(ServerId(7))).is_all());
    }
    let two = [member(7), member(9)];
    for map in [ketama(two.clone()), slots(two)] {
        let is_all = |server| Domain::new(&map, Some(ServerId(server))).is_all();
        assert!(!is_all(7) && !is_all(9));
    }
}

#[test]
fn where_clients_place_keys_or_nobody_serves_no_server_is_named() {
    let client = ClusterMap::new(content(Rule::Client, [member(1)])).unwrap();
    for map in [client, ketama([])] {
        for wanted in 0..3 {
            assert!(map.locate(b"key", wanted).is_empty());
        }
    }
}

/// A map in which an arc moves from server 1 to its owner.
fn moving(phase: Phase) -> ClusterMap {
    let mut content: MapContent = slots((1..4).map(member)).into_content();
    content.servers[0].state = MemberState::Draining;
    let Rule::Slots(table) = &content.rule else {
        unreachable!()
    };
    content.rule = Rule::Slots(table.rebalanced(&content.shares()).unwrap());
    let to = ServerId(2);
    content.moves = vec![Move {
        from: ServerId(1),
        to,
        phase,
        arcs: vec![HashArc {
            first: 1000,
            last: 2000,
        }],
    }];
    ClusterMap::new(content).unwrap()
}

#[test]
fn an_arc_is_decided_on_by_its_old_owner_until_that_has_handed_it_over() {
    let map = moving(Phase::HandingOver);
    for (hash, owner) in [(999, 2), (1000, 1), (1500, 1), (2000, 1), (2001, 2)] {
        assert_eq!(map.locate_hash(hash, 1)[..], [ServerId(owner)], "{hash}");
        assert_eq!(map.locate_hash(hash, 9)[0], ServerId(owner), "{hash}");
    }
    // The new owner is the next.
    assert_eq!(map.locate_hash(1500, 2)[..], [1, 2].map(ServerId));
    assert_eq!(map.locate_hash(1500, 9).len(), 3);
    let map = moving(Phase::Streaming);
    assert_eq!(map.locate_hash(1500, 1)[..], [ServerId(2)]);
    assert_eq!(map.locate_hash(1500, 9).len(), 2);
}

fn zoned(zones: &[&str]) -> Vec<farcache_cluster::map::Member> {
    let member_in = |(id, zone): (usize, &&str)| {
        let mut member = member(id as u32);
        member.zone = (!zone.is_empty()).then(|| zone.parse().unwrap());
        member
    };
    zones.iter().enumerate().map(member_in).collect()
}

#[test]
fn copies_are_in_different_zones_while_there_are_enough() {
    let zones = ["a", "a", "a", "a", "b", "b", "c", ""];
    for map in [ketama(zoned(&zones)), slots(zoned(&zones))] {
        for hash in hashes(2000) {
            let all = map.locate_hash(hash, OWNERS_MAX);
            assert_eq!(all.len(), zones.len());
            let first: BTreeSet<_> = all[..4].iter().map(|id| zones[id.0 as usize]).collect();
            assert_eq!(first.len(), 4, "{all:?}");
            for wanted in 1..=zones.len() {
                assert_eq!(map.locate_hash(hash, wanted)[..], all[..wanted]);
            }
        }
    }
}

#[test]
fn without_zones_copies_follow_in_the_ring_s_order() {
    let map = ketama(zoned(&[""; 9]));
    let one_zone = ketama(zoned(&["a"; 9]));
    for hash in hashes(1000) {
        assert_eq!(map.locate_hash(hash, 5), one_zone.locate_hash(hash, 5));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whoever_is_named_first_decides_and_nobody_is_named_twice(
        map in strategies::map(),
        hash in any::<u32>(),
        wanted in 0_usize..10,
    ) {
        let owners = map.locate_hash(hash, wanted);
        let different: BTreeSet<_> = owners.iter().collect();
        prop_assert_eq!(different.len(), owners.len());
        prop_assert!(owners.len() <= wanted);
        let deciding = map.locate_hash(hash, 1);
        prop_assert_eq!(owners.first(), deciding.first().filter(|_| wanted > 0));
        let all = map.locate_hash(hash, OWNERS_MAX);
        prop_assert_eq!(owners.len(), all.len().min(wanted));
        let zone = |id: &ServerId| map.server(*id).unwrap().zone.clone().ok_or(*id);
        let zones: BTreeSet<_> = all.iter().map(|id| format!("{:?}", zone(id))).collect();
        let used: BTreeSet<_> = owners.iter().map(|id| format!("{:?}", zone(id))).collect();
        prop_assert_eq!(used.len(), zones.len().min(owners.len()));
    }

    #[test]
    fn keys_asked_for_together_have_the_deciders_that_they_have_alone(
        map in strategies::map(),
        keys in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..80), 10..40),
    ) {
        check_decides(&map, &keys.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }
}
