use crate::{hashes, ketama, member, slots};
use farcache_cluster::map::{
    Epoch, Incarnation, MapContent, MemberState, Move, Phase, Planned, Progress, Rule, advanced,
    planned,
};
use farcache_cluster::{ClusterMap, ServerId};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Every move has come so far.
struct All(bool);

impl Progress for All {
    fn is_acknowledged(&self, _: &Move, _: Epoch) -> bool {
        self.0
    }

    fn is_complete(&self, _: &Move, _: Epoch) -> bool {
        self.0
    }
}

/// The next map after this change of its servers.
fn changed(map: &ClusterMap, change: impl FnOnce(&mut MapContent)) -> Planned {
    let mut content = map.content().clone();
    content.epoch.0 += 1;
    change(&mut content);
    if let Rule::Slots(table) = &content.rule {
        content.rule = Rule::Slots(table.rebalanced(&content.shares()).unwrap());
    }
    planned(map, content).unwrap()
}

fn next(map: &ClusterMap, change: impl FnOnce(&mut MapContent)) -> ClusterMap {
    changed(map, change).map
}

fn join(id: u32) -> impl FnOnce(&mut MapContent) {
    move |content| content.servers.push(member(id))
}

fn set(id: u32, state: MemberState) -> impl FnOnce(&mut MapContent) {
    move |content| {
        let mut servers = content.servers.iter_mut();
        servers.find(|it| it.id.0 == id).unwrap().state = state;
    }
}

fn go_on(map: &ClusterMap) -> ClusterMap {
    ClusterMap::new(advanced(map, &All(true)).expect("something goes on")).unwrap()
}

fn ends(map: &ClusterMap) -> Vec<(u32, u32, Phase)> {
    let moves = map.content().moves.iter();
    moves
        .map(|moved| (moved.from.0, moved.to.0, moved.phase))
        .collect()
}

/// From where a hash moves.
fn moved_from(map: &ClusterMap, hash: u32) -> Option<(ServerId, Phase)> {
    let is_moving = |moved: &&Move| moved.arcs.iter().any(|arc| arc.contains(hash));
    let moved = map.content().moves.iter().find(is_moving)?;
    Some((moved.from, moved.phase))
}

#[test]
fn a_server_that_joins_is_handed_keys_by_those_who_held_them() {
    for old in [ketama((1..4).map(member)), slots((1..4).map(member))] {
        let joined = next(&old, join(9));
        assert!(joined.content().moves.iter().all(|it| it.to.0 == 9));
        for hash in hashes(20_000) {
            let decider = old.locate_hash(hash, 1);
            assert_eq!(
                joined.locate_hash(hash, 1),
                decider,
                "until it is handed over"
            );
            if moved_from(&joined, hash).is_some() {
                let streaming = go_on(&joined);
                assert_eq!(streaming.locate_hash(hash, 1)[0], ServerId(9));
                break;
            }
        }
        let done = go_on(&go_on(&joined));
        assert_eq!(ends(&done), []);
        assert_eq!(done.epoch(), Epoch(4));
        assert_eq!(advanced(&done, &All(true)), None);
        assert_eq!(advanced(&joined, &All(false)), None);
    }
}

#[test]
fn a_server_joins_until_everything_has_come() {
    let joining = next(&ketama([member(1)]), |content| {
        join(2)(content);
        set(2, MemberState::Joining)(content);
    });
    let state = |map: &ClusterMap| map.server(ServerId(2)).unwrap().state;
    let streaming = go_on(&joining);
    assert_eq!(state(&streaming), MemberState::Joining);
    assert_eq!(state(&go_on(&streaming)), MemberState::Serving);
}

#[test]
fn what_the_dead_held_does_not_move() {
    let old = ketama((1..4).map(member));
    let after = next(&old, set(2, MemberState::Gone));
    assert_eq!(ends(&after), []);
}

#[test]
fn a_server_that_drains_hands_over_all_it_has() {
    let old = ketama((1..4).map(member));
    let after = next(&old, set(2, MemberState::Draining));
    assert_eq!(
        ends(&after),
        [(2, 1, Phase::HandingOver), (2, 3, Phase::HandingOver)]
    );
}

#[test]
fn moves_go_on_where_both_of_their_ends_stay() {
    let three = slots((1..4).map(member));
    let draining = next(&three, set(3, MemberState::Draining));
    let streaming = go_on(&draining);
    // Server 1 owns no more than before; server 2 owns less.
    let dead = changed(&streaming, set(2, MemberState::Gone));
    assert!(!dead.cuts_short, "nobody is left who is sent anything");
    assert_eq!(ends(&dead.map), [(3, 1, Phase::Streaming)]);
    for hash in hashes(20_000) {
        let Some(before) = moved_from(&streaming, hash) else {
            continue;
        };
        let kept = streaming.locate_hash(hash, 1)[0] == ServerId(1);
        assert_eq!(moved_from(&dead.map, hash), kept.then_some(before));
    }
}

