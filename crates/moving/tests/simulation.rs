//! Servers among which keys move, and their clients, in simulated time: crashes, cuts and late
//! messages, all from a seed. What decides is the code that `farcached` runs; stores, messages
//! and clocks are simulated.
//!
//! Each client has keys of its own and knows what it may read: what it stored last, or nothing;
//! where a change was not answered, what it tried to store too. Nothing older may be read, nothing
//! deleted may come back, and where nobody dies nothing may be missing.
//!
//! `FARCACHE_MOVING_SEEDS` is the number of seeds, `FARCACHE_MOVING_SEED` the first one.

#[path = "simulation/clients.rs"]
mod clients;
#[path = "simulation/lines.rs"]
mod lines;
#[path = "simulation/server.rs"]
mod server;
#[path = "simulation/world.rs"]
mod world;

use world::{Chaos, World};

fn number(name: &str, otherwise: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

fn run_seeds(chaos: Chaos) {
    let first = number("FARCACHE_MOVING_SEED", 1);
    run_these(chaos, first..first + number("FARCACHE_MOVING_SEEDS", 40));
}

fn run_these(chaos: Chaos, seeds: impl IntoIterator<Item = u64>) {
    let mut brought = 0;
    for seed in seeds {
        // The seed stands in the panic of a thread of its own.
        let run = std::thread::Builder::new().name(format!("seed-{seed}"));
        let run = run.spawn(move || World::new(seed, chaos).run());
        let ended = run.expect("a thread").join();
        brought += ended.unwrap_or_else(|_| panic!("seed {seed} fails"));
    }
    assert!(brought > 0, "nothing ever moved");
}

#[test]
fn nothing_is_lost_and_nothing_old_is_read_where_messages_are_only_late() {
    run_seeds(Chaos {
        crashes: false,
        cuts: false,
        flushes: false,
        resets: false,
        jumps: false,
    });
}

#[test]
fn nothing_is_lost_where_movers_lose_their_connections() {
    run_seeds(Chaos {
        crashes: false,
        cuts: false,
        flushes: false,
        resets: true,
        jumps: false,
    });
}

#[test]
fn nothing_old_is_read_whatever_dies_or_is_cut_off() {
    run_seeds(Chaos {
        crashes: true,
        cuts: true,
        flushes: false,
        resets: true,
        jumps: false,
    });
}

#[test]
fn nothing_comes_back_that_a_flush_has_voided() {
    run_seeds(Chaos {
        crashes: false,
        cuts: true,
        flushes: true,
        resets: true,
        jumps: false,
    });
}

/// Seeds that have found something.
#[test]
fn what_a_worker_stores_by_an_older_map_is_not_shown_where_a_map_was_missed() {
    let chaos = Chaos {
        crashes: false,
        cuts: false,
        flushes: false,
        resets: false,
        jumps: true,
    };
    run_these(chaos, [1334, 2464]);
}

#[test]
fn nobody_decides_by_an_older_map_beside_the_new_owner() {
    for (crashes, cuts) in [(false, false), (true, true)] {
        run_seeds(Chaos {
            crashes,
            cuts,
            flushes: false,
            resets: false,
            jumps: true,
        });
    }
}
