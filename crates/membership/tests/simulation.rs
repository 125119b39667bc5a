//! Servers and a store in simulated time: crashes, pauses, lost replies, outages, restored copies,
//! all from a seed. The same code decides as in `farcached`; the store is simulated.
//!
//! `FARCACHE_MEMBERSHIP_SEEDS` is the number of seeds, `FARCACHE_MEMBERSHIP_SEED` the first one.

#[path = "simulation/moves.rs"]
mod moves;
#[path = "simulation/server.rs"]
mod server;
#[path = "simulation/store.rs"]
mod store;
#[path = "simulation/world.rs"]
mod world;

use world::{Chaos, World};

fn number(name: &str, otherwise: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

fn run_seeds(chaos: Chaos) {
    let first = number("FARCACHE_MEMBERSHIP_SEED", 1);
    let mut maps = 0;
    for seed in first..first + number("FARCACHE_MEMBERSHIP_SEEDS", 60) {
        // The seed stands in the panic of a thread of its own.
        let run = std::thread::Builder::new().name(format!("seed-{seed}"));
        let run = run.spawn(move || World::new(seed, chaos).run());
        let ended = run.expect("a thread").join();
        maps += ended.unwrap_or_else(|_| panic!("seed {seed} fails"));
    }
    assert!(maps > 0, "no map was ever published");
}

#[test]
fn servers_agree_whatever_dies_sleeps_or_is_lost_on_the_way() {
    run_seeds(Chaos {
        restores: false,
        outages: true,
        moves: false,
    });
}

#[test]
fn servers_agree_although_the_store_falls_back_to_older_copies() {
    run_seeds(Chaos {
        restores: true,
        outages: true,
        moves: false,
    });
}

#[test]
fn servers_agree_while_the_store_is_always_there() {
    run_seeds(Chaos {
        restores: false,
        outages: false,
        moves: false,
    });
}

#[test]
fn servers_agree_on_what_moves_whatever_dies_meanwhile() {
    run_seeds(Chaos {
        restores: false,
        outages: true,
        moves: true,
    });
}

#[test]
fn moves_end_although_the_store_falls_back_to_older_copies() {
    run_seeds(Chaos {
        restores: true,
        outages: true,
        moves: true,
    });
}
