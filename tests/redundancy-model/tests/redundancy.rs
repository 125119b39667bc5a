//! The rules keep the promise in small scopes, and each of them is needed.

use farcache_redundancy_model::{Mutation, Promise, Redundancy};
use stateright::{Checker, HasDiscoveries, Model};
use std::collections::BTreeMap;

/// What the checker has found: the promise, if any, that is broken where a property is decided.
type Found = BTreeMap<&'static str, Option<Promise>>;

const REPLIES: &str = "replies keep the promise";
const IS_THERE: &str = "what was acknowledged is there";

/// Three copies, acknowledged by all members of the map and a majority of the owners.
fn copies() -> Redundancy {
    Redundancy {
        k: 1,
        write_quorum: 2,
        writes: 1,
        reads: 2,
        faults: 1,
        returns: 1,
        mutation: None,
    }
}

/// Two data shards and one of parity.
fn shards() -> Redundancy {
    Redundancy { k: 2, ..copies() }
}

/// Two writers and no fault, instead of one writer and a fault.
fn without_faults(model: Redundancy) -> Redundancy {
    Redundancy {
        writes: 2,
        faults: 0,
        returns: 0,
        ..model
    }
}

/// Two writers and a fault.
fn with_two_writers(model: Redundancy, reads: u8) -> Redundancy {
    Redundancy {
        writes: 2,
        reads,
        ..model
    }
}

fn check(model: Redundancy) -> Found {
    let checker = model
        .checker()
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let found = checker.discoveries().into_iter();
    found
        .map(|(name, path)| (name, path.last_state().broken))
        .collect()
}

/// Visits every state of the scope. Also, the scope is of use only if it comes to what it is for.
fn holds(model: Redundancy, comes_to: &[&str]) {
    let found = check(model.clone());
    let broken = [REPLIES, IS_THERE]
        .iter()
        .find(|name| found.contains_key(*name));
    assert_eq!(broken, None, "{model:?} {found:?}");
    for name in comes_to {
        assert!(
            found.contains_key(name),
            "{model:?} never comes to this: {name}"
        );
    }
}

fn breaks(scope: Redundancy, mutation: Mutation, promise: Promise) {
    let model = Redundancy {
        mutation: Some(mutation),
        ..scope
    };
    let found = check(model.clone());
    assert_eq!(
        found.get(REPLIES),
        Some(&Some(promise)),
        "{model:?} {found:?}"
    );
}

const FINISHES: &str = "a read finishes the write of another";
const RETURNS: &str = "a server that returned serves a new value";
const BOTH: &str = "both writes are acknowledged";
const GOES_ABOVE: &str = "a writer goes above a refusal";

#[test]
fn copies_survive_a_fault_and_a_return() {
    holds(copies(), &[FINISHES, RETURNS]);
}

#[test]
fn copies_keep_the_order_of_two_writers() {
    holds(without_faults(copies()), &[FINISHES, BOTH, GOES_ABOVE]);
}

#[test]
fn writers_of_copies_swallow_nothing_beside_a_fault() {
    holds(with_two_writers(copies(), 0), &[RETURNS, BOTH, GOES_ABOVE]);
}

#[test]
fn copies_that_all_must_take_survive_a_fault_and_a_return() {
    let all = Redundancy {
        write_quorum: 3,
        ..copies()
    };
    holds(all.clone(), &[FINISHES, RETURNS]);
    holds(without_faults(all), &[FINISHES, BOTH, GOES_ABOVE]);
}

#[test]
fn shards_survive_a_fault_and_a_return() {
    holds(shards(), &[FINISHES, RETURNS]);
}

#[test]
fn shards_keep_the_order_of_two_writers() {
    holds(without_faults(shards()), &[FINISHES, BOTH, GOES_ABOVE]);
}

#[test]
fn writers_of_shards_swallow_nothing_beside_a_fault() {
    holds(with_two_writers(shards(), 0), &[RETURNS, BOTH, GOES_ABOVE]);
}

