//! Making what was stored durable while it stays in memory (`Durability::Sync`).

use super::flusher::Flusher;
use crate::index::Location;
use std::time::{Duration, Instant};

/// How long the flusher waits for room for one item.
const ROOM_WAIT_MAX: Duration = Duration::from_secs(10);

impl Flusher {
    /// Copies an item of memory to the device, if it is still there and has no copy.
    pub(super) fn persist(&mut self, hash: u64, location: Location) {
        let started = Instant::now();
        while started.elapsed() < ROOM_WAIT_MAX && self.tier().is_in_service() {
            self.core.resume_flusher();
            let is_done = self.core.copy_to_device(hash, location);
            self.core.suspend_flusher();
            if is_done {
                return;
            }
            self.keep_slots_free();
            self.pump_one();
        }
        self.tier().counters.items_lost.add(1);
    }
}
