//! An owner for tests: a log whose index is a map.

use crate::device::{Device, FaultyDevice};
use crate::flusher::{Flushed, Flusher, FlusherThread};
use crate::guard::Guard;
use crate::item::{Fields, RawItem, State};
use crate::location::Location;
use crate::log::{Appended, Fillings, Incoming, Log, LogUse, Source};
use crate::options::{Durability, TierConfig};
use crate::owner::{Entered, Found, Intake, Moved, Owner, Wish};
use crate::physical::Recovered;
use crate::plan::TierPlan;
use crate::recovery::recover;
use farcache_base::time::{START, Seconds};
use farcache_memory::epoch::{Epochs, Participant};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

pub(crate) const SEGMENT_BYTES: u32 = 64 << 10;

/// Where the items lie, by the hashes of their keys, which the tests choose.
pub(crate) struct Map {
    pub log: Log,
    epochs: Epochs,
    /// For the tests' own threads; the flusher needs none.
    participant: Mutex<Participant>,
    sequence: AtomicU64,
    entries: Mutex<HashMap<u64, Location>>,
}

impl Map {
    /// A map over these devices, with what lies there, and its flusher.
    pub fn open(
        devices: &[Arc<FaultyDevice>],
        durability: Durability,
    ) -> (Arc<Map>, FlusherThread<Map>) {
        let (map, recovered) = Map::recovered(devices, durability);
        let map = Arc::new(map);
        let flusher = FlusherThread::start(&map, recovered).unwrap();
        (map, flusher)
    }

    /// A map without a flusher: nothing is written.
    pub fn at_rest() -> Map {
        let device = Arc::new(FaultyDevice::new(2 << 20));
        Map::recovered(&[device], Durability::Writeback).0
    }

    fn recovered(devices: &[Arc<FaultyDevice>], durability: Durability) -> (Map, Recovered) {
        let devices = devices.iter().map(|one| Arc::clone(one) as Arc<dyn Device>);
        let plan = TierPlan::make(TierConfig {
            segment_bytes: SEGMENT_BYTES,
            durability,
            ..TierConfig::new(devices.collect())
        });
        let plan = plan.unwrap();
        let how = LogUse {
            evicts: false,
            memory_bytes: 1 << 20,
            huge_pages: false,
        };
        let epochs = Epochs::new(1);
        let map = Map {
            log: Log::new(&plan, how).unwrap(),
            participant: Mutex::new(epochs.join().unwrap()),
            epochs,
            sequence: AtomicU64::new(1),
            entries: Mutex::default(),
        };
        let recovered = recover(&map, &plan).unwrap();
        (map, recovered)
    }

    pub fn append(&self, hash: u64, key: &[u8], source: Source) -> Appended {
        let publish = |place| {
            let before = self.entries.lock().unwrap().insert(hash, place);
            if let Some(before) = before {
                self.looking(|guard| self.log.kill(guard, before));
            }
            true
        };
        self.log.append(self, &incoming(hash, key), source, publish)
    }

    /// Looks at tables that the flusher may free meanwhile.
    pub fn looking<R>(&self, look: impl FnOnce(Guard<'_>) -> R) -> R {
        let participant = self.participant.lock().unwrap();
        self.epochs.resume(&participant);
        // SAFETY: the participant is suspended when nobody looks any more, and not before.
        let seen = look(unsafe { Guard::new() });
        self.epochs.suspend(&participant);
        seen
    }

    pub fn place_of(&self, hash: u64) -> Option<Location> {
        self.entries.lock().unwrap().get(&hash).copied()
    }

    pub fn remove(&self, hash: u64) {
        let place = self.entries.lock().unwrap().remove(&hash);
        if let Some(place) = place {
            self.looking(|guard| self.log.kill(guard, place));
        }
    }

    /// What is entered, by hash.
    pub fn hashes(&self) -> Vec<u64> {
        let mut hashes: Vec<u64> = self.entries.lock().unwrap().keys().copied().collect();
        hashes.sort_unstable();
        hashes
    }
}

pub(crate) fn incoming(hash: u64, key: &[u8]) -> Incoming<'_> {
    Incoming {
        hash,
        key,
        value: b"value",
        fields: Fields::default(),
        state: State::default(),
    }
}

impl Fillings for Map {
    fn epochs(&self) -> &Epochs {
        &self.epochs
    }

    fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, SeqCst)
    }

    fn floor_for_new(&self) -> u64 {
        0
    }
}

impl Owner for Map {
    fn log(&self) -> &Log {
        &self.log
    }

    fn now(&self) -> Seconds {
        START
    }

    fn flush_floor(&self) -> u64 {
        0
    }

    fn newest_version(&self) -> u64 {
        0
    }

    fn untold_version(&self) -> u64 {
        0
    }

    fn move_item(
        &self,
        guard: Guard<'_>,
        location: Location,
        item: RawItem<'_>,
        wish: Wish,
    ) -> Moved {
        let entries = self.entries.lock().unwrap();
        let entry = entries.iter().find(|(_, place)| **place == location);
        let Some((&hash, _)) = entry else {
            return Moved::NotFound;
        };
        drop(entries);
        if wish == Wish::Drop {
            self.entries.lock().unwrap().remove(&hash);
            self.log.remove_live(guard, location);
            return Moved::Dropped;
        }
        let incoming = incoming(hash, item.key());
        let moved = self.log.append(self, &incoming, Source::Cleaner, |to| {
            self.log.inherit(guard, location, to);
            self.entries.lock().unwrap().insert(hash, to);
            self.log.remove_live(guard, location);
            true
        });
        match moved {
            Appended::Done => Moved::Kept,
            Appended::Gone => Moved::NotFound,
            Appended::Busy => Moved::Busy,
            Appended::Full => Moved::Full,
        }
    }

    fn drop_lost(&self, guard: Guard<'_>, is_lost: &dyn Fn(Location) -> bool) {
        self.entries.lock().unwrap().retain(|_, place| {
            let is_lost = is_lost(*place);
            if is_lost {
                self.log.remove_live(guard, *place);
            }
            !is_lost
        });
    }
}

impl Flushed for Map {
    fn turn(_: &mut Flusher<Map>) {}
}

impl Intake for Map {
    fn expect_items(&self, _: u64) {}

    fn prefetch(&self, _: u64) {}

    fn enter(&self, guard: Guard<'_>, hash: u64, _: u64, place: Option<Location>) -> Entered {
        let mut entries = self.entries.lock().unwrap();
        let before = match place {
            Some(place) => entries.insert(hash, place),
            None => entries.remove(&hash),
        };
        before
            .into_iter()
            .for_each(|before| self.log.kill(guard, before));
        Entered {
            change: i64::from(place.is_some()) - i64::from(before.is_some()),
            is_entered: place.is_some(),
        }
    }

    fn count_entries(&self, _: i64) {}

    fn go_on(&self, from: Found) {
        self.sequence.fetch_max(from.sequence + 1, SeqCst);
    }
}
