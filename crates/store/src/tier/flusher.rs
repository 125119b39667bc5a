//! The thread that writes finished segments, makes them durable, and cleans.

use super::assembler::{Source, put_header};
use super::format::{Death, SegmentHeader, WHOLE_SEGMENT};
use super::options::{Durability, TierEventKind};
use super::persist::Persisted;
use super::slots::SlotState;
use crate::core::Core;
use crate::device::{Buffer, Direction, Engine, Memory, Outcome, Transfer};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io;
use std::sync::atomic::Ordering::*;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Writes at the device at once.
const DEPTH: u32 = 4;
/// Segments written between two syncs while there is no end of them.
const SEGMENTS_PER_SYNC: u64 = 64;
/// How often the regular work is done.
const TICK: Duration = Duration::from_millis(100);
/// How soon to look again while readers keep slots from being used.
const GRACE_TICK: Duration = Duration::from_millis(1);
/// Writes that fail one after the other before a device is taken out of service.
const FAILURES_MAX: u32 = 3;
/// Deaths that wait before they are written without waiting for items.
const DEATHS_MAX: usize = 16 << 10;

/// A finished segment.
pub(crate) struct Job {
    pub slot: u32,
    pub run: u32,
    pub header: SegmentHeader,
    pub deaths: Box<[Death]>,
    /// All deaths up to this number are in this segment or earlier ones.
    pub deaths_through: u64,
    /// Bytes to write.
    pub bytes: usize,
    pub buffer: Arc<Buffer>,
    pub has_failed: bool,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    is_wanted: bool,
    stop: bool,
    /// Somebody waits for everything to be durable; counted up for each wish, and granted up to.
    drains_wanted: u64,
    drains_done: u64,
}

/// What other threads tell the flusher, and it them.
#[derive(Default)]
pub(crate) struct FlusherDoor {
    queue: Mutex<Queue>,
    wake: Condvar,
    progress: Condvar,
}

impl FlusherDoor {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no holder panics")
    }

    pub fn push(&self, job: Job) {
        self.queue().jobs.push_back(job);
        self.wake.notify_one();
    }

    /// Has the thread look for work now.
    pub fn wake(&self) {
        let mut queue = self.queue();
        if !std::mem::replace(&mut queue.is_wanted, true) {
            self.wake.notify_one();
        }
    }

    pub fn stop(&self) {
        self.queue().stop = true;
        self.wake.notify_one();
    }

    /// Waits until the flusher has got something done, or until the time is up.
    pub fn wait_for_progress(&self, time: Duration) {
        let queue = self.queue();
        let _ = self.progress.wait_timeout(queue, time);
    }

    fn tell_progress(&self) {
        drop(self.queue());
        self.progress.notify_all();
    }

    /// Waits until everything handed over so far is durable; false if that takes longer than `time`.
    pub fn drain(&self, time: Duration) -> bool {
        let mut queue = self.queue();
        queue.drains_wanted += 1;
        let mine = queue.drains_wanted;
        self.wake.notify_one();
        let waited = self
            .progress
            .wait_timeout_while(queue, time, |queue| queue.drains_done < mine);
        !waited.expect("no holder panics").1.timed_out()
    }

    pub fn queued(&self) -> usize {
        self.queue().jobs.len()
    }
}

/// A slot that may be overwritten once its death is durable and readers have moved on.
struct Waiting {
    head: u32,
    run: u32,
    death: u64,
    epoch: u64,
}

