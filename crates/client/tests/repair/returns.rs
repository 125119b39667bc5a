//! Servers that return are repaired, so that others may go: nothing acknowledged is lost, nothing
//! deleted is back.

use crate::Fleet;
use crate::fleet::Keeps;
use crate::support::wait_for;
use farcache_client::{Client, Error};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Policies with their servers, and how many of them may be lost at a time.
const POLICIES: [(&str, usize, usize); 2] = [("replicate:3", 3, 1), ("ec:3,2", 5, 2)];

/// The lengths of values, on both sides of the threshold.
const LENGTHS: [usize; 6] = [0, 5, 3_000, 4_095, 40_000, 131_075];

fn value(key: usize, generation: usize) -> Vec<u8> {
    let bytes = LENGTHS[key % LENGTHS.len()];
    let seed = key * 31 + generation * 101;
    (0..bytes).map(|at| (at * 7 + seed) as u8).collect()
}

/// What a key was last known to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The value of this generation.
    Value(usize),
    Deleted,
    /// An operation has failed: it may have taken effect.
    Either,
}

/// What was acknowledged.
type Book = BTreeMap<usize, Known>;

fn name(key: usize) -> String {
    format!("key-{key}")
}

/// Writes or deletes one key, and notes what is known of it then.
fn change(client: &Client, book: &mut Book, key: usize, generation: usize) {
    let known = match (key + generation).is_multiple_of(5) {
        true => match client.delete(name(key)) {
            Ok(()) | Err(Error::NotFound) => Known::Deleted,
            Err(_) => Known::Either,
        },
        false => match client.set(name(key), value(key, generation), 0) {
            Ok(_) => Known::Value(generation),
            Err(_) => Known::Either,
        },
    };
    book.insert(key, known);
}

fn assert_book(client: &Client, book: &Book, when: &str) {
    for (&key, &known) in book {
        let found = client.get(name(key));
        match known {
            Known::Either => {}
            Known::Deleted => assert_eq!(found, Ok(None), "{when}: key {key} was deleted"),
            Known::Value(generation) => {
                let item = found.unwrap_or_else(|error| panic!("{when}: key {key}: {error}"));
                let item = item.unwrap_or_else(|| panic!("{when}: key {key} is lost"));
                let is_it = item.value == value(key, generation);
                assert!(is_it, "{when}: key {key} has another value");
            }
        }
    }
    let known = book.values().filter(|known| **known != Known::Either);
    assert!(
        known.count() > book.len() / 2,
        "{when}: too little is known"
    );
}

/// A client writes while `meanwhile` happens, and at least so many keys.
fn while_writing(fleet: &mut Fleet, policy: &str, book: &mut Book, meanwhile: impl Fn(&mut Fleet)) {
    let client = fleet.client(policy);
    let (is_over, shared) = (AtomicBool::new(false), Mutex::new(std::mem::take(book)));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for generation in 1.. {
                for key in (0..60).step_by(1 + generation % 3) {
                    change(&client, &mut shared.lock().unwrap(), key, generation);
                }
                if is_over.load(SeqCst) && generation > 2 {
                    break;
                }
            }
        });
        meanwhile(fleet);
        is_over.store(true, SeqCst);
    });
    *book = shared.into_inner().unwrap();
}

fn fill(client: &Client, book: &mut Book) {
    (0..120).for_each(|key| change(client, book, key, 1));
}

fn survive(keeps: Keeps) {
    for (policy, servers, losses) in POLICIES {
        let mut fleet = Fleet::start(servers, keeps, &["--repair-rate", "1g"]);
        let mut book = Book::new();
        fill(&fleet.client(policy), &mut book);
        for round in 0..2 {
            let lost: Vec<usize> = (0..losses)
                .map(|one| (round * losses + one) % servers)
                .collect();
            while_writing(&mut fleet, policy, &mut book, |fleet| {
                lost.iter().for_each(|server| fleet.kill(*server));
            });
            // More is changed that they do not see.
            let client = fleet.client(policy);
            (60..90).for_each(|key| change(&client, &mut book, key, 2 + round));
            while_writing(&mut fleet, policy, &mut book, |fleet| {
                lost.iter().for_each(|server| fleet.start_again(*server));
                lost.iter().for_each(|server| fleet.await_repair(*server));
            });
            assert_book(&fleet.client(policy), &book, "repaired");
            let others: Vec<usize> = (0..servers).filter(|one| !lost.contains(one)).collect();
            // As many as the policy allows, which with copies are all but one.
            let gone = if policy.starts_with("ec") {
                2
            } else {
                2.min(others.len())
            };
            others[..gone].iter().for_each(|server| fleet.kill(*server));
            let when = format!("{policy}, {keeps:?}, round {round}: others are gone");
            assert_book(&fleet.client(policy), &book, &when);
            others[..gone]
                .iter()
                .for_each(|server| fleet.start_again(*server));
            (0..servers).for_each(|server| fleet.await_repair(server));
        }
        assert_book(&fleet.client(policy), &book, "in the end");
    }
}

