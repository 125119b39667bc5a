//! Servers that die while keys move.

use crate::fleet::Fleet;
use crate::load::Load;
use crate::support::wait_for;
use farcache_cluster::map::{Move, Phase};
use rustix::process::Signal;

fn pair(options: &[&str]) -> (Fleet, Vec<Move>) {
    let fleet = Fleet::start(2, options);
    fleet.publish(2, &[1]);
    fleet.wait_for_epoch_of(&[1, 2], 2);
    let moves = fleet.moves(&[1], &[1, 2]);
    (fleet, moves)
}

impl Fleet {
    fn kill(&mut self, id: u32) {
        let server = &mut self.servers[id as usize - 1];
        server.signal(Signal::KILL);
        server.wait();
    }

    fn start_anew(&mut self, id: u32) {
        let server = self.start_one(id);
        self.servers[id as usize - 1] = server;
    }
}

/// Slow enough that a crash comes in the middle: the load's keys take minutes.
const SLOW: [&str; 4] = ["--move-rate", "2k", "--forward-timeout-ms", "2000"];

#[test]
fn where_the_new_owner_dies_nothing_old_comes_back_and_the_old_owners_copy_is_void() {
    let (mut fleet, moves) = pair(&SLOW);
    let load = Load::start(&fleet, &[1, 2]);
    fleet.begin_moving(3, &[1, 2], &moves);
    load.counts.during_reads(2_000);
    let state = fleet.move_stat(&moves[0], Phase::Streaming, 2, "state");
    assert_eq!(
        state.as_deref(),
        Some("moving"),
        "the crash comes in the middle"
    );
    fleet.kill(2);
    fleet.start_anew(2);
    fleet.wait_for_epoch_of(&[2], 4);
    // In its next life it does not know what it had decided: it takes nothing from the old owner.
    fleet.wait_for_move(&moves[0], Phase::Streaming, 2, "state", |it| it == "lost");
    load.counts.during_reads(2_000);
    fleet.kill(2);
    fleet.publish_to(1, 5, &[1]);
    fleet.wait_for_epoch_of(&[1], 5);
    load.counts.during_reads(5_000);
    // Once when the pair began with one of them, and now.
    assert_eq!(fleet.stat(1, "gained_keys_dropped"), "2");
    let [reads, misses, stale, errors] = load.stop();
    println!("reads {reads}, misses {misses}, errors {errors}");
    assert_eq!(stale, 0);
    assert!(
        misses > 0,
        "what the old owner held of the moved keys is void"
    );
}

#[test]
fn where_the_old_owner_dies_the_new_one_goes_on_without_what_had_not_come() {
    let (mut fleet, moves) = pair(&SLOW);
    let load = Load::start(&fleet, &[1, 2]);
    fleet.begin_moving(3, &[1, 2], &moves);
    load.counts.during_reads(2_000);
    let state = fleet.move_stat(&moves[0], Phase::Streaming, 2, "state");
    assert_eq!(
        state.as_deref(),
        Some("moving"),
        "the crash comes in the middle"
    );
    fleet.kill(1);
    load.counts.during_reads(1_000);
    // It returns under the same map: what it holds now may be older than what it held.
    fleet.start_anew(1);
    crate::load::wait_long("the loss", || {
        let state = fleet.move_stat(&moves[0], Phase::Streaming, 2, "state");
        (state.as_deref() == Some("lost")).then_some(())
    });
    let done = fleet.move_stat(&moves[0], Phase::Streaming, 2, "done");
    assert_eq!(done.as_deref(), Some("yes"));
    load.counts.during_reads(2_000);
    fleet.publish(5, &[1, 2]);
    fleet.wait_for_epoch_of(&[1, 2], 5);
    load.counts.during_reads(2_000);
    let [reads, misses, stale, errors] = load.stop();
    println!("reads {reads}, misses {misses}, errors {errors}");
    assert_eq!(stale, 0);
}

#[test]
fn an_old_owner_that_is_dead_or_silent_is_not_waited_for_for_long() {
    for signal in [Signal::KILL, Signal::STOP] {
        let (mut fleet, moves) = pair(&[]);
        let key = fleet.key_of(2, 0);
        fleet.connect(1).set(&key, b"old");
        fleet.publish_moving(3, &[1, 2], &moves, Phase::HandingOver);
        fleet.wait_for_epoch_of(&[1, 2], 3);
        match signal {
            Signal::KILL => fleet.kill(1),
            _ => fleet.servers[0].stop(),
        }
        fleet.publish_moving(4, &[1, 2], &moves, Phase::Streaming);
        fleet.wait_for_epoch_of(&[2], 4);
        wait_for("the loss", || {
            let state = fleet.move_stat(&moves[0], Phase::Streaming, 2, "state");
            (state.as_deref() == Some("lost")).then_some(())
        });
        let mut client = fleet.connect(2);
        assert_eq!(client.get(&key), None, "{signal:?}");
        client.set(&key, b"new");
        if signal == Signal::STOP {
            fleet.servers[0].signal(Signal::CONT);
            fleet.wait_for_epoch_of(&[1], 4);
            let mut asked = fleet.connect(1);
            assert_eq!(asked.get(&key).as_deref(), Some(&b"new"[..]));
        }
        assert_eq!(client.get(&key).as_deref(), Some(&b"new"[..]));
    }
}

/// One that is stopped lets others connect, and does not greet them.
#[test]
fn an_old_owner_that_is_silent_does_not_hold_up_what_others_give() {
    let fleet = Fleet::start(3, &["--move-rate", "1m"]);
    fleet.publish(2, &[1, 2]);
    fleet.wait_for_epoch_of(&[1, 2, 3], 2);
    let mut client = fleet.connect(2);
    let value = "v".repeat(1000);
    for number in 0..3000 {
        client.send(format!("set item:{number} 0 0 1000 noreply\r\n{value}\r\n").as_bytes());
    }
    assert!(client.ask("mn").is_some());
    let moves = fleet.moves(&[1, 2], &[3]);
    fleet.servers[0].signal(Signal::STOP);
    for (epoch, phase) in (3..).zip([Phase::HandingOver, Phase::Streaming]) {
        let text = fleet.moving_map(epoch, &[3], &moves, phase);
        for id in [2, 3] {
            fleet.publish_text(id, &text);
        }
        fleet.wait_for_epoch_of(&[2, 3], epoch);
    }
    let (came, lost) = (
        "all that moved has come from=2",
        "nothing more comes of keys that move",
    );
    // The other one is given up after 5 s.
    wait_for("both to end", || {
        let log = fleet.servers[2].log();
        (log.contains(came) && log.contains(lost)).then_some(())
    });
    let log = fleet.servers[2].log();
    assert!(
        log.find(came) < log.find(lost),
        "held up until that is over"
    );
    fleet.servers[0].signal(Signal::CONT);
}
