//! One life of a store: it is opened, checked, changed, stopped or killed, and all that its devices
//! see is written down.

use crate::crash::Contents;
use crate::device::{Entry, Failure, RecordedDevice, Recorder};
use crate::model::{Item, Model, State, at_time};
use crate::random::Random;
use crate::scenario::{Scenario, Sizes};
use farcache_base::time::{NEVER, START};
use farcache_store::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time that is waited for something.
const PATIENCE: Duration = Duration::from_secs(60);
/// Keys looked up together.
const BATCH: usize = 32;
/// Keys set at once, at most, where they are tiny.
const BURST_MAX: u64 = 1500;

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By an orderly stop.
    Stop,
    /// Without a word.
    Kill,
}

/// An operation of a device that fails.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub device: usize,
    /// Among its writes and syncs.
    pub operation: u64,
    pub failure: Failure,
}

/// What is done in a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Anything.
    Mixed,
    /// Each key is set, as far as there is room.
    Fill,
    /// Each key is deleted.
    Empty,
}

/// What is to be done in a life.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub work: Work,
    pub steps: u64,
    /// One step in so many makes everything durable.
    pub sync_every: u64,
    pub end: End,
    pub fault: Option<Fault>,
    /// A device that is not there for all of this life.
    pub away: Option<usize>,
}

/// What a life begins with.
#[derive(Clone)]
pub struct Start {
    pub contents: Contents,
    /// What each key may hold.
    pub keys: Vec<Vec<State>>,
    /// Unix time, in seconds.
    pub now: i64,
    /// All devices may know that they fell behind.
    pub may_be_behind: bool,
}

/// What a life has left behind.
pub struct Record {
    pub begun: Contents,
    /// The first `inherited` of them are the writes that the life before left without a sync.
    pub entries: Vec<Entry>,
    pub inherited: usize,
    pub model: Model,
    pub now: i64,
    /// The store could not be opened, because a device failed, or all had fallen behind.
    pub was_refused: bool,
    /// No device was left in service when the store's threads had ended, or earlier.
    pub may_be_behind: bool,
}

struct Life<'s> {
    scenario: &'s Scenario,
    devices: Vec<Arc<RecordedDevice>>,
    random: Random,
    recorder: Arc<Recorder>,
    store: Arc<Store>,
    handle: Option<StoreHandle>,
    model: Model,
    now: i64,
    epoch: i64,
    version: u64,
}

/// After an orderly stop everything is in order, and the checker finds what the next start will.
fn check(devices: Vec<Arc<dyn Device>>, now: i64) -> Result<(), String> {
    let report = check_devices(&devices, now).map_err(|error| error.to_string())?;
    if report.is_damaged() || report.segments_torn > 0 {
        return Err(format!("after an orderly stop the checker says:\n{report}"));
    }
    Ok(())
}

/// Names of the devices that the store goes on without, as it did before.
fn devices_behind(report: &CheckReport) -> impl Iterator<Item = String> + use<> {
    let behind = report.findings.clone().into_iter();
    let behind = behind.filter(|finding| finding.kind == CheckKind::Behind);
    behind.map(|finding| finding.device)
}

/// Whether a device is refused because the store went on without it.
fn is_behind(error: &std::io::Error) -> bool {
    let refusal = error.get_ref().and_then(|inner| inner.downcast_ref());
    matches!(
        refusal,
        Some(TierRefusal::Device {
            why: Unusable::FellBehind,
            ..
        })
    )
}

fn key(number: usize) -> Vec<u8> {
    format!("key {number}").into_bytes()
}

