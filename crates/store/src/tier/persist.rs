//! Making what was stored durable while it stays in memory (`Durability::Sync`).

use super::flusher::Flusher;
use super::options::Durability;
use super::spill::Copied;
use crate::core::Core;
use crate::index::Location;
use crate::schedule::Instant;
use std::time::Duration;

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
                    self.write_many_tombstones();
                    self.keep_slots_free();
                    self.pump_one();
                }
            }
        }
        Persisted::Impossible
    }

    /// Makes what was stored since the last call durable, with [`Durability::Sync`]; where no
    /// device is left, drops it.
    pub(super) fn persist_dirty(&mut self) {
        if self.tier().config.durability != Durability::Sync {
            return;
        }
        if self.tier().is_in_service() {
            self.persist_all();
        }
        // The last device may have failed just now.
        if !self.tier().is_in_service() {
            self.drop_undurable();
        }
    }

    /// What has been noted since the last call, and the mark up to which it reaches.
    fn take_dirty(&mut self) -> (Vec<(u64, Location)>, u64) {
        let (dirty, through) = self.tier().dirty.take();
        self.undurable.extend_from_slice(&dirty);
        (dirty, through)
    }

    fn persist_all(&mut self) {
        let (mut dirty, through) = self.take_dirty();
        if through == self.tier().dirty.durable() {
            return;
        }
        let tombstones = self.tier().tombstones.noted();
        let version = self.core.versions.untold();
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
                dirty = self.take_dirty().0;
            }
        }
        while !self.has_told(&tombstones, version) {
            if !self.open_to_tell() {
                // The next turn, which comes after slots have been freed, goes on from here.
                return self.settle();
            }
            self.settle();
        }
        self.settle();
        self.sync_if_behind();
        self.mend_gap();
        if std::mem::take(&mut self.has_lost_copies) {
            // They are still in memory, and are copied once more.
            let again = std::mem::take(&mut self.undurable);
            self.tier().dirty.give_back(again);
            return self.tier().flusher.wake();
        }
        if self.tier().is_in_service() && !self.has_gap() {
            self.undurable.clear();
            self.tier().dirty.set_durable(through);
            self.tier().bell.ring();
        }
    }

    /// Takes out of memory what was stored and will never be durable, so that nobody is shown what
    /// was not acknowledged, and tells those who wait for it.
    fn drop_undurable(&mut self) {
        let (_, through) = self.take_dirty();
        let dirty = &self.tier().dirty;
        if through == dirty.durable().max(dirty.lost()) {
            return;
        }
        while !self.undurable.is_empty() {
            let mut has_moved = false;
            self.core.resume_flusher();
            for (hash, location) in std::mem::take(&mut self.undurable) {
                has_moved |= !self.core.drop_stored(hash, location);
            }
            self.core.suspend_flusher();
            if has_moved {
                self.take_dirty();
            }
        }
        #[cfg(test)]
        self.tier().note_loss();
        self.tier().dirty.set_lost(through);
        self.tier().bell.ring();
    }
}

impl Core {
    /// Takes an item out of memory and out of the index; false if it is not there any more.
    fn drop_stored(&self, hash: u64, location: Location) -> bool {
        let chain = self.index.lock(hash);
        let Some(slot) = chain.place_of(location) else {
            return false;
        };
        let item = self.arena.item(location);
        self.forget_version(item);
        chain.remove(slot);
        let shadow = self.shadow_of(&chain, item.key());
        if let Some(shadow) = shadow {
            self.kill_shadow(&chain, shadow);
        }
        drop(chain);
        self.note_dead(location, item);
        self.note_entries(-1 - i64::from(shadow.is_some()));
        self.flusher_events().removed.add(1);
        true
    }
}
