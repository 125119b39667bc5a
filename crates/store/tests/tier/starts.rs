//! Starts that do not finish: killed at any write or sync of any device, or refused one of them.
//! Nothing is lost by that.

use crate::common::*;
use farcache_store::*;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const KEYS: u32 = 300;
const BYTES: usize = 3000;

/// What happens to a start at one of its writes and syncs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mishap {
    /// The process ends before it.
    Kill,
    /// The power goes while it is written: one block of it arrives.
    Torn,
    /// It fails, once.
    Error,
}

/// Counts the writes and syncs of all devices of a start, and lets one of them go wrong.
pub struct Trap {
    at: AtomicU64,
    mishap: Mishap,
    count: AtomicU64,
}

impl Trap {
    pub fn at(at: u64, mishap: Mishap) -> Arc<Trap> {
        Arc::new(Trap {
            at: AtomicU64::new(at),
            mishap,
            count: AtomicU64::new(0),
        })
    }

    pub fn none() -> Arc<Trap> {
        Trap::at(u64::MAX, Mishap::Error)
    }

    /// Writes and syncs so far.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Nothing is written any more from now on.
    pub fn spring(&self) {
        self.at.store(0, Relaxed);
    }

    /// Notes a write or sync; with what is to happen to it.
    fn step(&self) -> Option<Mishap> {
        let now = self.count.fetch_add(1, Relaxed);
        let at = self.at.load(Relaxed);
        let is_dead = self.mishap != Mishap::Error && now > at;
        match now == at {
            true => Some(self.mishap),
            false => is_dead.then_some(Mishap::Kill),
        }
    }
}

/// A device in such a start, parts of which may be unreadable.
pub struct Trapped {
    pub inner: Arc<FaultyDevice>,
    pub trap: Arc<Trap>,
    pub unreadable: Range<u64>,
}

impl Trapped {
    pub fn wrap(inner: &Arc<FaultyDevice>, trap: &Arc<Trap>) -> Arc<dyn Device> {
        Arc::new(Trapped {
            inner: Arc::clone(inner),
            trap: Arc::clone(trap),
            unreadable: 0..0,
        })
    }
}

impl Device for Trapped {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn block_bytes(&self) -> usize {
        self.inner.block_bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset + buffer.len() as u64;
        if offset < self.unreadable.end && self.unreadable.start < end {
            return Err(io::Error::other("an unreadable place"));
        }
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let failed = io::Error::other("the write failed");
        match self.trap.step() {
            None => self.inner.write_at(buffer, offset),
            Some(Mishap::Torn) => {
                let block = &buffer[..self.inner.block_bytes()];
                self.inner.write_at(block, offset).and(Err(failed))
            }
            Some(_) => Err(failed),
        }
    }

    fn sync(&self) -> io::Result<()> {
        match self.trap.step() {
            None => self.inner.sync(),
            Some(_) => Err(io::Error::other("the sync failed")),
        }
    }
}

pub fn tier_over(devices: Vec<Arc<dyn Device>>) -> TierConfig {
    TierConfig {
        segment_bytes: SEGMENT_BYTES,
        engine: EngineChoice::Threads,
        ..TierConfig::new(devices)
    }
}

/// A store over these devices, with memory for a part of the items.
pub fn open_over(devices: &[Arc<FaultyDevice>]) -> Arc<Store> {
    let devices = devices.iter().map(|one| Arc::clone(one) as Arc<dyn Device>);
    Store::open(config(512 << 10), tier_over(devices.collect())).unwrap()
}

/// These devices as they are after the process has ended.
pub fn again(devices: &[Arc<FaultyDevice>]) -> Vec<Arc<FaultyDevice>> {
    let contents = devices.iter().map(|device| device.contents());
    let new = contents.map(|contents| Arc::new(FaultyDevice::with_contents(contents)));
    new.collect()
}

