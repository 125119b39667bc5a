//! Repair among crashes and returns, with late and lost messages, concurrent writers and readers,
//! all from a seed. In the end, when all are back, every server has its part of the newest
//! acknowledged write, and no read has shown anything older.

#[path = "../simulation/random.rs"]
mod random;
mod reading;
mod server;
mod world;
mod writing;

use server::Fault;
use world::World;

/// Redundancies whose owners are all servers.
const REDUNDANCIES: [&str; 3] = ["replicate:3", "ec:3,2", "ec:2,1"];

const SEEDS: u64 = 400;

/// Runs one seed: what is wrong, if anything.
fn run(redundancy: &str, seed: u64, fault: Option<Fault>) -> Result<(), String> {
    let mut world = World::new(redundancy, seed, fault);
    for _ in 0..400 {
        world.step()?;
    }
    world.settle()
}

fn seeds() -> u64 {
    let more = std::env::var("FARCACHE_REPAIR_SEEDS");
    more.map_or(SEEDS, |seeds| seeds.parse().expect("a number"))
}

#[test]
fn all_is_back_at_full_strength_and_nothing_older_was_shown() {
    for redundancy in REDUNDANCIES {
        for seed in 0..seeds() {
            if let Err(wrong) = run(redundancy, seed, None) {
                panic!("{redundancy}, seed {seed}: {wrong}");
            }
        }
    }
}

/// It had begun without the server that repairs, which then fetched the older value of the others.
#[test]
fn a_deletion_that_others_have_forgotten_is_not_undone() {
    assert_eq!(run("replicate:3", 6696, None), Ok(()));
}

fn is_found(fault: Fault) -> bool {
    let mut runs = REDUNDANCIES
        .iter()
        .flat_map(|redundancy| (0..seeds()).map(move |seed| (redundancy, seed)));
    runs.any(|(redundancy, seed)| run(redundancy, seed, Some(fault)).is_err())
}

/// A test for each planted fault.
macro_rules! found {
    ($($name:ident: $fault:ident,)*) => {
        $(
            #[test]
            fn $name() {
                assert!(is_found(Fault::$fault));
            }
        )*
    };
}

found! {
    a_repair_that_overwrites_something_newer_is_found: StoresUnasked,
    a_repair_that_asks_one_owner_only_is_found: AsksOneOnly,
    old_content_that_is_not_asked_about_is_found: TrustsOldContent,
    a_server_that_counts_as_caught_up_too_early_is_found: CatchesUpAtOnce,
    a_repair_that_makes_another_shard_is_found: MakesShardZero,
    a_repair_that_believes_who_has_missed_something_is_found: HorizonsAreNotTold,
}