impl Record {
    /// Lives a life. The error says what was wrong.
    pub fn live(
        scenario: &Scenario,
        start: Start,
        plan: Plan,
        random: Random,
    ) -> Result<Record, String> {
        let recorder = Arc::new(Recorder::default());
        let inherited = start.contents.pending.len();
        for write in &start.contents.pending {
            recorder.push(Entry::Write {
                device: write.device,
                offset: write.offset,
                data: Arc::clone(&write.data),
                completed: 0,
            });
        }
        let images = start.contents.visible().into_iter().enumerate();
        let devices: Vec<Arc<RecordedDevice>> = images
            .filter(|(number, _)| plan.away != Some(*number))
            .map(|(number, image)| {
                Arc::new(RecordedDevice::new(number, image, Arc::clone(&recorder)))
            })
            .collect();
        if let Some(fault) = plan.fault {
            devices[fault.device].fail(fault.operation, fault.failure);
        }
        let shared = devices.iter();
        let shared = shared.map(|one| Arc::clone(one) as Arc<dyn Device>);
        let shared: Vec<Arc<dyn Device>> = shared.collect();
        let epoch = start.now - i64::from(START);
        let model = Model::new(start.keys, scenario.evict);
        let begun = Contents::new(start.contents.durable);
        let expected = check_devices(&shared, start.now).ok();
        let aside: Vec<String> = expected.iter().flat_map(devices_behind).collect();
        let store = match scenario.open(shared.clone(), plan.away.is_some(), epoch) {
            Ok(store) => store,
            Err(error) if plan.fault.is_none() && !(start.may_be_behind && is_behind(&error)) => {
                return Err(format!("not opened: {error}"));
            }
            Err(_) => {
                return Ok(Record {
                    begun,
                    entries: recorder.take(),
                    inherited,
                    model,
                    now: start.now,
                    was_refused: true,
                    may_be_behind: start.may_be_behind,
                });
            }
        };
        let found = store.tier_stats().map(|stats| stats.items_recovered);
        if let Some(report) = expected
            && plan.fault.is_none()
            && plan.away.is_none()
            && found != Some(report.items)
        {
            let message = format!("{found:?} items were recovered, the checker says:\n{report}");
            return Err(message);
        }
        let handle = store.handle();
        handle.set_now(START);
        let living = devices.clone();
        let mut life = Life {
            scenario,
            devices,
            random,
            recorder,
            store,
            handle: Some(handle),
            model,
            now: start.now,
            epoch,
            version: 0,
        };
        living.iter().for_each(|device| device.begin_life());
        let lived = life.run(plan);
        living.iter().for_each(|device| device.end_life());
        lived?;
        let checks = plan.end == End::Stop && !life.model.has_lost();
        let Life {
            devices,
            store,
            handle,
            recorder,
            model,
            now,
            ..
        } = life;
        drop(handle);
        drop(store);
        // With `Sync` nobody was answered that anything changed, and the last one is told nothing.
        let is_told = scenario.durability != Durability::Sync;
        // Looked at when the store's threads have ended: until then a device may fail, and be told.
        let is_out =
            |device: &Arc<RecordedDevice>| device.is_lost() || aside.contains(&device.name());
        let may_be_behind = start.may_be_behind || (is_told && devices.iter().all(is_out));
        let is_gone = || devices.iter().any(|device| device.is_gone());
        if checks && !is_gone() {
            check(shared, now)?;
        }
        Ok(Record {
            begun,
            entries: recorder.take(),
            inherited,
            model,
            now,
            was_refused: false,
            may_be_behind,
        })
    }
}

