//! What an owner that answers only when changes are durable asks of the flusher, in its turn.

use super::Flushed;
use super::Flusher;
use crate::tombstones::TombstoneCounts;
use std::sync::Arc;

/// What the devices must have been told before something is durable.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToTell {
    tombstones: TombstoneCounts,
    version: u64,
}

/// The newest of what the headers of segments tell of.
pub(super) struct Told {
    pub flush_floor: u64,
    pub version: u64,
}

/// How telling the devices went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// All of it is durable, with everything appended before.
    Durable,
    /// Not yet: the next turn goes on.
    Later,
    /// Copies of what was appended before may have been lost: they are to be appended once more.
    CopiesLost,
}

impl<O: Flushed> Flusher<O> {
    /// Whose flusher this is.
    pub fn owner(&self) -> &Arc<O> {
        &self.owner
    }

    /// What has died so far, and the newest version.
    pub fn to_tell(&self) -> ToTell {
        ToTell {
            tombstones: self.log().tombstones.noted(),
            version: self.owner.untold_version(),
        }
    }

    /// Whether the flush floor and all this is written down, or there is nothing left to write it
    /// to.
    pub(super) fn has_told(&self, to_tell: &ToTell) -> bool {
        let is_told = self.log().tombstones.told().cover(&to_tell.tombstones)
            && self.owner.flush_floor() <= self.told.flush_floor
            && to_tell.version <= self.told.version;
        is_told || !self.log().is_in_service()
    }

    /// There was no room for an item: does what may give some, and waits a moment.
    pub fn make_room(&mut self) {
        self.write_many_tombstones();
        self.keep_slots_free();
        self.pump_one();
    }

    /// Writes what was appended, and what has died, and makes it durable.
    pub fn make_durable(&mut self, to_tell: &ToTell) -> Telling {
        while !self.has_told(to_tell) {
            let is_open = self.open_to_tell();
            self.settle();
            if !is_open {
                // The next turn comes after slots have been freed.
                return Telling::Later;
            }
        }
        self.settle();
        self.sync_if_behind();
        self.mend_gap();
        if std::mem::take(&mut self.has_lost_copies) {
            return Telling::CopiesLost;
        }
        match self.log().is_in_service() && !self.has_gap() {
            true => Telling::Durable,
            false => Telling::Later,
        }
    }
}