#[test]
fn servers_that_return_empty_are_repaired_and_others_may_go() {
    survive(Keeps::Nothing);
}

#[test]
fn servers_that_return_with_old_content_are_repaired_and_others_may_go() {
    survive(Keeps::Device);
}

#[test]
fn a_server_that_returns_empty_gets_its_copies_back() {
    let mut fleet = Fleet::start(3, Keeps::Nothing, &[]);
    let client = fleet.client("replicate:3");
    for key in 0..50 {
        client.set(name(key), value(key, 1), 0).expect("stored");
    }
    fleet.kill(1);
    fleet.start_again(1);
    fleet.await_repair(1);
    let stats = fleet.stats(1);
    // By the first pass; the second one, for writes that had begun before, finds them there.
    assert_eq!(stats["repair_passes"], 2, "{stats:?}");
    assert_eq!(stats["repair_parts_rebuilt"], 50, "{stats:?}");
    assert_eq!(stats["repair_errors"], 0, "{stats:?}");
    fleet.kill(0);
    fleet.kill(2);
    for key in 0..50 {
        let item = fleet.client("replicate:3").get(name(key));
        let item = item.expect("an answer").expect("an item");
        assert!(item.value == value(key, 1), "key {key}");
    }
}

/// Nothing is fetched twice, and nothing that is there already.
#[test]
fn a_pass_over_what_is_whole_fetches_nothing() {
    let fleet = Fleet::start(5, Keeps::Nothing, &[]);
    let client = fleet.client("ec:3,2");
    for key in 0..50 {
        client.set(name(key), value(key, 1), 0).expect("stored");
    }
    for server in 0..fleet.count() {
        let before = fleet.stats(server);
        let after = fleet.repair(server);
        assert_eq!(after["repair_complete"], 1, "{after:?}");
        assert_eq!(
            after["repair_bytes_fetched"],
            before["repair_bytes_fetched"]
        );
        // Each key by each of the others.
        let examined = after["repair_keys_examined"] - before["repair_keys_examined"];
        assert!(examined >= 200, "{examined}");
    }
}

/// Small values of an erasure code have their bytes at the first m + 1 owners. When one of those
/// leaves, the next one is no witness any more.
#[test]
fn who_comes_to_stand_among_the_holders_of_a_small_value_gets_its_bytes() {
    const LEAVES: usize = 5;
    let mut fleet = Fleet::start(6, Keeps::Nothing, &[]);
    let client = fleet.client("ec:3,2");
    let small = |key: usize| vec![key as u8; 100 + key];
    for key in 0..200 {
        client.set(name(key), small(key), 0).expect("stored");
    }
    fleet.kill(LEAVES);
    fleet.publish_without(2, &[LEAVES]);
    (0..LEAVES).for_each(|number| _ = fleet.repair(number));
    (0..LEAVES).for_each(|number| fleet.await_repair(number));
    fleet.kill(0);
    fleet.kill(1);
    let client = fleet.client_without(&[LEAVES], "ec:3,2");
    for key in 0..200 {
        let item = client.get(name(key)).expect("an answer");
        let item = item.unwrap_or_else(|| panic!("key {key} is lost"));
        assert!(item.value == small(key), "key {key}");
    }
}

