//! Three servers become four, and four become three, while clients go on.

use crate::fleet::Fleet;
use crate::load::Load;
use crate::support::wait_for;
use farcache_cluster::map::Phase;

const THREE: [u32; 3] = [1, 2, 3];
const FOUR: [u32; 4] = [1, 2, 3, 4];

/// Four servers, of which the last owns nothing yet.
fn three_of_four(options: &[&str]) -> Fleet {
    let fleet = Fleet::start(4, options);
    fleet.publish(2, &THREE);
    fleet.wait_for_epoch_of(&FOUR, 2);
    fleet
}

/// A read of a key that has not come yet waits for the connection to the old owner.
#[test]
fn a_worker_is_connected_to_those_that_give_keys_before_anybody_reads_one() {
    let fleet = three_of_four(&[]);
    let moves = fleet.moves(&THREE, &FOUR);
    fleet.publish_moving(3, &FOUR, &moves, Phase::HandingOver);
    for giver in THREE {
        let told = format!("connected to a peer peer={giver}");
        wait_for(&told, || {
            fleet.servers[3].log().contains(&told).then_some(())
        });
    }
}

/// Nobody decides on keys between the old owner's end and its word to the new one.
#[test]
fn a_server_is_connected_to_those_that_give_keys_before_they_stop_deciding() {
    let fleet = three_of_four(&[]);
    let moves = fleet.moves(&THREE, &FOUR);
    fleet.publish_moving(3, &FOUR, &moves, Phase::HandingOver);
    for giver in THREE {
        let told = format!("connected to a server that gives keys from={giver}");
        wait_for(&told, || {
            fleet.servers[3].log().contains(&told).then_some(())
        });
    }
}

/// Misses of what should be there, in parts of a million reads.
fn per_million([reads, misses, ..]: [u64; 4]) -> u64 {
    misses * 1_000_000 / reads
}

#[test]
fn three_become_four_without_a_wave_of_misses_and_without_stale_values() {
    let fleet = three_of_four(&["--move-rate", "1m"]);
    let moves = fleet.moves(&THREE, &FOUR);
    let load = Load::start(&fleet, &FOUR);
    let before = load.counts.during_reads(5_000);
    assert_eq!(
        before[1..],
        [0, 0, 0],
        "misses, stale reads and errors at rest"
    );
    let began = load.counts.now();
    fleet.begin_moving(3, &FOUR, &moves);
    fleet.wait_for_done(&moves);
    load.counts.during_reads(5_000);
    fleet.publish(5, &FOUR);
    fleet.wait_for_epoch_of(&FOUR, 5);
    load.counts.during_reads(20_000);
    let moved = load.counts.since(began);
    println!("reads, misses, stale reads, errors: {moved:?}");
    assert_eq!(moved[2..], [0, 0], "stale reads and errors");
    assert!(
        per_million(moved) <= 1000,
        "{moved:?}: more than 0.1 points"
    );
    // And back.
    let moves = fleet.moves(&FOUR, &THREE);
    let began = load.counts.now();
    fleet.begin_moving(6, &THREE, &moves);
    fleet.wait_for_done(&moves);
    fleet.publish(8, &THREE);
    fleet.wait_for_epoch_of(&FOUR, 8);
    load.counts.during_reads(10_000);
    let moved = load.counts.since(began);
    println!("reads, misses, stale reads, errors: {moved:?}");
    assert_eq!(moved[2..], [0, 0], "stale reads and errors");
    assert!(
        per_million(moved) <= 1000,
        "{moved:?}: more than 0.1 points"
    );
    load.stop();
}

/// What the same costs without moves, for comparison: a figure, not a promise.
#[test]
#[ignore = "a measurement"]
fn three_become_four_with_a_cold_join() {
    let fleet = three_of_four(&[]);
    let load = Load::start(&fleet, &FOUR);
    load.counts.during_reads(5_000);
    let began = load.counts.now();
    fleet.publish(3, &FOUR);
    fleet.wait_for_epoch_of(&FOUR, 3);
    load.counts.during_reads(25_000);
    let moved = load.counts.since(began);
    println!("reads, misses, stale reads, errors: {moved:?}");
    assert_eq!(moved[2..], [0, 0], "stale reads and errors");
    assert!(per_million(moved) > 1000, "{moved:?}");
    load.stop();
}