impl Life<'_> {
    fn handle(&mut self) -> &mut StoreHandle {
        self.handle.as_mut().expect("the life has not ended")
    }

    fn run(&mut self, plan: Plan) -> Result<(), String> {
        if plan.away.is_some() {
            self.model.note_lost(0);
        }
        self.look_for_losses();
        let found = self.read_all();
        self.look_for_losses();
        if self.model.has_lost() {
            self.model.forgive_losses();
        }
        if plan.away.is_some() {
            self.model.admit(&found);
        }
        let position = self.recorder.position();
        self.model.note_found(found, position, self.now)?;
        let worked = match plan.work {
            Work::Mixed => (0..plan.steps).try_for_each(|_| self.step(plan.sync_every)),
            Work::Fill => (0..self.scenario.keys).try_for_each(|number| self.set(number)),
            Work::Empty => self.delete_all(),
        };
        worked.map_err(|what| format!("in life: {what}; {:?}", self.store.tier_stats()))?;
        if plan.end == End::Stop {
            self.stop()?;
        }
        Ok(())
    }

    /// Whether a device has failed that had not before.
    fn look_for_losses(&mut self) -> bool {
        let stats = self.store.tier_stats().expect("a store with a tier");
        // The store need not have noticed yet.
        let is_gone = self.devices.iter().any(|device| device.is_gone());
        let is_new = (is_gone || stats.devices_failed > 0) && !self.model.has_lost();
        if is_new {
            self.model.note_lost(0);
        }
        is_new
    }

    fn step(&mut self, sync_every: u64) -> Result<(), String> {
        self.look_for_losses();
        let keys = self.scenario.keys as u64;
        let number = self.random.below(keys) as usize;
        if self.random.once_in(sync_every) {
            self.make_durable()?;
        }
        match self.random.below(100) {
            0..50 => self.set(number),
            50..64 => {
                self.delete(number);
                Ok(())
            }
            64..69 => self.touch(number),
            69..75 => self.append(number),
            75..78 if self.random.once_in(self.rarely()) => {
                self.delete_many();
                Ok(())
            }
            78 if self.scenario.flushes && self.random.once_in(4) => {
                self.flush();
                Ok(())
            }
            79 if self.scenario.expires => {
                self.now += 1 + self.random.below(20) as i64;
                let seconds = (self.now - self.epoch) as u32;
                self.handle().set_now(seconds);
                Ok(())
            }
            80.. if self.scenario.is_tiny() => self.set_many(),
            _ => self.check_one(number),
        }
    }

    /// How seldom many keys are deleted at once.
    fn rarely(&self) -> u64 {
        if self.scenario.is_tiny() { 2 } else { 6 }
    }

    fn read(&mut self, numbers: &[usize], access: Access) -> Vec<State> {
        let keys: Vec<Vec<u8>> = numbers.iter().map(|&number| key(number)).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let epoch = self.epoch;
        let handle = self.handle();
        let read = |handle: &StoreHandle| -> Result<Vec<State>, Suspended> {
            let mut found = Vec::new();
            handle.get_batch(&keys, access, &mut found)?;
            let state = |item: &Option<farcache_store::Item<'_>>| {
                item.as_ref().map(|item| Item {
                    value: item.value().into(),
                    expiry: match item.expiry() {
                        NEVER => 0,
                        instant => epoch + i64::from(instant),
                    },
                })
            };
            Ok(found.iter().map(state).collect())
        };
        let found = handle.run_blocking(read).expect("reads can be made");
        handle.quiescent();
        found
    }

    fn read_all(&mut self) -> Vec<State> {
        let numbers: Vec<usize> = (0..self.scenario.keys).collect();
        let batch = match self.scenario.sizes {
            Sizes::Runs => 1,
            _ => BATCH,
        };
        let batches = numbers.chunks(batch);
        batches
            .flat_map(|numbers| self.read(numbers, Access::Peek))
            .collect()
    }

    /// What a key holds now for a reader.
    fn current(&self, number: usize) -> State {
        at_time(self.model.current(number), self.now)
    }

    fn check_one(&mut self, number: usize) -> Result<(), String> {
        let access = match self.random.once_in(2) {
            true => Access::Use,
            false => Access::Peek,
        };
        let found = self.read(&[number], access).pop().flatten();
        self.compare(number, found)
    }

    fn compare(&mut self, number: usize, found: State) -> Result<(), String> {
        let expected = self.current(number);
        self.look_for_losses();
        let may_miss = self.scenario.evict || self.model.has_lost();
        if found == expected || (found.is_none() && may_miss) {
            return Ok(());
        }
        Err(format!("key {number} is {found:?}, not {expected:?}"))
    }

    fn value(&mut self, number: usize, bytes: usize) -> Vec<u8> {
        self.version += 1;
        // Versions of all lives differ, with hardly an exception.
        let name = self.random.below(1 << 40);
        let mut value = format!("{number} v{} {name:x} ", self.version).into_bytes();
        let mut state = name as u32;
        while value.len() < bytes {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            value.push((state >> 24) as u8);
        }
        value
    }

    fn expiry(&mut self) -> i64 {
        if !self.scenario.expires || !self.random.once_in(4) {
            return 0;
        }
        self.now + 1 + self.random.below(100) as i64
    }

    fn instant(&self, expiry: i64) -> u32 {
        match expiry {
            0 => NEVER,
            _ => (expiry - self.epoch) as u32,
        }
    }

    fn set(&mut self, number: usize) -> Result<(), String> {
        let bytes = self.scenario.value_bytes(&mut self.random);
        let (value, expiry) = (self.value(number, bytes), self.expiry());
        let options = SetOptions::set(0, self.instant(expiry));
        let begun = self.recorder.position();
        let outcome = self.request(|handle| settled(handle.set(&key(number), &value, &options)));
        match outcome {
            Ok(SetOutcome::Stored { .. }) => {
                let value = value.into();
                self.model
                    .change(number, begun, Some(Item { value, expiry }));
                Ok(())
            }
            // Nothing has changed then.
            Err(StoreError::OutOfMemory) => Ok(()),
            other => Err(format!("set of {number} ended so: {other:?}")),
        }
    }

    fn request<R>(&mut self, request: impl FnMut(&StoreHandle) -> Result<R, Suspended>) -> R {
        let handle = self.handle();
        let outcome = handle.run_blocking(request).expect("reads can be made");
        handle.quiescent();
        outcome
    }

    fn delete(&mut self, number: usize) {
        let begun = self.recorder.position();
        let plain = DeleteOptions::default();
        self.request(|handle| handle.delete(&key(number), &plain));
        self.model.change(number, begun, None);
    }

    fn delete_many(&mut self) {
        let keys = self.scenario.keys as u64;
        let first = self.random.below(keys);
        let count = 1 + self.random.below(keys);
        // In order, and scattered.
        let stride = if self.random.once_in(2) { 1 } else { 7919 };
        (first..first + count).for_each(|number| self.delete((number * stride % keys) as usize));
    }

    /// Deletes each key, in the order of storing but for some that are put off: so segments die one
    /// after the other. Now and then all of that becomes durable.
    fn delete_all(&mut self) -> Result<(), String> {
        let keys = self.scenario.keys;
        let mut order: Vec<usize> = (0..keys).collect();
        let put_off = self.random.below(10);
        for place in 0..keys {
            if self.random.below(10) < put_off {
                order.swap(place, self.random.below(keys as u64) as usize);
            }
        }
        let many = [1500, 6000, keys as u64][self.random.below(3) as usize];
        let mut rest = &order[..];
        while !rest.is_empty() {
            let count = 1 + self.random.below(many) as usize;
            let (now, later) = rest.split_at(count.min(rest.len()));
            now.iter().for_each(|&number| self.delete(number));
            self.make_durable()?;
            rest = later;
        }
        Ok(())
    }

    fn set_many(&mut self) -> Result<(), String> {
        let keys = self.scenario.keys as u64;
        let count = 1 + self.random.below(BURST_MAX);
        (0..count).try_for_each(|_| {
            let number = self.random.below(keys) as usize;
            self.set(number)
        })
    }

    fn touch(&mut self, number: usize) -> Result<(), String> {
        let expiry = self.expiry();
        let instant = self.instant(expiry);
        let begun = self.recorder.position();
        let outcome = self.request(|handle| {
            let touched = settled(handle.touch(&key(number), instant, Access::Use))?;
            Ok(touched.map(|item| item.map(|item| item.value().to_vec())))
        });
        let Ok(touched) = outcome else {
            return Ok(());
        };
        let found = self.current(number);
        match (touched, found) {
            (Some(value), Some(item)) if value[..] == item.value[..] => {
                let value = item.value;
                self.model
                    .change(number, begun, Some(Item { value, expiry }));
                Ok(())
            }
            (None, None) => Ok(()),
            (None, expected) if expected.is_some() => self.compare(number, None),
            (touched, expected) => Err(format!(
                "touch of {number} found {} bytes, not {expected:?}",
                touched.map_or(0, |value| value.len())
            )),
        }
    }

    fn append(&mut self, number: usize) -> Result<(), String> {
        let bytes = 16 + self.random.below(200) as usize;
        let more = self.value(number, bytes);
        let options = SetOptions {
            mode: SetMode::Append,
            ..SetOptions::default()
        };
        let begun = self.recorder.position();
        let outcome = self.request(|handle| settled(handle.set(&key(number), &more, &options)));
        match (outcome, self.current(number)) {
            (Ok(SetOutcome::Stored { .. }), Some(item)) => {
                let value = [&item.value[..], &more].concat().into();
                let expiry = item.expiry;
                self.model
                    .change(number, begun, Some(Item { value, expiry }));
                Ok(())
            }
            (Ok(SetOutcome::NotStored), _) => self.compare(number, None),
            (Err(StoreError::OutOfMemory | StoreError::TooLarge), _) => Ok(()),
            (other, _) => Err(format!("append to {number} ended so: {other:?}")),
        }
    }

    fn flush(&mut self) {
        let begun = self.recorder.position();
        self.handle().flush_all(None);
        (0..self.scenario.keys).for_each(|number| self.model.change(number, begun, None));
    }

    /// Everything up to now becomes durable, or at least what it superseded impossible.
    fn make_durable(&mut self) -> Result<(), String> {
        let changes = self.model.changes();
        let is_sync = self.scenario.durability == Durability::Sync;
        let resident = match is_sync {
            true => Vec::new(),
            false => self.resident(),
        };
        if is_sync {
            self.await_mark()?;
        } else {
            self.handle().park();
            if !self.store.sync_tier(PATIENCE) {
                return Err("nothing becomes durable".into());
            }
        }
        // Without a device nothing has become durable, and nobody waits for it.
        if self.look_for_losses() || !self.has_device() {
            return Ok(());
        }
        let position = self.recorder.position();
        self.model.mark(position, changes, is_sync);
        for (number, changes) in resident {
            self.model.note_resident(number, changes, position);
        }
        Ok(())
    }

    fn await_mark(&mut self) -> Result<(), String> {
        let handle = self.handle();
        let mark = handle.durable_mark();
        handle.park();
        let deadline = Instant::now() + PATIENCE;
        while !self.handle().is_durable(mark) && self.has_device() {
            if Instant::now() > deadline {
                return Err("nothing becomes durable".into());
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    }

    /// Whether a device is in service. Without one nothing becomes durable: the others are gone, or
    /// were left aside because they had fallen behind.
    fn has_device(&self) -> bool {
        let stats = self.store.tier_stats().expect("a store with a tier");
        let all_failed = stats.devices_failed as usize >= self.devices.len();
        !all_failed && !self.devices.iter().all(|device| device.is_gone())
    }

    /// Keys whose items are on a device and not in memory, with how often each has changed.
    fn resident(&mut self) -> Vec<(usize, usize)> {
        let mut resident = Vec::new();
        for number in 0..self.scenario.keys {
            let handle = self.handle.as_mut().expect("the life has not ended");
            if handle.get(&key(number), Access::Peek).is_err() {
                resident.push((number, self.model.changes_of(number)));
            }
            handle.forget_reads();
            handle.quiescent();
        }
        resident
    }

    fn stop(&mut self) -> Result<(), String> {
        let changes = self.model.changes();
        self.handle = None;
        let was_complete = self.store.shutdown(PATIENCE);
        if self.look_for_losses() || self.model.has_lost() {
            return Ok(());
        }
        if !was_complete {
            return Err(format!("not all was kept: {:?}", self.store.tier_stats()));
        }
        self.model.mark(self.recorder.position(), changes, true);
        Ok(())
    }
}
