use super::*;
use farcache_cluster::map::Phase;

/// Servers 1 to 3 in these states, at `a1:1` and so on.
fn standing(states: [&str; 3]) -> Standing {
    Standing::of(map("ketama", states, ""), None)
}

fn map(placement: &str, states: [&str; 3], rest: &str) -> ClusterMap {
    let servers = (1..).zip(states).map(|(id, state)| {
        format!("server {id} incarnation=1 weight=1 zone=- state={state} addresses=a{id}:1\n")
    });
    let servers: String = servers.collect();
    let text = format!(
        "farcache-cluster-map 1\ncluster c\nepoch 7\nplacement {placement}\n{servers}{rest}end\n"
    );
    text.parse().unwrap()
}

fn new(address: &str) -> NewMember {
    NewMember {
        addresses: vec![address.parse().unwrap()],
        weight: None,
        zone: None,
        number: None,
    }
}

fn states(map: &ClusterMap) -> Vec<(u32, MemberState)> {
    let servers = map.content().servers.iter();
    servers.map(|server| (server.id.0, server.state)).collect()
}

/// What follows at once, and what then.
fn carried(change: &Change, standing: &Standing, cold: bool) -> Result<Vec<ClusterMap>, Failure> {
    let step = change.begin(standing, cold)?;
    let mut maps: Vec<ClusterMap> = step.next.into_iter().map(|next| next.map).collect();
    if let Some(server) = step.awaited {
        let before = maps.last().unwrap_or(&standing.map).clone();
        let step = Change::go_on(&before, server, cold)?;
        maps.extend(step.next.map(|next| next.map));
    }
    Ok(maps)
}