#[test]
#[ignore = "millions of states; make test-long runs it"]
fn copies_survive_two_writers_and_a_fault() {
    holds(
        with_two_writers(copies(), 1),
        &[FINISHES, RETURNS, BOTH, GOES_ABOVE],
    );
}

#[test]
#[ignore = "millions of states; make test-long runs it"]
fn shards_survive_two_writers_and_a_fault() {
    holds(
        with_two_writers(shards(), 1),
        &[FINISHES, RETURNS, BOTH, GOES_ABOVE],
    );
}

#[test]
#[ignore = "a million states; make test-long runs it"]
fn copies_survive_two_faults() {
    holds(
        Redundancy {
            reads: 1,
            faults: 2,
            ..copies()
        },
        &[FINISHES, RETURNS],
    );
}

#[test]
#[ignore = "a million states; make test-long runs it"]
fn shards_lose_nothing_within_their_bound() {
    holds(
        Redundancy {
            reads: 1,
            faults: 2,
            ..shards()
        },
        &[FINISHES, RETURNS],
    );
}

#[test]
fn without_the_fence_a_read_shows_something_older() {
    breaks(copies(), Mutation::NoFence, Promise::NothingOlder);
}

#[test]
fn without_leases_a_read_shows_something_older() {
    breaks(copies(), Mutation::NoLeases, Promise::NothingOlder);
}

#[test]
fn reads_of_shards_need_no_leases_but_acceptance_does() {
    let mutation = Some(Mutation::NoLeases);
    holds(
        Redundancy {
            mutation,
            ..shards()
        },
        &[FINISHES, RETURNS],
    );
    breaks(
        with_two_writers(shards(), 0),
        Mutation::NoLeases,
        Promise::NotSwallowed,
    );
}

#[test]
fn a_server_that_serves_at_once_shows_something_older() {
    breaks(copies(), Mutation::ServesAtOnce, Promise::NothingOlder);
}

#[test]
fn a_server_that_catches_up_from_an_older_epoch_misses_a_write() {
    breaks(
        copies(),
        Mutation::CatchesUpFromOlderEpoch,
        Promise::NothingOlder,
    );
}

#[test]
fn a_version_that_a_joiner_accepts_may_be_swallowed() {
    let scope = with_two_writers(copies(), 0);
    breaks(scope, Mutation::JoinerAccepts, Promise::NotSwallowed);
}

#[test]
fn a_quorum_is_not_enough_to_acknowledge() {
    breaks(copies(), Mutation::AcknowledgesEarly, Promise::NothingOlder);
}

#[test]
fn what_was_stored_under_an_older_map_does_not_count() {
    breaks(copies(), Mutation::CountsAcrossMaps, Promise::NothingOlder);
}

#[test]
fn an_unfinished_write_that_is_shown_may_vanish() {
    breaks(copies(), Mutation::ShowsUnfinished, Promise::NothingOlder);
}

#[test]
fn shards_of_two_versions_are_told_apart() {
    breaks(shards(), Mutation::MixesVersions, Promise::NotMixed);
}

#[test]
fn shards_that_are_overwritten_in_place_lose_an_acknowledged_value() {
    let mutation = Some(Mutation::OverwritesInPlace);
    let found = check(Redundancy {
        mutation,
        ..shards()
    });
    assert!(found.contains_key(IS_THERE), "{found:?}");
}

#[test]
fn a_forgotten_tombstone_lets_a_deleted_value_return() {
    let scope = without_faults(copies());
    breaks(scope, Mutation::ForgetsTombstones, Promise::NothingOlder);
}

#[test]
fn an_ignored_refusal_swallows_a_write() {
    let scope = without_faults(copies());
    breaks(scope, Mutation::IgnoresRefusals, Promise::NotSwallowed);
}

#[test]
fn a_write_that_goes_above_a_late_refusal_takes_effect_twice() {
    let scope = without_faults(copies());
    breaks(scope, Mutation::GoesAboveAnywhere, Promise::TakesEffectOnce);
}
