//! Making what was stored durable while it stays in memory (`Durability::Sync`).

use super::assembler::Source;
use super::flusher::Flusher;
use super::options::Durability;
use super::spill::Copied;
use crate::index::Location;
use std::time::{Duration, Instant};

/// How long the flusher waits for room for one item.
const ROOM_WAIT_MAX: Duration = Duration::from_secs(10);

/// How making an item durable went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persisted {
    /// A copy of it is being written.
    Done,
    /// It is not where it was.
    Gone,
    /// There is no room, or no device.
    Impossible,
}

impl Flusher {
    /// Copies an item of memory to the device.
    pub(super) fn persist(&mut self, hash: u64, location: Location) -> Persisted {
        let started = Instant::now();
        while started.elapsed() < ROOM_WAIT_MAX && self.tier().is_in_service() {
            self.core.resume_flusher();
            let copied = self.core.copy_to_device(hash, location);
            self.core.suspend_flusher();
            match copied {
                Copied::Done => return Persisted::Done,
                Copied::Gone => return Persisted::Gone,
                Copied::Changed => {}
                Copied::NoRoom => {
                    self.keep_slots_free();
                    self.pump_one();
                }
            }
        }
        Persisted::Impossible
    }

    /// Makes what was stored since the last call durable, with [`Durability::Sync`].
    pub(super) fn persist_dirty(&mut self) {
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
            for number in 0..dirty.len() {
                let (hash, location) = dirty[number];
                match self.persist(hash, location) {
                    Persisted::Done => {}
                    Persisted::Gone => has_moved = true,
                    // No mark is reached without them.
                    Persisted::Impossible if self.tier().is_in_service() => {
                        return self.tier().dirty.give_back(dirty.split_off(number));
                    }
                    // Nothing becomes durable any more.
                    Persisted::Impossible => return,
                }
            }
            dirty.clear();
            if has_moved {
                dirty = self.tier().dirty.take().0;
            }
        }
        while !self.has_told(deaths) {
            if !self.tier().open_for_deaths(&self.core, Source::Cleaner) {
                // The next turn, which comes after slots have been freed, goes on from here.
                return self.settle();
            }
            self.settle();
        }
        self.settle();
        self.sync_if_behind();
        self.mend_gap();
        if self.tier().is_in_service() && !self.has_gap() {
            self.tier().dirty.set_durable(through);
            self.tier().bell.ring();
        }
    }
}
