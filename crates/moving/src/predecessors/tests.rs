use super::*;

const ME: Option<ServerId> = Some(ServerId(2));
const FENCE_MS: u64 = 1_000;

/// Three servers with slots; `states` and who owns the lower and the upper half.
fn map(epoch: u64, states: [&str; 3], (low, high): (u32, u32)) -> ClusterMap {
    let mut text = format!("farcache-cluster-map 1\ncluster c\nepoch {epoch}\nplacement slots\n");
    for (at, state) in states.iter().enumerate() {
        let name = at + 1;
        text += &format!(
            "server {name} incarnation=1 weight=1 zone=- state={state} addresses=h{name}:1\n"
        );
    }
    let slots = match low == high {
        true => format!("slots {low} 0-16383\n"),
        false if low < high => format!("slots {low} 0-8191\nslots {high} 8192-16383\n"),
        false => format!("slots {high} 8192-16383\nslots {low} 0-8191\n"),
    };
    (text + &slots + "end\n").parse().expect("a map")
}

const ALL: [&str; 3] = ["serving"; 3];
const LOW: u32 = 0x1000_0000;
const HIGH: u32 = 0x9000_0000;

/// A past in which this map has been known for long.
fn long_known(first: &ClusterMap) -> Past {
    let mut past = Past::new(FENCE_MS);
    past.succeed([].iter(), first, ME, 0);
    past
}

fn who(predecessors: &[Predecessor]) -> Vec<(u32, bool, bool)> {
    let tell = |it: &Predecessor| (it.server.0, it.may_decide(LOW), it.may_decide(HIGH));
    predecessors.iter().map(tell).collect()
}

#[test]
fn who_had_the_keys_just_before_may_decide_still() {
    let mut past = long_known(&map(1, ALL, (1, 3)));
    let next = past.succeed([].iter(), &map(2, ALL, (2, 3)), ME, 5_000);
    assert_eq!(who(&next), [(1, true, false)]);
    next[0].on_acknowledged(1, 5_001);
    assert!(next[0].may_decide(LOW), "it goes by the older map");
    assert_eq!(next[0].ask_at_ms(5_001), Some(5_002), "soon, at first");
    next[0].on_acknowledged(1, 5_100);
    assert_eq!(next[0].ask_at_ms(5_100), Some(5_100 + ASK_AGAIN_MS_MAX));
    next[0].on_acknowledged(2, 5_110);
    assert_eq!(
        (who(&next), next[0].ask_at_ms(5_110)),
        (vec![(1, false, false)], None)
    );
}

#[test]
fn who_is_gone_or_does_not_run_decides_no_more() {
    let mut past = long_known(&map(1, ALL, (1, 3)));
    let next = map(2, ["gone", "serving", "serving"], (2, 2));
    let next = past.succeed([].iter(), &next, ME, 5_000);
    assert_eq!(who(&next), [(3, false, true)]);
    next[0].on_trouble(Trouble::Silent, 5_000);
    assert_eq!(next[0].ask_at_ms(5_000), Some(5_000 + RETRY_MS));
    next[0].on_trouble(Trouble::NobodyThere, 5_200);
    assert!(next[0].has_stopped());
}

#[test]
fn who_cannot_be_asked_has_no_right_to_decide_after_the_fence() {
    let mut past = long_known(&map(1, ALL, (1, 3)));
    let next = past.succeed([].iter(), &map(2, ALL, (2, 3)), ME, 5_000);
    assert!(next[0].ask_at_ms(5_000 + FENCE_MS - 1).is_some() && next[0].may_decide(LOW));
    assert_eq!(next[0].ask_at_ms(5_000 + FENCE_MS), None);
    assert!(!next[0].may_decide(LOW));
}

#[test]
fn who_had_the_keys_some_maps_before_may_decide_still_within_the_fence() {
    for (later_ms, expected) in [(10, vec![1, 3]), (FENCE_MS, vec![3])] {
        let mut past = long_known(&map(1, ALL, (1, 1)));
        past.succeed([].iter(), &map(2, ALL, (3, 3)), ME, 5_000);
        let next = past.succeed([].iter(), &map(3, ALL, (2, 2)), ME, 5_000 + later_ms);
        let servers: Vec<u32> = next.iter().map(|it| it.server.0).collect();
        assert_eq!(servers, expected, "{later_ms} ms later");
    }
}

#[test]
fn anybody_may_decide_by_maps_that_were_not_seen() {
    // When a server has just been started, and where an epoch was left out.
    let mut past = Past::new(FENCE_MS);
    let first = past.succeed([].iter(), &map(1, ALL, (2, 3)), ME, 5_000);
    assert_eq!(who(&first), [(1, true, false), (3, true, false)]);
    let mut past = long_known(&map(1, ALL, (2, 3)));
    let next = past.succeed([].iter(), &map(3, ALL, (2, 3)), ME, 5_000);
    // By the map that was left out, others may have had what its own workers have stored since.
    let own = (2, true, false);
    assert_eq!(who(&next), [own, (1, true, false), (3, true, false)]);
    assert_eq!(
        next[0].ask_at_ms(5_000 + 2 * FENCE_MS),
        Some(0),
        "it has no end by itself"
    );
    assert!(next[0].may_decide(LOW));
    next[0].on_acknowledged(3, 5_005);
    assert!(next[0].has_stopped());
    let more = past.succeed(next.iter(), &map(4, ALL, (2, 2)), ME, 5_010);
    let both = [
        (1, true, false),
        (3, true, false),
        (1, false, true),
        (3, false, true),
    ];
    assert_eq!(who(&more), both);
    let later = past.succeed([].iter(), &map(5, ALL, (1, 2)), ME, 9_000);
    assert_eq!(who(&later), [], "and nothing was gained");
}

#[test]
fn those_that_have_not_stopped_are_kept_for_keys_that_stay() {
    let mut past = long_known(&map(1, ALL, (1, 3)));
    let next = past.succeed([].iter(), &map(2, ALL, (2, 2)), ME, 5_000);
    assert_eq!(who(&next), [(1, true, false), (3, false, true)]);
    next[1].on_acknowledged(2, 5_001);
    let later = past.succeed(next.iter(), &map(3, ALL, (2, 2)), ME, 5_002);
    assert_eq!(who(&later), [(1, true, false)]);
    let later = past.succeed(later.iter(), &map(4, ALL, (3, 2)), ME, 5_003);
    assert_eq!(who(&later), []);
}

#[test]
fn arcs_are_cut_and_joined() {
    let arc = |first, last| HashArc { first, last };
    let arcs = [arc(10, 19), arc(30, 39), arc(u32::MAX - 1, u32::MAX)];
    let others = [arc(0, 9), arc(15, 31), arc(33, 33), arc(u32::MAX, u32::MAX)];
    let both = [
        arc(15, 19),
        arc(30, 31),
        arc(33, 33),
        arc(u32::MAX, u32::MAX),
    ];
    assert_eq!(common(&arcs, &others), both);
    let left = [
        arc(10, 14),
        arc(32, 32),
        arc(34, 39),
        arc(u32::MAX - 1, u32::MAX - 1),
    ];
    assert_eq!(without(&arcs, &others), left);
    let mut mixed = vec![
        arc(30, u32::MAX),
        arc(5, 9),
        arc(0, 4),
        arc(40, 50),
        arc(11, 12),
    ];
    join(&mut mixed);
    assert_eq!(mixed, [arc(0, 9), arc(11, 12), arc(30, u32::MAX)]);
}
