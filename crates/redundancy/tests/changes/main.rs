//! Changes (rule 10) beside writes and reads, among servers that nobody fences: one key, several
//! clients, messages that are late or lost, servers that crash and come back with nothing. All
//! follows from a seed. What the callers saw must be linearizable.

#[path = "../simulation/history.rs"]
mod history;
#[path = "../simulation/random.rs"]
mod random;

mod agent;
mod server;
mod world;

use server::Fault;
use world::World;

/// Runs this many seeds and returns the first violation.
fn violation(text: &str, fault: Option<Fault>, seeds: std::ops::Range<u64>) -> Option<String> {
    let redundancy = text.parse().unwrap();
    seeds
        .into_iter()
        .find_map(|seed| World::new(redundancy, fault, seed).run().err())
}

fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("FARCACHE_SIMULATIONS").ok();
    0..count.and_then(|count| count.parse().ok()).unwrap_or(3000)
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

/// The simulation sees what it is there to see.
#[test]
fn every_fault_of_a_promise_is_found() {
    for fault in [
        Fault::NoPromises,
        Fault::AcceptsWithoutPromise,
        Fault::StoresBelowPromise,
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
