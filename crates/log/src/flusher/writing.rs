//! Finished segments go to the devices; what cannot be written goes elsewhere.

use super::Flushed;
use super::mover::{Fate, Leaving};
use super::telling::Told;
use super::{DEPTH, Flusher, GRACE_TICK};
use crate::device::{Direction, Memory, Outcome, Transfer};
use crate::log::{Job, Source, put_header};
use crate::options::TierEventKind;
use crate::schedule::thread;
use crate::slots::SlotState;
use std::io;
use std::sync::Arc;

/// Writes that fail one after the other before a device is taken out of service.
const FAILURES_MAX: u32 = 3;
/// Free slots, beside its own number, without which a segment cannot move: what it holds may begin
/// one more segment, and its tombstones take another.
const ROOM_TO_MOVE: u32 = 2;

impl<O: Flushed> Flusher<O> {
    pub(super) fn take_jobs(&mut self) {
        while self.in_flight.len() < DEPTH as usize {
            let job = self.log().flusher.queue().jobs.pop_front();
            let Some(job) = job else { break };
            self.begin(job);
        }
        self.engine.start();
    }

    fn begin(&mut self, mut job: Job) {
        let log = self.owner.log();
        job.header.watermark = self.progress.durable_through();
        job.header.flush_floor = self.owner.flush_floor();
        job.header.newest_version_of_store = self.owner.newest_version();
        self.told = Told {
            flush_floor: job.header.flush_floor,
            version: job.header.newest_version_of_store,
        };
        put_header(&job.buffer, &job.header);
        self.physical.numbers.insert(job.header.write_number);
        let token = job.header.write_number;
        let transfer = Transfer {
            direction: Direction::Write,
            device: log.slots.device_of(job.slot),
            offset: log.slots.offset_of(job.slot),
            buffer: Memory::Shared(Arc::clone(&job.buffer)),
            bytes: job.bytes,
            token,
        };
        self.in_flight.insert(token, job);
        self.engine.submit(transfer);
    }

    /// Takes note of the writes that have ended.
    pub(crate) fn pump(&mut self) {
        let mut ended = Vec::new();
        self.engine.poll(&mut ended);
        for Outcome { transfer, result } in ended {
            let Some(job) = self.in_flight.remove(&transfer.token) else {
                continue;
            };
            drop(transfer);
            match result {
                Ok(()) if self.log().slots.is_in_service(job.slot) => self.note_written(job),
                // It may have arrived, but nobody will make it durable.
                Ok(()) => self.move_elsewhere(job),
                Err(error) => self.note_failed(job, &error),
            }
        }
    }

    /// Waits until a write has ended, and takes note of it; for one who needs a buffer.
    pub(crate) fn pump_one(&mut self) {
        self.take_jobs();
        if self.in_flight.is_empty() {
            self.write_tombstones_for_slots();
            thread::sleep(GRACE_TICK);
            self.log().flusher.note_wait(GRACE_TICK);
        } else {
            self.engine.wait();
        }
        self.pump();
        self.sync_if_due();
        // Slots may come free only when there is no gap any longer.
        self.mend_gap();
        self.release_slots();
    }

    /// Writes what is being assembled and waits until all is on the device, also what had to move
    /// because it could not be written at its first place.
    pub(crate) fn settle(&mut self) {
        loop {
            self.log().seal_open();
            self.take_jobs();
            while !self.is_idle() {
                self.engine.wait();
                self.pump();
                self.take_jobs();
            }
            let is_owed = self.owes_tombstones_of_gap();
            if !is_owed
                || !self
                    .log()
                    .open_for_tombstones(self.owner.as_ref(), Source::Gap)
            {
                return;
            }
        }
    }

    fn note_written(&mut self, mut job: Job) {
        self.failures = 0;
        let log = self.owner.log();
        log.counters.segments_written.add(1);
        log.counters.bytes_written.add(job.bytes as u64);
        self.complete_table(&mut job);
        self.note_past(job);
    }