fn reason(change: &Change, standing: &Standing) -> String {
    match change.begin(standing, false) {
        Err(Failure::Refused(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

const SERVING: [&str; 3] = ["serving"; 3];

#[test]
fn a_server_owns_nothing_before_it_is_known_to_answer() {
    let standing = standing(SERVING);
    let maps = carried(&Change::Add(new("b:1")), &standing, false).unwrap();
    let [listed, joining] = &maps[..] else {
        panic!("{maps:?}")
    };
    assert_eq!(states(listed)[3], (4, MemberState::Draining));
    assert_eq!(listed.content().moves, []);
    assert_eq!(states(joining)[3], (4, MemberState::Joining));
    let moves = &joining.content().moves;
    assert!(!moves.is_empty());
    assert!(
        moves
            .iter()
            .all(|it| it.to.0 == 4 && it.phase == Phase::HandingOver)
    );
    assert_eq!([listed, joining].map(|map| map.epoch().0), [8, 9]);
}

#[test]
fn a_server_is_added_with_what_the_operator_says_of_it() {
    let member = NewMember {
        weight: Some(5),
        zone: Some("rack".parse().unwrap()),
        number: Some(9),
        ..new("b:1,c:2".split(',').next().unwrap())
    };
    let maps = carried(&Change::Add(member), &standing(SERVING), true).unwrap();
    let line = "server 9 incarnation=1 weight=5 zone=rack state=serving addresses=b:1\n";
    assert!(maps[1].to_string().contains(line), "{}", maps[1]);
    assert_eq!(maps[1].content().moves, [], "cold");
}

#[test]
fn a_server_that_was_gone_comes_back_in_another_life() {
    let standing = standing(["serving", "gone", "serving"]);
    let maps = carried(&Change::Add(new("a2:1")), &standing, false).unwrap();
    let server = &maps[1].content().servers[1];
    assert_eq!((server.id.0, server.incarnation.0), (2, 2));
    assert_eq!(maps[1].content().servers.len(), 3);
}

#[test]
fn a_server_that_drains_can_be_added_again() {
    let standing = standing(["serving", "draining", "serving"]);
    let maps = carried(&Change::Add(new("a2:1")), &standing, false).unwrap();
    assert_eq!(maps.len(), 1);
    assert_eq!(states(&maps[0])[1], (2, MemberState::Joining));
}

#[test]
fn a_server_that_drains_gives_all_it_has() {
    let drain = Change::Drain("2".parse().unwrap());
    let maps = carried(&drain, &standing(SERVING), false).unwrap();
    assert!(!maps[0].content().moves.is_empty());
    assert!(maps[0].content().moves.iter().all(|it| it.from.0 == 2));
    let cold = carried(&drain, &standing(SERVING), true).unwrap();
    assert_eq!(cold[0].content().moves, []);
    assert_eq!(states(&cold[0])[1], (2, MemberState::Draining));
}

#[test]
fn what_would_lose_items_is_refused() {
    let remove = |force| Change::Remove("a2:1".parse().unwrap(), force);
    assert!(reason(&remove(false), &standing(SERVING)).contains("'drain' it first"));
    let maps = carried(&remove(true), &standing(SERVING), false).unwrap();
    assert_eq!(states(&maps[0])[1], (2, MemberState::Gone));
    let drained = standing(["serving", "draining", "serving"]);
    assert!(carried(&remove(false), &drained, false).is_ok());
    let moving = carried(
        &Change::Drain("2".parse().unwrap()),
        &standing(SERVING),
        false,
    );
    let moving = Standing::of(moving.unwrap().remove(0), None);
    assert!(reason(&remove(false), &moving).contains("'drain' it first"));
    let alone = standing(["gone", "serving", "gone"]);
    for change in [remove(true), Change::Drain("2".parse().unwrap())] {
        assert!(reason(&change, &alone).contains("nobody would own keys"));
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let standing = standing(["serving", "draining", "gone"]);
    for (change, wanted) in [
        (Change::Add(new("a1:1")), "owns keys already"),
        (Change::Drain("3".parse().unwrap()), "is gone"),
        (Change::Drain("2".parse().unwrap()), "drains already"),
        (
            Change::Drain("9".parse().unwrap()),
            "does not list server 9",
        ),
        (
            Change::Remove("3".parse().unwrap(), true),
            "is gone already",
        ),
        (
            Change::Rebalance(vec!["x:1=3".parse().unwrap()]),
            "does not list",
        ),
    ] {
        let reason = reason(&change, &standing);
        assert!(reason.contains(wanted), "{reason}");
    }
    let taken = NewMember {
        number: Some(3),
        ..new("a1:1")
    };
    assert!(reason(&Change::Add(taken), &standing).contains("has the address a1:1"));
}

#[test]
fn on_etcd_servers_that_run_join_and_leave_by_themselves() {
    let map = map("ketama", ["serving", "serving", "draining"], "");
    let standing = Standing::of(map, Some(vec!["a1:1".to_owned(), "a3:1".to_owned()]));
    assert!(reason(&Change::Add(new("b:1")), &standing).contains("joins by itself"));
    assert!(carried(&Change::Add(new("a3:1")), &standing, false).is_ok());
    let remove = |id: &str| Change::Remove(id.parse().unwrap(), true);
    assert!(reason(&remove("1"), &standing).contains("it leaves by itself"));
    assert!(
        carried(&remove("2"), &standing, false).is_ok(),
        "it is dead"
    );
}

#[test]
fn slots_are_shared_out_by_weight_and_nothing_changes_twice() {
    let map = map("slots", SERVING, "slots 1 0-16383\n");
    let even = Change::Rebalance(Vec::new());
    let maps = carried(&even, &Standing::of(map, None), true).unwrap();
    let shares = |map: &ClusterMap| {
        let arcs = (1..4).map(|id| map.arcs_of(ServerId(id)));
        let hashes = arcs.map(|arcs| arcs.iter().map(|arc| arc.hashes()).sum::<u64>() >> 18);
        hashes.collect::<Vec<u64>>()
    };
    assert_eq!(shares(&maps[0]), [5462, 5461, 5461]);
    let standing = Standing::of(maps[0].clone(), None);
    assert_eq!(carried(&even, &standing, false).unwrap(), []);
    let heavy = Change::Rebalance(vec!["3=2".parse().unwrap()]);
    let maps = carried(&heavy, &standing, true).unwrap();
    assert_eq!(shares(&maps[0]), [4096, 4096, 8192]);
}

#[test]
fn what_moves_goes_on_when_nothing_else_is_wanted() {
    let drained = carried(
        &Change::Drain("2".parse().unwrap()),
        &standing(SERVING),
        false,
    );
    let standing = Standing::of(drained.unwrap().remove(0), None);
    let even = Change::Rebalance(Vec::new());
    assert_eq!(carried(&even, &standing, false).unwrap(), []);
    let ended = carried(&even, &standing, true).unwrap();
    assert_eq!(ended[0].content().moves, [], "cold ends what moves");
}