/// Stores all keys and stops in order.
pub fn fill_and_stop(devices: &[Arc<FaultyDevice>]) {
    let store = open_over(devices);
    let mut handle = store.handle();
    (0..KEYS).for_each(|number| set(&mut handle, number, 0, BYTES));
    drop(handle);
    assert!(store.shutdown(PATIENCE));
}

/// How many keys are there, all of them right.
pub fn count(store: &Arc<Store>) -> u32 {
    let mut handle = store.handle();
    let found = |number: u32| match get(&mut handle, number) {
        Some(found) => {
            assert!(found == value(number, 0, BYTES), "key {number} is wrong");
            1
        }
        None => 0,
    };
    (0..KEYS).map(found).sum()
}

/// Begins a start over these devices that meets a mishap; tells how many writes and syncs it made.
fn start_badly(devices: &[Arc<FaultyDevice>], at: u64, mishap: Mishap) -> u64 {
    let trap = Trap::at(at, mishap);
    let trapped = devices
        .iter()
        .map(|one| Trapped::wrap(one, &trap))
        .collect();
    let plan = TierPlan::make(tier_over(trapped)).unwrap();
    let store = Store::open_planned(config(512 << 10), &plan);
    let count = trap.count();
    drop(store);
    count
}

/// Lets every write and sync of a start over these devices go wrong in turn, and shows what the
/// devices hold then.
fn start_badly_everywhere(devices: &[Arc<FaultyDevice>], show: impl Fn(&[Arc<FaultyDevice>])) {
    for mishap in [Mishap::Kill, Mishap::Torn, Mishap::Error] {
        for at in 0.. {
            let devices = again(devices);
            let count = start_badly(&devices, at, mishap);
            show(&again(&devices));
            // The power goes, and nothing arrives that was not synced; or every second block.
            let mut turn = false;
            let patterns: [&mut dyn FnMut() -> bool; 2] = [&mut || false, &mut || {
                turn = !turn;
                turn
            }];
            for pattern in patterns {
                let contents = |one: &Arc<FaultyDevice>, pattern: &mut dyn FnMut() -> bool| {
                    one.contents_after_power_loss(pattern)
                };
                let contents = devices.iter().map(|one| contents(one, pattern));
                let left = contents.map(|one| Arc::new(FaultyDevice::with_contents(one)));
                show(&left.collect::<Vec<_>>());
            }
            if count <= at {
                break;
            }
        }
    }
}

#[test]
fn a_start_over_what_it_was_used_with_syncs_each_device_and_writes_nothing() {
    let devices = [device(4 << 20), device(4 << 20), device(4 << 20)];
    fill_and_stop(&devices);
    let writes = || devices.iter().map(|device| device.writes()).sum::<u64>();
    let before = writes();
    // What is found may be there without being durable, if its writer was killed.
    assert_eq!(start_badly(&devices, u64::MAX, Mishap::Kill), 3);
    assert_eq!(writes(), before);
    assert_eq!(count(&open_over(&again(&devices))), KEYS);
}

/// Three devices with all keys, and with segments behind them that were not synced when the power
/// went: those on the first device did not arrive.
fn with_torn_log() -> Vec<Arc<FaultyDevice>> {
    let devices = [device(4 << 20), device(4 << 20), device(4 << 20)];
    let trap = Trap::at(u64::MAX, Mishap::Kill);
    let trapped = devices
        .iter()
        .map(|one| Trapped::wrap(one, &trap))
        .collect();
    let store = Store::open(config(512 << 10), tier_over(trapped)).unwrap();
    let mut handle = store.handle();
    (0..KEYS).for_each(|number| set(&mut handle, number, 0, BYTES));
    // What an open handle has stored last would stay in memory.
    drop(handle);
    assert!(store.shutdown(PATIENCE));
    let mut handle = store.handle();
    let written = stats(&store).segments_written;
    let mut further = KEYS..;
    eventually("some segments are written", || {
        set(&mut handle, further.next().unwrap(), 0, BYTES);
        stats(&store).segments_written > written + 5
    });
    trap.spring();
    let left = devices.iter().enumerate();
    let left = left.map(|(number, device)| device.contents_after_power_loss(|| number > 0));
    left.map(|contents| Arc::new(FaultyDevice::with_contents(contents)))
        .collect()
}