/// All servers become owners of some keys of those that have left, each as the first of some of
/// them: what they have of these as further owners is all that is left.
#[test]
fn as_many_as_may_be_lost_leave_the_map_and_nothing_is_lost() {
    for (policy, servers, lost, epoch) in [
        ("replicate:3", 5, 2, 2),
        ("ec:3,2", 7, 2, 2),
        ("ec:2,1", 4, 1, 2),
        // A map was missed: they do not know what they owned by it, and show nothing before a
        // repair.
        ("ec:3,2", 7, 2, 3),
    ] {
        let mut fleet = Fleet::start(servers, Keeps::Nothing, &["--repair-rate", "1g"]);
        let mut book = Book::new();
        fill(&fleet.client(policy), &mut book);
        let gone: Vec<usize> = (0..lost).collect();
        gone.iter().for_each(|server| fleet.kill(*server));
        fleet.publish_without(epoch, &gone);
        (lost..servers).for_each(|server| fleet.await_epoch(server, epoch));
        let client = fleet.client_without(&gone, policy);
        if epoch == 2 {
            assert_book(&client, &book, &format!("{policy}: they have left"));
        }
        (lost..servers).for_each(|server| fleet.await_repair(server));
        assert_book(&client, &book, &format!("{policy}: repaired"));
        // What the others had is whole again.
        let others = &[lost, lost + 1][..lost];
        others.iter().for_each(|server| fleet.kill(*server));
        assert_book(&client, &book, &format!("{policy}: others are gone"));
    }
}

/// Each takes its copies with it: there are as many as a key has owners.
#[test]
fn servers_that_are_drained_and_stopped_one_after_the_other_take_nothing_with_them() {
    // So slow that a drain which did not wait for copies would end before they are there.
    let mut fleet = Fleet::start(6, Keeps::Nothing, &["--repair-rate", "1m"]);
    let mut book = Book::new();
    fill(&fleet.client("replicate:3"), &mut book);
    for number in 0..3 {
        fleet.drain(number);
        fleet.kill(number);
    }
    assert_book(
        &fleet.client_without(&[0, 1, 2], "replicate:3"),
        &book,
        "drained",
    );
}

/// Gives all servers a map in which one has this state, and waits until they go by it.
fn publish_with_one(fleet: &Fleet, epoch: u64, (one, its_state): (usize, &'static str)) {
    fleet.publish_with(epoch, |number| match number == one {
        true => Some(its_state),
        false => Some("serving"),
    });
    (0..fleet.count()).for_each(|number| fleet.await_epoch(number, epoch));
}

/// It may be one of the last owners that are left, and no repair has asked those that are gone.
#[test]
fn what_a_server_had_before_others_owned_it_is_not_shown_when_it_owns_it_again() {
    const LEAVES: usize = 3;
    let mut fleet = Fleet::start(4, Keeps::Nothing, &["--repair-rate", "1k"]);
    let store = |client: &Client, generation| {
        for key in 0..100 {
            let stored = client.set(name(key), value(1 + key % 3, generation), 0);
            stored.expect("stored");
        }
    };
    store(&fleet.client("replicate:3"), 1);
    publish_with_one(&fleet, 2, (LEAVES, "draining"));
    store(&fleet.client_without(&[LEAVES], "replicate:3"), 2);
    publish_with_one(&fleet, 3, (LEAVES, "serving"));
    fleet.kill(0);
    fleet.kill(1);
    let client = fleet.client("replicate:3");
    let mut newest = 0;
    for key in 0..100 {
        // Where too many of its owners are gone it may be lost.
        if let Ok(Some(item)) = client.get(name(key)) {
            assert!(
                item.value == value(1 + key % 3, 2),
                "key {key} has its old value"
            );
            newest += 1;
        }
    }
    assert!(newest > 0, "all are lost");
}

/// All servers catch up after a map, but of keys that they owned all along they tell what they have
/// forgotten.
#[test]
fn what_was_forgotten_while_a_server_owned_nothing_does_not_come_back_with_it() {
    const LEAVES: usize = 3;
    let mut fleet = Fleet::start(4, Keeps::Nothing, &["--repair-rate", "1g"]);
    let old = fleet.client("replicate:3");
    for key in 0..50 {
        old.set(name(key), value(1, 1), 0).expect("stored");
    }
    publish_with_one(&fleet, 2, (LEAVES, "draining"));
    let client = fleet.client_without(&[LEAVES], "replicate:3");
    for key in 0..50 {
        client.set(name(key), value(1, 2), 1).expect("stored");
    }
    for key in 0..50 {
        wait_for("its expiry", || {
            client
                .get(name(key))
                .expect("an answer")
                .is_none()
                .then_some(())
        });
    }
    publish_with_one(&fleet, 3, (LEAVES, "serving"));
    (0..fleet.count()).for_each(|server| fleet.await_repair(server));
    let stats = fleet.stats(LEAVES);
    assert!(stats["repair_parts_dropped"] > 0, "{stats:?}");
    (0..LEAVES).for_each(|server| fleet.kill(server));
    for key in 0..50 {
        let found = old.get(name(key));
        assert!(
            !matches!(found, Ok(Some(_))),
            "key {key} is back: {found:?}"
        );
    }
}