/// What lies on the devices, as far as writing goes.
pub(crate) struct Physical {
    /// Write numbers of the segments that a scan would find, dead or not.
    pub numbers: HashSet<u64>,
    /// Which of them lies in which slot; 0 for none.
    pub of_slot: Vec<u64>,
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
    durable_through: u64,
    deaths_durable: u64,
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
    /// No slot is released before this death is durable.
    deaths_held: u64,
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
            durable_through: last,
            deaths_durable: 0,
            waiting: VecDeque::new(),
            physical,
            failures: 0,
            last_tick: Instant::now(),
            drains_seen: 0,
            drain_deaths: 0,
            drain_through: None,
            unsynced_since: Instant::now(),
            deaths_held: 0,
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
            self.take_jobs();
            self.pump();
            self.sync_if_due();
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
        if !self.in_flight.is_empty() {
            self.engine.wait();
            return;
        }
        let time = if self.waiting.is_empty() {
            TICK
        } else {
            GRACE_TICK
        };
        let queue = self.tier().flusher.queue();
        let idle = |queue: &mut Queue| {
            queue.jobs.is_empty()
                && !queue.is_wanted
                && !queue.stop
                && queue.drains_wanted == queue.drains_done
        };
        let door = &self.tier().flusher;
        let waited = door.wake.wait_timeout_while(queue, time, idle);
        waited.expect("no holder panics").0.is_wanted = false;
    }

    fn take_jobs(&mut self) {
        while self.in_flight.len() < DEPTH as usize {
            let job = self.tier().flusher.queue().jobs.pop_front();
            let Some(job) = job else { break };
            self.begin(job);
        }
        self.engine.start();
    }

    fn begin(&mut self, mut job: Job) {
        let tier = self.core.tier.as_ref().expect("a store with a tier");
        job.header.watermark = self.durable_through;
        job.header.flush_floor = self.core.flush.floor();
        self.floor_told = job.header.flush_floor;
        put_header(&job.buffer, &job.header);
        self.physical.numbers.insert(job.header.write_number);
        let token = job.header.write_number;
        let transfer = Transfer {
            direction: Direction::Write,
            device: tier.slots.device_of(job.slot),
            offset: tier.slots.offset_of(job.slot),
            buffer: Memory::Shared(Arc::clone(&job.buffer)),
            bytes: job.bytes,
            token,
        };
        self.in_flight.insert(token, job);
        self.engine.submit(transfer);
    }

    /// Takes note of the writes that have ended.
    pub(super) fn pump(&mut self) {
        let mut ended = Vec::new();
        self.engine.poll(&mut ended);
        for Outcome { transfer, result } in ended {
            let Some(job) = self.in_flight.remove(&transfer.token) else {
                continue;
            };
            drop(transfer);
            match result {
                Ok(()) => self.note_written(job),
                Err(error) => self.note_failed(job, &error),
            }
        }
    }

    /// Waits until a write has ended, and takes note of it; for one who needs a buffer.
    pub(super) fn pump_one(&mut self) {
        self.take_jobs();
        if self.in_flight.is_empty() {
            self.write_deaths_for_slots();
            std::thread::sleep(GRACE_TICK);
        } else {
            self.engine.wait();
        }
        self.pump();
        self.sync_if_due();
        self.release_slots();
    }

    fn note_written(&mut self, mut job: Job) {
        self.failures = 0;
        let tier = self.core.tier.as_ref().expect("a store with a tier");
        tier.counters.segments_written.add(1);
        tier.counters.bytes_written.add(job.bytes as u64);
        self.complete_table(&mut job);
        if self.written.is_empty() {
            self.unsynced_since = Instant::now();
        }
        self.note_past(job);
    }

    /// The segment is served from the device from now on.
    fn complete_table(&self, job: &mut Job) {
        let tier = self.tier();
        // Marks made under this lock are in the copy.
        let _marks = tier.marks.lock().expect("no holder panics");
        let table = tier.slots.table(job.slot).expect("being written");
        let deaths = std::mem::take(&mut job.deaths);
        let table = table.completed(job.header.items, job.header.table_offset, deaths);
        tier.slots
            .replace_table(job.slot, table, || self.core.epochs.retire());
        tier.slots.slot(job.slot).set_state(SlotState::Written);
    }

    /// The job needs no further write.
    fn note_past(&mut self, mut job: Job) {
        job.buffer = Arc::clone(&self.tier().no_buffer);
        self.tier().counters.buffers.subtract(1);
        self.written.insert(job.header.write_number, job);
        while self.written.contains_key(&(self.written_through + 1)) {
            self.written_through += 1;
        }
        self.tier().flusher.tell_progress();
    }

    /// Writes it once more, then gives the place up.
    fn note_failed(&mut self, mut job: Job, error: &io::Error) {
        let device = self.tier().slots.device_of(job.slot);
        self.tier().counters.write_errors.add(1);
        self.tell(TierEventKind::WriteFailed, device, error);
        if !std::mem::replace(&mut job.has_failed, true) {
            return self.begin(job);
        }
        self.failures += 1;
        if self.failures >= FAILURES_MAX {
            self.fail_device(device, error);
        }
        self.move_elsewhere(job);
    }

    fn tell(&self, kind: TierEventKind, device: usize, error: &io::Error) {
        let name = self.tier().devices[device].name();
        self.tier().events.tell_error(kind, &name, error);
    }

    pub(super) fn fail_device(&mut self, device: usize, error: &io::Error) {
        if self.tier().slots.fail_device(device) {
            self.tell(TierEventKind::OutOfService, device, error);
            self.failures = 0;
            self.drop_device(device);
        }
    }

    /// A segment that could not be written: its items go into another one.
    fn move_elsewhere(&mut self, job: Job) {
        let (slot, run, number) = (job.slot, job.run, job.header.write_number);
        let buffer = Arc::clone(&job.buffer);
        let deaths = job.deaths.clone();
        // First, so that its buffer counts no longer.
        self.note_past(job);
        self.move_live(slot, &buffer, super::cleaner::Fate::Keep);
        self.drop_unreadable(slot);
        for death in deaths {
            self.tier().deaths.note(death);
        }
        let tier = self.tier();
        tier.deaths.note(Death {
            write_number: number,
            item: WHOLE_SEGMENT,
        });
        // What later segments told of already does not make up for what this one lost.
        let noted = tier.deaths.noted();
        self.deaths_held = noted;
        let tier = self.tier();
        tier.slots.empty(slot, || self.core.epochs.retire());
        tier.slots.close(slot, run);
    }

    fn sync_if_due(&mut self) {
        let unsynced = self.written_through - self.durable_through;
        if unsynced == 0 {
            return;
        }
        let tier = self.tier();
        let is_idle = self.is_idle();
        let is_wanted = self.drains_wanted() || tier.is_sync() || tier.is_short(&self.core);
        let is_old = self.unsynced_since.elapsed() >= TICK && is_idle;
        let grants_drains = self.drain_through.is_some_and(|through| {
            self.durable_through < through && self.written_through >= through
        });
        if (is_idle && is_wanted) || is_old || grants_drains || unsynced >= SEGMENTS_PER_SYNC {
            self.sync();
        }
    }

    fn drains_wanted(&self) -> bool {
        let queue = self.tier().flusher.queue();
        queue.drains_wanted > queue.drains_done
    }

    fn sync(&mut self) {
        let through = self.written_through;
        for device in 0..self.tier().devices.len() {
            let first = self.tier().slots.of_device(device).start;
            if !self.tier().slots.is_in_service(first) {
                continue;
            }
            if let Err(error) = self.tier().devices[device].sync() {
                // What a failed sync leaves behind is unknown.
                self.tier().counters.write_errors.add(1);
                self.fail_device(device, &error);
            }
        }
        self.durable_through = through;
        self.tier().durable_through.store(through, Release);
        let later = self.written.split_off(&(through + 1));
        for (number, job) in std::mem::replace(&mut self.written, later) {
            self.deaths_durable = self.deaths_durable.max(job.deaths_through);
            self.note_overwritten(&job, number);
        }
        self.tier().flusher.tell_progress();
    }

    /// What lay in the slots of a durable segment before is gone for good.
    fn note_overwritten(&mut self, job: &Job, number: u64) {
        if self.tier().slots.slot(job.slot).state() == SlotState::Closed {
            return;
        }
        for slot in job.slot..job.slot + job.run {
            let now = if slot == job.slot { number } else { 0 };
            let before = std::mem::replace(&mut self.physical.of_slot[slot as usize], now);
            if before != 0 {
                self.physical.numbers.remove(&before);
            }
        }
    }

    /// Empties a slot whose segment nobody can find any more, and carries its deaths on.
    pub(super) fn retire_slot(&mut self, slot: u32) {
        let tier = self.tier();
        let Some(table) = tier.slots.table(slot) else {
            return;
        };
        let write_number = table.write_number;
        for death in &table.deaths {
            if self.physical.numbers.contains(&death.write_number) {
                tier.deaths.note(*death);
            }
        }
        tier.deaths.note(Death {
            write_number,
            item: WHOLE_SEGMENT,
        });
        let waiting = Waiting {
            head: slot,
            run: tier.slots.slot(slot).run(),
            death: tier.deaths.noted(),
            epoch: self.core.epochs.retire(),
        };
        tier.slots.empty(slot, || self.core.epochs.retire());
        self.waiting.push_back(waiting);
    }

    /// Slots dropped when the store was opened, whose deaths are yet to be written.
    pub(super) fn adopt_dropped(&mut self) {
        let dropped = std::mem::take(&mut *self.tier().dropped.lock().expect("no holder panics"));
        for (head, run) in dropped {
            self.waiting.push_back(Waiting {
                head,
                run,
                death: self.tier().deaths.noted(),
                epoch: 0,
            });
        }
    }

    fn release_slots(&mut self) {
        let is_held = self.deaths_durable < self.deaths_held;
        let durable = if is_held { 0 } else { self.deaths_durable };
        let core = Arc::clone(&self.core);
        let tier = core.tier.as_ref().expect("a store with a tier");
        tier.slots.free_tables(&core.epochs);
        let before = self.waiting.len();
        self.waiting.retain(|waiting| {
            let is_free = waiting.death <= durable && core.epochs.has_passed(waiting.epoch);
            if is_free {
                tier.slots.release(waiting.head, waiting.run);
            }
            !is_free
        });
        if self.waiting.len() < before {
            tier.flusher.tell_progress();
        }
    }

    /// Slots that are free as soon as what was handed over is durable.
    pub(super) fn slots_told_of(&self) -> u32 {
        let told = self.tier().deaths.told();
        let waiting = self.waiting.iter().filter(|waiting| waiting.death <= told);
        waiting.map(|waiting| waiting.run).sum()
    }

    /// Whether everything handed over has been written.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.tier().flusher.queued() == 0
    }

    /// Whether slots wait only for deaths to be written.
    pub(super) fn waits_for_deaths(&self) -> bool {
        let durable = self.deaths_durable;
        self.waiting.iter().any(|waiting| waiting.death > durable)
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
        self.tier().open_for_deaths(&self.core, Source::Memory);
        self.tier().seal_open();
        self.take_jobs();
    }

    fn fail_unreadable_devices(&mut self) {
        for device in 0..self.tier().devices.len() {
            if self.tier().has_failed_reads(device) {
                let error = io::Error::other("many reads failed");
                self.fail_device(device, &error);
            }
        }
    }

    /// Whether the flush floor and the deaths up to this number are written down, or there is nothing left to write
    /// them to.
    fn has_told(&self, deaths: u64) -> bool {
        let is_told = self.tier().deaths.told() >= deaths;
        is_told && self.core.flush.floor() <= self.floor_told || !self.tier().is_in_service()
    }

    /// Everything handed over before is durable: those who wait for it may go on.
    fn grant_drains(&mut self) {
        let wanted = self.tier().flusher.queue().drains_wanted;
        if wanted == self.tier().flusher.queue().drains_done {
            return;
        }
        let is_new = self.drains_seen < wanted;
        if is_new {
            self.drains_seen = wanted;
            self.drain_deaths = self.tier().deaths.noted();
            self.drain_through = None;
            self.tier().seal_open();
        }
        let Some(through) = self.drain_through else {
            return self.hand_over_for_drains(is_new);
        };
        // Not once all is idle: cleaning goes on for as long as there is something to gain.
        if self.durable_through >= through {
            self.tier().flusher.queue().drains_done = wanted;
            self.tier().flusher.tell_progress();
        }
    }

    /// Hands over the deaths and the flush floor that a drain asks for.
    fn hand_over_for_drains(&mut self, is_new: bool) {
        if self.has_told(self.drain_deaths) {
            self.drain_through = Some(self.tier().seal_open());
        } else if is_new || self.is_idle() {
            self.write_deaths();
        }
        self.take_jobs();
    }

    /// Makes what was stored since the last call durable, with [`Durability::Sync`].
    fn persist_dirty(&mut self) {
        if self.tier().config.durability != Durability::Sync {
            return;
        }
        let (mut dirty, through) = self.tier().dirty.take();
        if through == self.tier().dirty.durable() {
            return;
        }
        let deaths = self.tier().deaths.noted();
        // What has moved within memory meanwhile was noted anew before it moved.
        while !dirty.is_empty() {
            let mut has_moved = false;
            for (hash, location) in std::mem::take(&mut dirty) {
                match self.persist(hash, location) {
                    Persisted::Done => {}
                    Persisted::Gone => has_moved = true,
                    // Nothing becomes durable any more.
                    Persisted::Impossible => return,
                }
            }
            if has_moved {
                dirty = self.tier().dirty.take().0;
            }
        }
        while !self.has_told(deaths) {
            self.tier().open_for_deaths(&self.core, Source::Memory);
            self.settle();
        }
        self.settle();
        if self.written_through > self.durable_through {
            self.sync();
        }
        if self.tier().is_in_service() {
            self.tier().dirty.set_durable(through);
        }
    }

    /// Writes what is being assembled and waits until all is on the device.
    fn settle(&mut self) {
        self.tier().seal_open();
        self.take_jobs();
        while !self.in_flight.is_empty() || self.tier().flusher.queued() > 0 {
            self.engine.wait();
            self.pump();
            self.take_jobs();
        }
    }
}
