//! The thread that writes finished segments, makes them durable, and cleans.

mod candidates;
mod cleaner;
mod disown;
mod drain;
mod durable;
mod gap;
mod last_slot;
mod mover;
mod progress;
mod retiring;
mod runs;
mod telling;
mod writing;

use crate::device::Engine;
use crate::guard::Guard;
use crate::log::{Job, Log, Queue, Source};
use crate::owner::Owner;
use crate::physical::{Physical, Recovered};
use crate::schedule::Instant;
use crate::schedule::thread;
use crate::schedule::thread::JoinHandle;
use crate::tombstones::TombstoneCounts;
use disown::Disowned;
use drain::Drain;
use gap::Gap;
use progress::Progress;
use retiring::Waiting;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use telling::Told;
pub use telling::{Telling, ToTell};

/// Writes at the device at once.
const DEPTH: u32 = 4;
/// How often the regular work is done.
const TICK: Duration = Duration::from_millis(100);
/// How soon to look again while readers keep slots from being used.
const GRACE_TICK: Duration = Duration::from_millis(1);
/// Tombstones that wait before they are written without waiting for items.
const TOMBSTONES_MAX: usize = 16 << 10;

/// An owner with a flusher.
pub trait Flushed: Owner {
    /// Called once in every turn of the flusher, when what has been written is accounted for.
    fn turn(flusher: &mut Flusher<Self>);
}

/// The flusher's own state.
pub struct Flusher<O> {
    owner: Arc<O>,
    engine: Engine,
    in_flight: HashMap<u64, Job>,
    progress: Progress,
    /// Tombstones noted when the store was opened.
    tombstones_at_start: TombstoneCounts,
    gap: Option<Gap>,
    waiting: VecDeque<Waiting>,
    disowned: Disowned,
    pub(super) physical: Physical,
    failures: u32,
    /// Cleaning gains no slot for tombstones that wait for one.
    pub(super) cleaned_in_vain: bool,
    last_tick: Instant,
    drain: Drain,
    told: Told,
    /// Copies of these may have been lost before they were durable.
    pub(super) has_lost_copies: bool,
}

/// The thread; stops and is joined when dropped.
pub struct FlusherThread<O: Flushed> {
    owner: Arc<O>,
    thread: Option<JoinHandle<()>>,
}

impl<O: Flushed> FlusherThread<O> {
    /// Starts it, with what opening the log has found.
    ///
    /// # Panics
    /// Where the log has had one, or has not been recovered.
    ///
    /// # Errors
    /// The system's, where it allows no further thread or ring.
    pub fn start(owner: &Arc<O>, recovered: Recovered) -> io::Result<FlusherThread<O>> {
        let Recovered { physical, last } = recovered;
        let log = owner.log();
        log.phases.begin_flushing();
        let engine = Engine::new(&log.devices, DEPTH, log.config.engine.uring())?;
        let flusher = Flusher {
            owner: Arc::clone(owner),
            engine,
            in_flight: HashMap::new(),
            progress: Progress::new(last),
            tombstones_at_start: log.tombstones.noted(),
            gap: None,
            waiting: VecDeque::new(),
            disowned: Disowned::default(),
            physical,
            failures: 0,
            cleaned_in_vain: false,
            last_tick: Instant::now(),
            drain: Drain::default(),
            told: Told {
                flush_floor: owner.flush_floor(),
                version: owner.newest_version(),
            },
            has_lost_copies: false,
        };
        let thread = thread::Builder::new()
            .name("farcache-flush".into())
            .spawn(move || flusher.run())?;
        Ok(FlusherThread {
            owner: Arc::clone(owner),
            thread: Some(thread),
        })
    }
}

impl<O: Flushed> Drop for FlusherThread<O> {
    fn drop(&mut self) {
        self.owner.log().flusher.stop();
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the runtime already.
            let _ = thread.join();
        }
    }
}

impl<O: Flushed> Flusher<O> {
    pub(super) fn log(&self) -> &Log {
        self.owner.log()
    }

    pub(super) fn guard(&self) -> Guard<'_> {
        // SAFETY: tables are freed by the log's one flusher, in `release_slots`, which needs it
        // mutably.
        unsafe { Guard::new() }
    }

    fn run(mut self) {
        self.adopt_held();
        while !self.log().flusher.queue().stop {
            // What has ended makes room for what waits.
            self.pump();
            self.take_jobs();
            self.sync_if_due();
            self.mend_gap();
            self.release_slots();
            O::turn(&mut self);
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
        let queue = self.log().flusher.queue();
        let idle = |queue: &mut Queue| {
            queue.jobs.is_empty()
                && !queue.is_wanted
                && !queue.stop
                && queue.drains_wanted == self.drain.seen
        };
        let door = &self.log().flusher;
        let waited = door.wake.wait_timeout_while(queue, time, idle);
        let mut waited = waited.expect("no holder panics");
        waited.0.is_wanted = false;
        if waited.1.timed_out() {
            self.log().flusher.note_wait(time);
        }
    }

    fn regular_work(&mut self) {
        self.write_many_tombstones();
        if self.last_tick.elapsed() < TICK {
            return;
        }
        self.last_tick = Instant::now();
        self.retire_dead_slots();
        self.fail_unreadable_devices();
        self.disown_devices();
        if self.owner.flush_floor() > self.told.flush_floor {
            self.write_tombstones();
        }
    }

    /// Writes tombstones where too many of them wait.
    pub(super) fn write_many_tombstones(&mut self) {
        let most = TOMBSTONES_MAX.min(self.log().tombstone_room());
        if self.log().tombstones.pending() >= most {
            self.write_tombstones();
        }
    }

    /// Writes a segment soon, whatever there is to be written.
    pub(super) fn write_tombstones(&mut self) {
        self.open_to_tell();
        self.log().seal_open();
        self.take_jobs();
    }

    /// Opens a segment, unless one is open, for whatever tombstones wait. False where no slot can
    /// be spared for that: the cleaner knows then that there must be more.
    pub(super) fn open_to_tell(&self) -> bool {
        // What gives slots back may take the last one.
        let source = match self.slots_told_by_next() {
            0 if self.cleaned_in_vain => Source::Cleaner,
            0 => Source::Told,
            _ => Source::Tombstones,
        };
        let is_open = self.log().open_for_tombstones(self.owner.as_ref(), source);
        if !is_open && !self.log().loan.is_out() {
            self.log().pressure.set_short_of_tombstone_slots(true);
        }
        is_open
    }
}