/// Its first task is to clear the torn end of the log away.
#[test]
fn a_start_after_a_power_loss_that_does_not_finish_loses_nothing() {
    let mut torn = with_torn_log();
    // Everything may just have been synced.
    eventually("the log is torn", || {
        let has_torn_end = start_badly(&again(&torn), u64::MAX, Mishap::Kill) > 0;
        if !has_torn_end {
            torn = with_torn_log();
        }
        has_torn_end
    });
    start_badly_everywhere(&torn, |devices| {
        assert_eq!(count(&open_over(devices)), KEYS);
    });
}

#[test]
fn a_first_start_that_does_not_finish_is_made_up_for_by_the_next() {
    let devices = [device(4 << 20), device(4 << 20)];
    start_badly_everywhere(&devices, |devices| {
        drop(open_over(devices));
        fill_and_stop(devices);
        assert_eq!(count(&open_over(devices)), KEYS);
    });
}

#[test]
fn a_start_with_one_more_device_that_does_not_finish_loses_nothing() {
    let devices = [device(4 << 20), device(4 << 20), device(4 << 20)];
    fill_and_stop(&devices[..2]);
    start_badly_everywhere(&devices, |devices| {
        // Without it: that may be, or the store knows of it.
        let old = again(&devices[..2]);
        let old = old.iter().map(|one| Arc::clone(one) as Arc<dyn Device>);
        match TierPlan::make(tier_over(old.collect())) {
            Ok(plan) => {
                let store = Store::open_planned(config(512 << 10), &plan).unwrap();
                assert_eq!(count(&store), KEYS);
            }
            Err(error) => assert!(matches!(refusal(&error), TierRefusal::Missing { .. })),
        }
        assert_eq!(count(&open_over(devices)), KEYS);
    });
}

/// Why a store was not opened.
pub fn refusal(error: &io::Error) -> &TierRefusal {
    let inner = error.get_ref().expect("an error with a reason");
    inner.downcast_ref().expect("a refusal")
}

/// What planning a start over these devices says.
fn plan_over(devices: &[&Arc<FaultyDevice>], may_format: &[usize]) -> io::Result<TierPlan> {
    let devices = devices.iter().map(|one| Arc::clone(one) as Arc<dyn Device>);
    TierPlan::make(TierConfig {
        may_format: may_format.to_vec(),
        ..tier_over(devices.collect())
    })
}

fn kinds(plan: &TierPlan) -> Vec<TierEventKind> {
    plan.events().iter().map(|event| event.kind).collect()
}

#[test]
fn what_is_neither_blank_nor_the_stores_is_overwritten_only_with_permission() {
    let (ours, other) = (device(4 << 20), device(4 << 20));
    fill_and_stop(&[Arc::clone(&ours)]);
    // A byte here and there, where file systems and RAIDs have something.
    for place in [1080, 0x10040, 1 << 20, (4 << 20) - 512] {
        let foreign = device(4 << 20);
        foreign.write_at(&[7; 512], place / 512 * 512).unwrap();
        let before = foreign.contents();
        let refused = plan_over(&[&ours, &foreign], &[]).err().unwrap();
        let TierRefusal::Device { why, .. } = refusal(&refused) else {
            panic!("{refused}");
        };
        assert!(matches!(why, Unusable::Foreign(_)), "{why}");
        assert!(foreign.contents() == before);
        let plan = plan_over(&[&ours, &foreign], &[1]).unwrap();
        assert!(foreign.contents() == before, "a plan changes nothing");
        assert_eq!(kinds(&plan), [TierEventKind::Overwritten]);
    }
    fill_and_stop(&[Arc::clone(&other)]);
    let refused = plan_over(&[&ours, &other], &[]).err().unwrap();
    let is_other = |refusal: &TierRefusal| match refusal {
        TierRefusal::Device { why, .. } => *why == Unusable::OtherStore,
        _ => false,
    };
    assert!(is_other(refusal(&refused)), "{refused}");
    let plan = plan_over(&[&ours, &other], &[1]).unwrap();
    let store = Store::open_planned(config(512 << 10), &plan).unwrap();
    assert_eq!(count(&store), KEYS);
    drop(store);
    assert_eq!(count(&open_over(&[ours, other])), KEYS);
}

