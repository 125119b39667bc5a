//! The plans against servers that follow the rules of `docs/design/redundancy.md`: one key, several
//! writers and readers, messages that are late or lost, servers that crash, return and are cut off
//! from the keeper of the map. Everything follows from a seed. What the callers saw must be
//! linearizable.
//!
//! The servers here are a model; the store's and the server's own conformance is tested elsewhere.

mod history;
mod random;
mod server;
mod values;
mod world;

use farcache_redundancy::Redundancy;
use world::{Fault, World};

fn scheme(text: &str) -> Redundancy {
    text.parse().unwrap()
}

/// Runs this many seeds and returns the first violation.
fn violation(text: &str, fault: Option<Fault>, seeds: std::ops::Range<u64>) -> Option<String> {
    seeds
        .into_iter()
        .find_map(|seed| World::new(scheme(text), fault, seed).run().err())
}

fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("FARCACHE_SIMULATIONS").ok();
    0..count.and_then(|count| count.parse().ok()).unwrap_or(1500)
}

#[test]
fn copies_are_linearizable_under_faults() {
    assert_eq!(violation("replicate:3", None, seeds()), None);
}

#[test]
fn two_copies_are_linearizable_under_faults() {
    assert_eq!(violation("replicate:2", None, seeds()), None);
}

#[test]
fn shards_are_linearizable_under_faults() {
    assert_eq!(violation("ec:3,2", None, seeds()), None);
}

#[test]
fn few_shards_are_linearizable_under_faults() {
    assert_eq!(violation("ec:2,1", None, seeds()), None);
}

#[test]
fn shards_with_much_parity_are_linearizable_under_faults() {
    assert_eq!(violation("ec:2,3", None, seeds()), None);
}

/// The simulation sees what it is there to see.
#[test]
fn every_planted_fault_is_found() {
    for (fault, text) in [
        (Fault::AcceptsOlder, "replicate:3"),
        (Fault::OverwritesInPlace, "ec:3,2"),
        (Fault::NoFence, "replicate:3"),
        (Fault::NoLeases, "replicate:3"),
        (Fault::ServesAtOnce, "replicate:3"),
        (Fault::KeepsWhatItHeld, "replicate:3"),
        (Fault::StoresNothing, "replicate:3"),
        (Fault::CallsAllComplete, "replicate:3"),
        (Fault::TellsWrongVersion, "ec:3,2"),
        (Fault::ForgetsTombstones, "replicate:3"),
    ] {
        assert!(
            violation(text, Some(fault), 0..20_000).is_some(),
            "{fault:?} is not found"
        );
    }
}

#[test]
fn a_seed_tells_the_same_story_twice() {
    let story = |seed| World::new(scheme("ec:3,2"), None, seed).story();
    assert_eq!(story(7), story(7));
    assert_ne!(story(7), story(8));
    // All that can happen does, in some of them.
    let all: String = (0..200).map(story).collect();
    for part in [
        "Written", "Unknown", "Deleted", "Value", "Nothing", "crash", "join", "cut", "dies",
    ] {
        assert!(all.contains(part), "{part}");
    }
}
