//! The thread that writes finished segments, makes them durable, and cleans.

mod door;
mod durable;
mod gap;
mod retiring;
mod writing;

use super::assembler::Source;
use super::format::{Death, WHOLE_SEGMENT};
use crate::core::Core;
use crate::device::Engine;
use door::Queue;
pub(crate) use door::{FlusherDoor, Job};
use gap::Gap;
use retiring::Waiting;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Writes at the device at once.
const DEPTH: u32 = 4;
/// How often the regular work is done.
const TICK: Duration = Duration::from_millis(100);
/// How soon to look again while readers keep slots from being used.
const GRACE_TICK: Duration = Duration::from_millis(1);
/// Deaths that wait before they are written without waiting for items.
const DEATHS_MAX: usize = 16 << 10;

/// What lies on the devices, as far as writing goes.
pub(crate) struct Physical {
    /// Write numbers of the segments that a scan would find, dead or not.
    pub numbers: HashSet<u64>,
    /// Those of them of whose end as a whole has been told, or will be before any of their slots is used again.
    pub dead: HashSet<u64>,
    /// Which of them lies in which slot; 0 for none.
    pub of_slot: Vec<u64>,
}

impl Physical {
    /// Whether a death must go on being told, because what died is still there.
    pub fn needs(&self, death: &Death) -> bool {
        let number = &death.write_number;
        let is_told = death.item != WHOLE_SEGMENT && self.dead.contains(number);
        self.numbers.contains(number) && !is_told
    }

    /// A segment has been overwritten.
    fn forget(&mut self, number: u64) {
        self.numbers.remove(&number);
        self.dead.remove(&number);
    }
}

/// The flusher's own state.
pub(super) struct Flusher {
    pub(super) core: Arc<Core>,
    engine: Engine,
    in_flight: HashMap<u64, Job>,
    /// Written and not yet durable, by write number.
    written: BTreeMap<u64, Job>,
    /// All segments up to this write number are on the device, and durable after the next sync.
    written_through: u64,
    /// The same after the last sync.
    synced_through: u64,
    /// Deaths up to this number have been synced.
    deaths_synced: u64,
    /// As `synced_through`, but not beyond a gap.
    durable_through: u64,
    /// As `deaths_synced`, but not beyond a gap.
    deaths_durable: u64,
    gap: Option<Gap>,
    /// The watermark in the superblocks is at least this.
    vouched_through: u64,
    waiting: VecDeque<Waiting>,
    pub(super) physical: Physical,
    failures: u32,
    last_tick: Instant,
    drains_seen: u64,
    /// Deaths noted when the last wish was seen.
    drain_deaths: u64,
    /// The last segment that must be durable before the wish is granted, once all it asks for has been handed over.
    drain_through: Option<u64>,
    unsynced_since: Instant,
    /// The newest flush floor that a header tells of.
    floor_told: u64,
}

/// The thread; stops and is joined when dropped.
pub(crate) struct FlusherThread {
    core: Arc<Core>,
    thread: Option<JoinHandle<()>>,
}

impl FlusherThread {
    /// Starts it, where the store has a tier.
    ///
    /// # Errors
    /// The system's, where it allows no further thread or ring.
    pub fn start(core: &Arc<Core>, physical: Physical, last: u64) -> io::Result<FlusherThread> {
        let tier = core.tier.as_ref().expect("a store with a tier");
        let engine = Engine::new(&tier.devices, DEPTH, tier.config.engine.uring())?;
        let flusher = Flusher {
            core: Arc::clone(core),
            engine,
            in_flight: HashMap::new(),
            written: BTreeMap::new(),
            written_through: last,
            synced_through: last,
            deaths_synced: 0,
            durable_through: last,
            deaths_durable: 0,
            gap: None,
            vouched_through: 0,
            waiting: VecDeque::new(),
            physical,
            failures: 0,
            last_tick: Instant::now(),
            drains_seen: 0,
            drain_deaths: 0,
            drain_through: None,
            unsynced_since: Instant::now(),
            floor_told: core.flush.floor(),
        };
        let thread = std::thread::Builder::new()
            .name("farcache-flush".into())
            .spawn(move || flusher.run())?;
        Ok(FlusherThread {
            core: Arc::clone(core),
            thread: Some(thread),
        })
    }
}

impl Drop for FlusherThread {
    fn drop(&mut self) {
        if let Some(tier) = &self.core.tier {
            tier.flusher.stop();
        }
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the runtime already.
            let _ = thread.join();
        }
    }
}

impl Flusher {
    pub(super) fn tier(&self) -> &super::Tier {
        self.core.tier.as_ref().expect("a store with a tier")
    }

    fn run(mut self) {
        while !self.tier().flusher.queue().stop {
            // What has ended makes room for what waits.
            self.pump();
            self.take_jobs();
            self.sync_if_due();
            self.mend_gap();
            self.release_slots();
            self.persist_dirty();
            self.regular_work();
            self.keep_slots_free();
            self.grant_drains();
            self.rest();
        }
        // What the kernel still writes into or from must outlive this thread: the engine waits.
    }

    fn rest(&mut self) {
        self.take_jobs();
        if !self.in_flight.is_empty() {
            self.engine.wait();
            return;
        }
        let time = match self.waiting.is_empty() && !self.drains_wanted() {
            true => TICK,
            false => GRACE_TICK,
        };
        let queue = self.tier().flusher.queue();
        let idle = |queue: &mut Queue| {
            queue.jobs.is_empty()
                && !queue.is_wanted
                && !queue.stop
                && queue.drains_wanted == self.drains_seen
        };
        let door = &self.tier().flusher;
        let waited = door.wake.wait_timeout_while(queue, time, idle);
        waited.expect("no holder panics").0.is_wanted = false;
    }

    fn regular_work(&mut self) {
        if self.tier().deaths.pending() >= DEATHS_MAX {
            self.write_deaths();
        }
        if self.last_tick.elapsed() < TICK {
            return;
        }
        self.last_tick = Instant::now();
        self.adopt_dropped();
        self.retire_dead_slots();
        self.fail_unreadable_devices();
        if self.core.flush.floor() > self.floor_told {
            self.write_deaths();
        }
    }

    /// Writes a segment soon, whatever there is to be written.
    pub(super) fn write_deaths(&mut self) {
        self.tier().open_for_deaths(&self.core, Source::Cleaner);
        self.tier().seal_open();
        self.take_jobs();
    }
}