#[test]
fn keys_on_their_way_to_a_server_that_died_come_back_empty_or_were_never_given() {
    let old = ketama((1..4).map(member));
    let joined = next(&old, join(9));
    let dies = set(9, MemberState::Gone);
    let back = next(&joined, dies);
    assert_eq!(ends(&back), [], "the old owners decided all the time");
    let streaming = go_on(&joined);
    let back = next(&streaming, set(9, MemberState::Gone));
    assert_eq!(ends(&back), [], "what the old owners hold is out of date");
}

#[test]
fn a_new_owner_that_was_started_anew_is_sent_nothing_old() {
    let streaming = go_on(&next(&ketama((1..4).map(member)), join(9)));
    let anew = next(&streaming, |content| {
        content.servers.last_mut().unwrap().incarnation = Incarnation(2);
    });
    assert_eq!(ends(&anew), []);
    let handing_over = next(&ketama((1..4).map(member)), join(9));
    let anew = next(&handing_over, |content| {
        content.servers.last_mut().unwrap().incarnation = Incarnation(2);
    });
    assert_eq!(ends(&anew), ends(&handing_over), "it has not decided yet");
}

#[test]
fn a_third_owner_takes_over_from_whoever_decided() {
    let handing_over = next(&ketama((1..4).map(member)), join(9));
    let third = changed(&handing_over, join(10));
    assert!(!third.cuts_short);
    assert!(third.map.content().moves.iter().all(|it| it.from.0 < 4));
    let third = changed(&go_on(&handing_over), join(10));
    assert!(third.cuts_short);
    assert!(ends(&third.map).contains(&(9, 10, Phase::HandingOver)));
}

#[test]
fn maps_without_common_hashes_move_nothing() {
    let ring = ketama((1..4).map(member));
    let table = slots((1..4).map(member)).into_content();
    assert_eq!(ends(&planned(&ring, table).unwrap().map), []);
    let client = crate::content(Rule::Client, [member(1)]);
    assert_eq!(ends(&planned(&ring, client).unwrap().map), []);
}

/// What may happen to a cluster.
#[derive(Clone, Debug)]
enum Event {
    Set(u32, MemberState),
    Restart(u32),
    Weigh(u32, u32),
    GoOn,
}

fn event() -> impl Strategy<Value = Event> {
    let server = 1..6_u32;
    let states = prop::sample::select(MemberState::ALL.map(|(state, _)| state).to_vec());
    prop_oneof![
        (server.clone(), states).prop_map(|(id, state)| Event::Set(id, state)),
        server.clone().prop_map(Event::Restart),
        (server, 1..4_u32).prop_map(|(id, weight)| Event::Weigh(id, weight)),
        Just(Event::GoOn),
        Just(Event::GoOn),
    ]
}

fn happen(event: Event, map: &ClusterMap) -> ClusterMap {
    let of = |content: &mut MapContent, id: u32, change: &dyn Fn(&mut _)| {
        change(content.servers.iter_mut().find(|it| it.id.0 == id).unwrap());
    };
    let owns_after = |id: u32, state: MemberState| {
        let servers = map.content().servers.iter();
        let state_of = |server: &farcache_cluster::map::Member| match server.id.0 == id {
            true => state,
            false => server.state,
        };
        servers.map(state_of).any(MemberState::owns_keys)
    };
    match event {
        Event::Set(id, state) if owns_after(id, state) => next(map, set(id, state)),
        Event::Set(..) => map.clone(),
        Event::Restart(id) => next(map, |content| {
            of(content, id, &|server| server.incarnation.0 += 1);
        }),
        Event::Weigh(id, weight) => next(map, |content| {
            of(content, id, &|server| server.weight = weight);
        }),
        Event::GoOn => advanced(map, &All(true))
            .map_or_else(|| map.clone(), |content| ClusterMap::new(content).unwrap()),
    }
}

/// Who has decided on each hash last, and in which life.
type Deciders = BTreeMap<u32, (ServerId, Incarnation)>;

fn deciders(map: &ClusterMap) -> Deciders {
    let decider = |hash| {
        let server = map.locate_hash(hash, 1)[0];
        (hash, (server, map.server(server).unwrap().incarnation))
    };
    hashes(500).map(decider).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The rule that keeps what is out of date from coming back: a server that decides on a hash
    /// sends or is sent by whoever decided just before, and a server from which a hash streams has
    /// decided on it up to the moment at which its present owner began to.
    #[test]
    fn what_streams_was_decided_on_by_its_sender_until_its_owner_began(
        is_ring: bool,
        events in prop::collection::vec(event(), 1..24),
    ) {
        let servers = (1..6).map(member);
        let mut map = if is_ring { ketama(servers) } else { slots(servers) };
        let mut now = deciders(&map);
        // Who decided before the present decider of each hash.
        let mut before = Deciders::new();
        for event in events {
            map = happen(event, &map);
            for (hash, decider) in deciders(&map) {
                let was = now.insert(hash, decider).unwrap();
                if was != decider && was.0 != decider.0 {
                    before.insert(hash, was);
                } else if was != decider {
                    before.remove(&hash);
                }
                match moved_from(&map, hash) {
                    None => {}
                    Some((from, Phase::HandingOver)) => prop_assert_eq!(from, decider.0),
                    Some((from, Phase::Streaming)) => {
                        prop_assert_eq!(before.get(&hash).map(|it| it.0), Some(from));
                    }
                }
            }
        }
    }
}
