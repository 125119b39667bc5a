//! Crash points: every write and every sync of every device is a moment at which the machine may
//! stop.
//!
//! A store lives, and all that its devices see is written down in one order. From that the contents
//! of the devices at each moment are made, with what had not been synced lost, kept or torn; there
//! the store is opened again, checked against what each key may hold, changed, stopped or killed,
//! opened, checked, and so on. `FARCACHE_CRASH_SECONDS` says for how long to go on,
//! `FARCACHE_CRASH_SEED` with which seed to begin; `scripts/crash-points` sets them.

mod crash;
mod device;
mod explore;
mod image;
mod life;
mod model;
mod random;
mod scenario;

use explore::{Covered, Effort, Finding, explore};
use farcache_store::Durability;
use random::Random;
use scenario::{Scenario, Sizes};
use std::io::Write;
use std::time::{Duration, Instant};

fn number_of(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Writes what the devices held when something was found to go wrong into a folder; returns a line
/// about it.
fn keep(finding: &Finding, seed: u64) -> std::io::Result<String> {
    let base = std::env::var_os("FARCACHE_CRASH_KEEP");
    let base = base.map_or_else(std::env::temp_dir, Into::into);
    let folder = base.join(format!("farcache-crash-{seed}"));
    std::fs::create_dir_all(&folder)?;
    for (number, image) in finding.start.contents.visible().iter().enumerate() {
        let mut file = std::fs::File::create(folder.join(format!("device{number}")))?;
        image.chunks().try_for_each(|chunk| file.write_all(chunk))?;
    }
    std::fs::write(folder.join("finding"), &finding.message)?;
    Ok(format!("the devices before it are in {}", folder.display()))
}

fn tell(finding: &Finding, seed: u64) -> String {
    let kept = keep(finding, seed).unwrap_or_else(|error| error.to_string());
    format!("seed {seed}: {}\n{kept}", finding.message)
}

/// A quick look: a few moments of two lives for each of some seeds.
fn look(scenarios: impl Iterator<Item = Scenario>, stride: usize) {
    let mut covered = Covered::default();
    for scenario in scenarios {
        let effort = Effort {
            generations: 2,
            stride,
            deadline: None,
            has_absences: false,
        };
        if let Err(finding) = explore(&scenario, effort, &mut covered) {
            panic!("{}", tell(&finding, scenario.seed));
        }
    }
    println!("{covered:?}");
    assert!(covered.points > 0);
}

fn some(
    first: u64,
    count: u64,
    durability: Durability,
    devices: usize,
    sizes: Sizes,
) -> impl Iterator<Item = Scenario> {
    let scenario =
        move |seed| Scenario::with(seed, durability, devices, sizes, &mut Random::new(seed));
    (first..first + count).map(scenario)
}

#[test]
fn one_device_keeps_what_it_promised() {
    look(some(100, 2, Durability::Sync, 1, Sizes::Mixed), 19);
    look(some(200, 2, Durability::Writeback, 1, Sizes::Mixed), 11);
}

#[test]
fn several_devices_keep_what_they_promised() {
    look(some(900, 2, Durability::Sync, 2, Sizes::Mixed), 23);
    look(some(1000, 2, Durability::Writeback, 3, Sizes::Mixed), 23);
}

#[test]
fn a_cache_revives_nothing() {
    look(some(500, 2, Durability::Cache, 1, Sizes::Mixed), 17);
}

#[test]
fn a_device_that_fails_while_the_store_ends_may_be_told_that_it_fell_behind() {
    let mut scenarios = some(501, 1, Durability::Cache, 1, Sizes::Mixed);
    let scenario = scenarios.next().expect("one");
    let was_refused = explore::after_late_failure(&scenario);
    assert!(was_refused.expect("nothing is wrong"), "it was told");
}

#[test]
fn more_tombstones_at_once_than_a_segment_tells_of_are_kept() {
    look(some(700, 1, Durability::Writeback, 1, Sizes::Tiny), 17);
}

#[test]
fn values_larger_than_a_segment_keep_what_they_promised() {
    look(some(8, 2, Durability::Sync, 1, Sizes::Runs), 19);
    look(some(600, 1, Durability::Writeback, 2, Sizes::Runs), 23);
}

/// For as long as `FARCACHE_CRASH_SECONDS` says, one seed after the other; tells of all that it has
/// found at its end.
#[test]
#[ignore = "scripts/crash-points runs it"]
fn every_point() {
    let seconds = number_of("FARCACHE_CRASH_SECONDS").unwrap_or(60);
    let first = number_of("FARCACHE_CRASH_SEED").unwrap_or(1);
    let count = number_of("FARCACHE_CRASH_SEEDS").unwrap_or(u64::MAX);
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let (mut covered, mut found) = (Covered::default(), Vec::new());
    let sizes = std::env::var("FARCACHE_CRASH_SIZES").ok();
    for seed in (first..).take(count as usize) {
        if Instant::now() >= deadline {
            break;
        }
        let scenario = Scenario::of(seed, number_of("FARCACHE_CRASH_DEVICES"));
        if sizes
            .as_ref()
            .is_some_and(|sizes| format!("{:?}", scenario.sizes) != *sizes)
        {
            continue;
        }
        let effort = Effort {
            generations: 4,
            stride: 1,
            deadline: Some(deadline),
            has_absences: number_of("FARCACHE_CRASH_ABSENCES") != Some(0),
        };
        if let Err(finding) = explore(&scenario, effort, &mut covered) {
            println!("{}\n", tell(&finding, seed));
            found.push(seed);
        }
        println!("through seed {seed}: {covered:?}, {} findings", found.len());
    }
    assert!(found.is_empty(), "seeds that found something: {found:?}");
}