#[test]
fn a_store_of_an_older_format_is_told_from_data_of_an_unknown_kind() {
    let old = device(4 << 20);
    let mut superblock = [0; 4096];
    superblock[..8].copy_from_slice(b"FARCSSD\0");
    superblock[8] = 2;
    old.write_at(&superblock, 0).unwrap();
    let refused = plan_over(&[&old], &[]).err().unwrap();
    assert!(refused.to_string().contains("version 2"), "{refused}");
    assert!(plan_over(&[&old], &[0]).is_ok());
}

#[test]
fn two_copies_of_a_device_are_refused() {
    let ours = device(4 << 20);
    fill_and_stop(&[Arc::clone(&ours)]);
    let copy = &again(&[Arc::clone(&ours)])[0];
    let refused = plan_over(&[&ours, copy], &[]).err().unwrap();
    assert!(refused.to_string().contains("a copy"), "{refused}");
}

#[test]
fn a_device_that_has_become_smaller_is_refused_and_a_larger_one_is_used() {
    let ours = device(4 << 20);
    fill_and_stop(&[Arc::clone(&ours)]);
    let resized = |bytes: usize| {
        let mut contents = ours.contents();
        contents.resize(bytes, 0);
        Arc::new(FaultyDevice::with_contents(contents))
    };
    let smaller = resized(3 << 20);
    let refused = plan_over(&[&smaller], &[]).err().unwrap();
    assert!(
        matches!(refusal(&refused), TierRefusal::Shrunk { .. }),
        "{refused}"
    );
    let larger = resized(8 << 20);
    assert_eq!(count(&open_over(&[Arc::clone(&larger)])), KEYS);
    let refused = plan_over(&[&ours], &[]);
    assert!(refused.is_ok(), "it has not been used as a larger one");
}

#[test]
fn an_unreadable_copy_of_a_superblock_is_made_up_for_by_the_other() {
    for copy in [0, 4096] {
        let devices = [device(4 << 20), device(4 << 20)];
        fill_and_stop(&devices);
        let damaged = Arc::new(Trapped {
            inner: Arc::clone(&devices[0]),
            trap: Trap::none(),
            unreadable: copy..copy + 4096,
        });
        let devices: Vec<Arc<dyn Device>> = vec![damaged, Arc::clone(&devices[1]) as _];
        let store = Store::open(config(512 << 10), tier_over(devices)).unwrap();
        assert_eq!(count(&store), KEYS, "copy at {copy}");
    }
}

#[test]
fn a_read_that_fails_for_a_moment_costs_nothing_at_a_start() {
    let device = device(4 << 20);
    fill_and_stop(&[Arc::clone(&device)]);
    for failing in 0..6 {
        let devices = again(&[Arc::clone(&device)]);
        let plan = plan_over(&[&devices[0]], &[]).unwrap();
        // The headers, then what follows.
        devices[0].fail_reads_after(failing * 15, 2);
        let store = Store::open_planned(config(512 << 10), &plan).unwrap();
        assert_eq!(count(&store), KEYS);
    }
}

#[test]
fn a_device_that_cannot_be_read_is_not_taken_for_empty() {
    let device = device(4 << 20);
    fill_and_stop(&[Arc::clone(&device)]);
    let plan = plan_over(&[&device], &[]).unwrap();
    device.fail_reads(true);
    assert!(Store::open_planned(config(512 << 10), &plan).is_err());
    device.fail_reads(false);
    assert_eq!(count(&open_over(&[device])), KEYS);
}
