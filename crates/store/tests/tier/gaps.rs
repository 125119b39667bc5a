//! A segment that could not be written leaves a gap in the log: what was durable is back all the
//! same.

use crate::common::*;
use crate::crash::{Crash, World};
use farcache_store::*;
use std::sync::Arc;

/// Changes between two moments at which everything is durable.
const CHANGES: u32 = 12;
/// Writes, each of which fails in one life: far enough that slots are used again.
const WRITES: std::ops::Range<u64> = 4..72;

/// A device that the items fill by half.
const SCARCE_BYTES: u64 = 16 * SEGMENT_BYTES as u64;
/// Changes there between two moments at which everything is durable: more than the free slots hold.
const MANY_CHANGES: u32 = 80;

/// A life in which one write fails, and its repetition too, and that ends as soon as everything is
/// durable after so many further writes.
fn live_with_a_gap(durability: Durability, crash: Crash, write: u64, further: u64) {
    let world = World::new(write * 3 + 1, durability);
    live_on_with_a_gap(world, CHANGES, crash, write, further);
}

fn live_on_with_a_gap(mut world: World, changes: u32, crash: Crash, write: u64, further: u64) {
    let store = world.open();
    (write..write + 2).for_each(|write| world.device.fail_write(write, Fault::Error));
    let mut handle = store.handle();
    while world.device.writes() < write + 2 + further {
        (0..changes).for_each(|_| world.change_something(&mut handle));
        world.make_durable(&store, &mut handle);
    }
    assert_eq!(stats(&store).devices_failed, 0);
    world.crash(crash);
    drop(handle);
    drop(store);
    let store = world.open();
    world.check_all(&mut store.handle());
    // And once more, after what the recovery has written down.
    let mut handle = store.handle();
    (0..changes).for_each(|_| world.change_something(&mut handle));
    world.make_durable(&store, &mut handle);
    world.crash(crash);
    drop(handle);
    drop(store);
    world.check_all(&mut world.open().handle());
}

fn sweep(durability: Durability, crash: Crash) {
    for write in WRITES {
        live_with_a_gap(durability, crash, write, write % 3);
    }
}

#[test]
fn a_gap_costs_nothing_durable_at_a_kill() {
    sweep(Durability::Sync, Crash::Kill);
}

/// With slots so scarce that what is to become durable waits for those that come free only behind
/// the gap.
#[test]
fn a_gap_costs_nothing_durable_where_slots_are_scarce() {
    for write in WRITES {
        let device = device(SCARCE_BYTES);
        let world = World::on(device, write * 3 + 1, Durability::Sync);
        live_on_with_a_gap(world, MANY_CHANGES, Crash::Kill, write, write % 3);
    }
}

#[test]
fn a_gap_costs_nothing_durable_at_a_power_loss() {
    sweep(Durability::Sync, Crash::PowerLoss);
}

#[test]
fn a_gap_revives_nothing_at_a_power_loss() {
    sweep(Durability::Writeback, Crash::PowerLoss);
}

const KEYS: u32 = 300;
const VERSIONS: u32 = 4;
const BYTES: usize = 3000;

fn open_both(devices: &[Arc<FaultyDevice>]) -> Arc<Store> {
    let devices = devices.iter().map(|one| Arc::clone(one) as Arc<dyn Device>);
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        engine: EngineChoice::Threads,
        ..TierConfig::new(devices.collect())
    };
    Store::open(config(512 << 10), tier).unwrap()
}

/// Stores each key in as many versions as its number tells, all of which is durable before it
/// returns.
fn fill(store: &Arc<Store>) {
    let mut handle = store.handle();
    for version in 0..VERSIONS {
        let numbers = (0..KEYS).filter(|number| number % VERSIONS >= version);
        numbers.for_each(|number| set(&mut handle, number, version, BYTES));
        handle.park();
        assert!(store.sync_tier(PATIENCE), "{:?}", stats(store));
    }
}

/// Of two devices one vanishes at this write, counted from the moment when all is durable; then the
/// other is opened alone.
fn live_until_a_device_vanishes(write: u64) {
    let devices = [device(4 << 20), device(4 << 20)];
    let store = open_both(&devices);
    fill(&store);
    devices[0].fail_write(devices[0].writes() + write, Fault::Vanishes);
    let mut further = KEYS..;
    eventually("it has vanished", || {
        let mut handle = store.handle();
        let numbers = further.by_ref().take(20);
        numbers.for_each(|number| set(&mut handle, number, 0, BYTES));
        stats(&store).devices_failed == 1 && store.sync_tier(PATIENCE)
    });
    drop(store);
    let store = open_both(&[Arc::new(FaultyDevice::with_contents(devices[1].contents()))]);
    let mut handle = store.handle();
    for number in 0..KEYS {
        let newest = value(number, number % VERSIONS, BYTES);
        let found = get(&mut handle, number);
        assert!(
            found.is_none_or(|found| found == newest),
            "write {write}, key {number} is old"
        );
    }
}

#[test]
fn what_a_vanished_device_told_of_is_told_by_the_others() {
    (0..8).for_each(live_until_a_device_vanishes);
}
