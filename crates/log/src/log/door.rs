//! What other threads and the flusher tell each other.

use crate::device::Buffer;
use crate::format::{SegmentHeader, Tombstone};
use crate::schedule::atomic::{AtomicU64, Ordering::Relaxed};
use crate::schedule::{Condvar, Mutex, MutexGuard};
use crate::tombstones::TombstoneCounts;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// A finished segment.
pub(crate) struct Job {
    pub slot: u32,
    pub run: u32,
    pub header: SegmentHeader,
    pub tombstones: Box<[Tombstone]>,
    /// So many tombstones are in this segment or earlier ones.
    pub tombstones_told: TombstoneCounts,
    /// Bytes to write.
    pub bytes: usize,
    pub buffer: Arc<Buffer>,
    /// Writes of it that have failed.
    pub failures: u32,
    /// It was finished before it was full.
    pub is_partial: bool,
    /// It could not be written: what lay in its slots before lies there still.
    pub is_missing: bool,
}

#[derive(Default)]
pub(crate) struct Queue {
    pub jobs: VecDeque<Job>,
    pub is_wanted: bool,
    pub stop: bool,
    /// Somebody waits for everything to be durable; counted up for each wish, and granted up to.
    pub drains_wanted: u64,
    pub drains_done: u64,
    /// How often the flusher has looked for slots and found out whether there are any.
    looks: u64,
}

/// What other threads tell the flusher, and it them.
#[derive(Default)]
pub(crate) struct FlusherDoor {
    queue: Mutex<Queue>,
    pub(crate) wake: Condvar,
    progress: Condvar,
    /// How long it has waited for anything but devices, in microseconds of the times that it asked
    /// for: so tests can hold it to a bound whatever else their machine does.
    waited_us: AtomicU64,
}

impl FlusherDoor {
    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue> {
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

    /// A wait of this time has ended because the time was up.
    pub(crate) fn note_wait(&self, time: Duration) {
        self.waited_us.fetch_add(time.as_micros() as u64, Relaxed);
    }

    /// How long the flusher has waited for anything but devices, in the times that it asked for.
    pub fn waited(&self) -> Duration {
        Duration::from_micros(self.waited_us.load(Relaxed))
    }

    /// Waits until the flusher has got something done, or until the time is up.
    pub fn wait_for_progress(&self, time: Duration) {
        let queue = self.queue();
        let _ = self.progress.wait_timeout(queue, time);
    }

    pub(crate) fn tell_progress(&self) {
        drop(self.queue());
        self.progress.notify_all();
    }

    /// Waits until everything handed over so far is durable; false if that takes longer than
    /// `time`.
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

    /// The flusher knows again whether the devices are full.
    pub(crate) fn note_look(&self) {
        self.queue().looks += 1;
        self.progress.notify_all();
    }

    /// Has the flusher look for slots and waits until it knows; at most for `time`.
    pub fn wait_for_look(&self, time: Duration) {
        let mut queue = self.queue();
        // A look that has begun already may have missed something.
        let wanted = queue.looks + 2;
        queue.is_wanted = true;
        self.wake.notify_one();
        let waited = self.progress.wait_timeout_while(queue, time, |queue| {
            // Its sleep after the first look is cut short, too.
            if !std::mem::replace(&mut queue.is_wanted, true) {
                self.wake.notify_one();
            }
            queue.looks < wanted
        });
        drop(waited.expect("no holder panics"));
    }

    pub fn queued(&self) -> usize {
        self.queue().jobs.len()
    }
}
