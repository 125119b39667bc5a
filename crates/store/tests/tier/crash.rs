//! Kills and power losses at random moments, one after the other, on one device: nothing durable is
//! lost, and nothing that was superseded durably comes back.

use crate::common::*;
use farcache_store::*;
use std::sync::Arc;

const KEYS: u32 = 150;
const CRASHES: u32 = 6;

struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % below
    }
}

/// What a key has held since the last start: versions, or none.
#[derive(Clone, Debug)]
struct History {
    states: Vec<Option<u32>>,
    /// States before this one must not come back.
    durable: usize,
    /// This one is on the device, and stays there until the key changes.
    kept: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crash {
    Kill,
    PowerLoss,
}

pub struct World {
    random: Random,
    pub device: Arc<FaultyDevice>,
    durability: Durability,
    keys: Vec<History>,
    version: u32,
    seed: u64,
}

fn bytes_of(number: u32, version: u32) -> usize {
    40 + (number as usize * 977 + version as usize * 131) % 6000
}

impl World {
    pub fn new(seed: u64, durability: Durability) -> World {
        World::on(device(2 << 20), seed, durability)
    }

    pub fn on(device: Arc<FaultyDevice>, seed: u64, durability: Durability) -> World {
        let empty = History {
            states: vec![None],
            durable: 0,
            kept: 0,
        };
        World {
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            device,
            durability,
            keys: vec![empty; KEYS as usize],
            version: 0,
            seed,
        }
    }

    pub fn open(&self) -> Arc<Store> {
        let tier = TierConfig {
            durability: self.durability,
            engine: EngineChoice::Threads,
            ..tier(&self.device)
        };
        let config = StoreConfig {
            evict: false,
            ..config(512 << 10)
        };
        Store::open(config, tier).unwrap()
    }

    pub fn change_something(&mut self, handle: &mut StoreHandle) {
        let number = self.random.next(u64::from(KEYS)) as u32;
        let state = if self.random.next(5) == 0 {
            handle
                .delete(&key(number), &DeleteOptions::default())
                .unwrap();
            handle.quiescent();
            None
        } else {
            self.version += 1;
            set(handle, number, self.version, bytes_of(number, self.version));
            Some(self.version)
        };
        self.keys[number as usize].states.push(state);
    }

    /// Everything up to now becomes durable (or its predecessors impossible).
    pub fn make_durable(&mut self, store: &Store, handle: &mut StoreHandle) {
        if self.durability == Durability::Sync {
            let mark = handle.durable_mark();
            handle.park();
            eventually("a mark becomes durable", || handle.is_durable(mark));
        } else {
            handle.park();
            assert!(store.sync_tier(PATIENCE), "{:?}", stats(store));
        }
        for key in &mut self.keys {
            key.durable = key.states.len() - 1;
            if self.durability == Durability::Sync {
                key.kept = key.durable;
            }
        }
    }

    fn run_until_crash(&mut self, crash: Crash) {
        let store = self.open();
        let mut handle = store.handle();
        self.check_all(&mut handle);
        for _ in 0..self.random.next(900) {
            self.change_something(&mut handle);
            if self.random.next(60) == 0 {
                self.make_durable(&store, &mut handle);
            }
            if self.random.next(10) == 0 {
                let number = self.random.next(u64::from(KEYS)) as u32;
                get_with(&mut handle, number, Access::Use);
            }
        }
        self.crash(crash);
    }

    /// The store that is open goes on with a device of its own.
    pub fn crash(&mut self, crash: Crash) {
        let contents = match crash {
            Crash::Kill => self.device.contents(),
            Crash::PowerLoss => {
                let random = &mut self.random;
                self.device.contents_after_power_loss(|| random.next(3) > 0)
            }
        };
        self.device = Arc::new(FaultyDevice::with_contents(contents));
    }

    /// Each key holds what it may hold, and from now on exactly that.
    pub fn check_all(&mut self, handle: &mut StoreHandle) {
        for number in 0..KEYS {
            let found = get(handle, number);
            let history = &mut self.keys[number as usize];
            let possible = &history.states[history.durable..];
            let is_value = |version: &Option<u32>| {
                let version =
                    version.map(|version| value(number, version, bytes_of(number, version)));
                version == found
            };
            // What is in memory only is lost; what was found at the start was on the device.
            let may_be_lost = possible.len() > 1 || history.kept < history.durable;
            let state = possible.iter().rev().find(|state| is_value(state)).copied();
            let is_right = state.is_some() || (found.is_none() && may_be_lost);
            let shown = found
                .as_ref()
                .map(|found| String::from_utf8_lossy(&found[..30]).into_owned());
            assert!(
                is_right,
                "seed {}, key {number}: {shown:?}, not of {possible:?}; {:?}",
                self.seed,
                stats(handle.store())
            );
            history.states = vec![state.flatten()];
            (history.durable, history.kept) = (0, 0);
        }
    }
}

/// Lives of six crashes each; `FARCACHE_CRASH_SEEDS` asks for more.
fn crash_often(durability: Durability, crash: Crash, first_seed: u64) {
    let seeds = std::env::var("FARCACHE_CRASH_SEEDS");
    let seeds = seeds.ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(8);
    for seed in first_seed..first_seed + seeds {
        let mut world = World::new(seed, durability);
        for _ in 0..CRASHES {
            world.run_until_crash(crash);
        }
        let store = world.open();
        world.check_all(&mut store.handle());
    }
}

#[test]
fn kills_lose_nothing_that_was_durable() {
    crash_often(Durability::Sync, Crash::Kill, 1);
}

#[test]
fn power_losses_lose_nothing_that_was_durable() {
    crash_often(Durability::Sync, Crash::PowerLoss, 1_000_001);
}

#[test]
fn what_was_superseded_does_not_come_back_after_a_kill() {
    crash_often(Durability::Writeback, Crash::Kill, 2_000_001);
}

#[test]
fn what_was_superseded_does_not_come_back_after_a_power_loss() {
    crash_often(Durability::Writeback, Crash::PowerLoss, 3_000_001);
}