    /// The segment is served from the device from now on.
    fn complete_table(&self, job: &mut Job) {
        let log = self.log();
        // Marks made under this lock are in the copy.
        let _marks = log.marks.lock().expect("no holder panics");
        let table = log
            .slots
            .table(self.guard(), job.slot)
            .expect("being written");
        let tombstones = std::mem::take(&mut job.tombstones);
        let mut table = table.completed(job.header.items, job.header.table_offset, tombstones);
        table.is_partial = job.is_partial;
        log.slots
            .replace_table(job.slot, table, self.owner.epochs());
        log.slots.slot(job.slot).set_state(SlotState::Written);
    }

    /// The job needs no further write.
    fn note_past(&mut self, mut job: Job) {
        job.buffer = Arc::clone(&self.log().no_buffer);
        self.log().counters.buffers.subtract(1);
        self.progress.note_written(job);
        self.log().flusher.tell_progress();
    }

    /// Writes it once more, then gives the place up.
    fn note_failed(&mut self, mut job: Job, error: &io::Error) {
        let device = self.log().slots.device_of(job.slot);
        job.failures += 1;
        if job.failures == 1 {
            self.note_write_error(device, error);
            return self.begin(job);
        }
        self.note_device_error(device, error);
        if !self.has_room_to_move(&job) {
            if job.failures <= FAILURES_MAX {
                return self.begin(job);
            }
            self.fail_device(device, error);
        }
        self.move_elsewhere(job);
    }

    /// Whether what a segment holds can go elsewhere, or has no other place to be tried at.
    fn has_room_to_move(&self, job: &Job) -> bool {
        let slots = &self.log().slots;
        slots.counts().0 >= job.run + ROOM_TO_MOVE || !slots.is_in_service(job.slot)
    }

    pub(super) fn note_write_error(&self, device: usize, error: &io::Error) {
        self.log().counters.write_errors.add(1);
        self.tell(TierEventKind::WriteFailed, device, error);
    }

    /// A write has failed for good; enough of them in a row take the device out of service.
    pub(super) fn note_device_error(&mut self, device: usize, error: &io::Error) {
        self.note_write_error(device, error);
        self.failures += 1;
        if self.failures >= FAILURES_MAX {
            self.fail_device(device, error);
        }
    }

    fn tell(&self, kind: TierEventKind, device: usize, error: &io::Error) {
        let name = self.log().devices[device].name();
        self.log().events.tell_error(kind, &name, error);
    }

    pub(crate) fn fail_device(&mut self, device: usize, error: &io::Error) {
        if self.log().slots.fail_device(device) {
            self.tell(TierEventKind::OutOfService, device, error);
            self.failures = 0;
            self.drop_device(device);
            self.has_lost_copies = true;
            self.tell_anew(device);
            self.disown_devices();
        }
    }

    pub(super) fn fail_unreadable_devices(&mut self) {
        for device in 0..self.log().devices.len() {
            if self.log().reading.has_failed(device) {
                let error = io::Error::other("many reads failed");
                self.fail_device(device, &error);
            }
        }
    }

    /// A segment that could not be written: its items go into another one.
    fn move_elsewhere(&mut self, mut job: Job) {
        job.is_missing = true;
        let (slot, run, number) = (job.slot, job.run, job.header.write_number);
        let buffer = Arc::clone(&job.buffer);
        let tombstones = job.tombstones.clone();
        self.begin_gap(number);
        // First, so that its buffer counts no longer.
        self.note_past(job);
        let mut leaving = Leaving::new(Fate::Keep, self.log().slots.segment_bytes());
        if !self.move_live(slot, &buffer, &mut leaving) {
            self.has_lost_copies = true;
        }
        self.drop_unreadable(slot);
        for tombstone in tombstones {
            self.log().tombstones.carry(tombstone);
        }
        let log = self.log();
        log.tombstones.note_end(number);
        log.slots.empty(slot, self.owner.epochs());
        log.slots.close(slot, run);
        self.end_gap();
    }

    /// Whether everything handed over has been written.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.log().flusher.queued() == 0
    }
}
