//! Changes (rule 10) beside writes and reads, among servers that nobody fences: one key, several
//! clients, messages that are late or lost, servers that crash and come back with nothing. All
//! follows from a seed. What the callers saw must be linearizable.

#[path = "../simulation/history.rs"]
mod history;
#[path = "../simulation/random.rs"]
mod random;

mod agent;
mod links;
mod server;
mod wishes;
mod world;

use farcache_redundancy::Redundancy;
use server::Fault;
use wishes::Kind;
use world::World;

/// Runs this many seeds and returns the first violation.
fn violation(text: &str, fault: Option<Fault>, seeds: std::ops::Range<u64>) -> Option<String> {
    let redundancy = text.parse().unwrap();
    seeds.into_iter().find_map(|seed| {
        let found = World::new(redundancy, fault, seed).run();
        found.err().map(|story| format!("seed {seed}\n{story}"))
    })
}

const MANY_WRITERS: [Kind; 3] = [
    Kind::WritersAlone,
    Kind::WritersAndCuts,
    Kind::WritersAndCrashes,
];

/// As [`violation`], where all write plain values and delete beside one another, and servers that
/// code for clients are cut off from others.
fn violation_of_writers(
    kind: Kind,
    text: &str,
    fault: Option<Fault>,
    seeds: std::ops::Range<u64>,
) -> Option<String> {
    let redundancy = text.parse().unwrap();
    seeds.into_iter().find_map(|seed| {
        let found = World::of_writers(kind, redundancy, fault, seed).run();
        found.err().map(|story| format!("seed {seed}\n{story}"))
    })
}

fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("FARCACHE_SIMULATIONS").ok();
    0..count.and_then(|count| count.parse().ok()).unwrap_or(1500)
}

#[test]
fn changes_of_copies_are_linearizable() {
    assert_eq!(violation("replicate:3", None, seeds()), None);
}

#[test]
fn changes_of_shards_are_linearizable() {
    assert_eq!(violation("ec:2,1", None, seeds()), None);
    assert_eq!(violation("ec:3,2", None, seeds()), None);
}

fn assert_that_writers_see_no_violation(redundancies: [&str; 2]) {
    for kind in MANY_WRITERS {
        for text in redundancies {
            let found = violation_of_writers(kind, text, None, seeds());
            assert_eq!(found, None, "{kind:?} {text}");
        }
    }
}

#[test]
fn writes_of_copies_beside_one_another_are_linearizable() {
    assert_that_writers_see_no_violation(["replicate:3", "replicate:5"]);
}

#[test]
fn writes_of_shards_beside_one_another_are_linearizable() {
    assert_that_writers_see_no_violation(["ec:2,1", "ec:3,2"]);
}

/// Where k is more than m + 1, a writer that dies can leave too few shards of either version though
/// no server is lost.
#[test]
fn writes_of_more_shards_than_can_be_lost_are_linearizable() {
    assert_that_writers_see_no_violation(["ec:3,1", "ec:4,2"]);
    assert_eq!(violation("ec:4,2", None, seeds()), None);
}

/// Servers that have dropped something say so: then nothing older is shown.
#[test]
fn servers_with_little_room_for_older_versions_show_nothing_stale() {
    for text in ["ec:3,2", "ec:4,2"] {
        let redundancy: Redundancy = text.parse().unwrap();
        for (seed, older_max) in seeds().zip([0, 1, 2].into_iter().cycle()) {
            let kind = MANY_WRITERS[seed as usize % MANY_WRITERS.len()];
            let worlds = [
                World::of_writers(kind, redundancy, None, seed),
                World::new(redundancy, None, seed),
            ];
            for world in worlds {
                let found = world.keeping(older_max).run();
                assert_eq!(found.err(), None, "{text}, seed {seed}, {older_max} kept");
            }
        }
    }
}

/// What was being overwritten must be there, and so must what was acknowledged a moment ago.
#[test]
fn a_server_that_keeps_too_little_of_what_was_there_is_found() {
    let kind = Kind::WritersAndCuts;
    for (fault, text) in [
        (Fault::KeepsNothingOlder, "ec:4,2"),
        (Fault::KeepsCompleteOnly, "ec:4,2"),
        (Fault::KeepsNothingBeneath, "ec:3,1"),
    ] {
        let found = violation_of_writers(kind, text, Some(fault), 0..60_000);
        assert!(found.is_some(), "{fault:?} with {text} is not found");
    }
}

/// Without any of this, a value that was overwritten or deleted comes back.
#[test]
fn every_fault_of_what_was_held_before_is_found() {
    for fault in [
        Fault::ForgetsAcceptance,
        Fault::ForgetsDoubt,
        Fault::CallsNewerStored,
    ] {
        let kind = Kind::WritersAlone;
        let found = violation_of_writers(kind, "replicate:3", Some(fault), 0..60_000);
        assert!(found.is_some(), "{fault:?} is not found");
    }
}

/// What a quorum holds, and its writer has not finished, may be lost with one server: who shows it
/// must have all members store it.
#[test]
fn a_server_that_calls_everything_complete_is_found() {
    let (kind, fault) = (Kind::WritersAndCrashes, Some(Fault::CallsAllComplete));
    for text in ["replicate:3", "ec:2,1"] {
        let found = violation_of_writers(kind, text, fault, 0..60_000);
        assert!(found.is_some(), "{text}: not found");
    }
}

/// It is only while a server does not know any more what it has had.
#[test]
fn writers_who_meet_no_fault_are_not_left_in_doubt() {
    for text in ["replicate:3", "replicate:5", "ec:2,1", "ec:3,2"] {
        let redundancy = text.parse().unwrap();
        for kind in [Kind::WritersAlone, Kind::CountersAlone] {
            let ends = seeds().map(|seed| {
                let world = World::of_writers(kind, redundancy, None, seed);
                world.remembering_all().writes()
            });
            let (writes, unknown) = ends.fold((0, 0), |sum, end| (sum.0 + end.0, sum.1 + end.1));
            let is_known = writes > 0 && unknown == 0;
            assert!(is_known, "{kind:?} {text}: {unknown} of {writes}");
        }
    }
}

/// The simulation sees what it is there to see.
#[test]
fn every_fault_of_a_promise_is_found() {
    for fault in [
        Fault::NoPromises,
        Fault::AcceptsWithoutPromise,
        Fault::StoresBelowPromise,
        Fault::HidesWhatIsNewer,
        Fault::AsksQuorumOnly,
        Fault::CountsAgain,
    ] {
        let found = violation("replicate:3", Some(fault), 0..60_000);
        assert!(found.is_some(), "{fault:?} is not found");
    }
}

#[test]
fn all_that_can_happen_does() {
    let redundancy = "replicate:3".parse().unwrap();
    let stories = (0..600).map(|seed| World::new(redundancy, None, seed).story());
    let all: String = stories.collect();
    for part in [
        "Number",
        "Refused",
        "Unknown",
        "Done",
        "Read",
        "crash",
        "return",
        "overtaken",
    ] {
        assert!(all.contains(part), "{part}");
    }
}
