//! What the devices are told once none is in service.
//!
//! Where some devices are left, the others are left out of the log with the watermark that goes
//! beyond what is missing (`gap`). The last one to fail has nobody to tell of it: clients go on
//! changing items in memory, and what it holds grows old. So it is told itself, as soon as it can
//! be written again. With `Durability::Sync` clients know of nothing that it lacks, so that it
//! keeps what it holds.

use super::Flushed;
use super::Flusher;
use crate::schedule::Instant;
use std::time::Duration;

/// How often it is tried.
const INTERVAL: Duration = Duration::from_secs(1);

/// Devices that have been told.
#[derive(Default)]
pub(super) struct Disowned {
    told: Vec<usize>,
    tried: Option<Instant>,
}

impl<O: Flushed> Flusher<O> {
    /// Says on every device that none belongs to the store any more, where none is in service.
    pub(super) fn disown_devices(&mut self) {
        let log = self.owner.log();
        let is_early = |tried: Instant| tried.elapsed() < INTERVAL;
        if log.is_in_service() || log.is_sync() || self.disowned.tried.is_some_and(is_early) {
            return;
        }
        self.disowned.tried = Some(Instant::now());
        log.superblocks.note(&[], self.owner.flush_floor(), 0);
        for (number, device) in log.devices.iter().enumerate() {
            let is_told = self.disowned.told.contains(&number);
            if !is_told && log.superblocks.write(number, device.as_ref()).is_ok() {
                self.disowned.told.push(number);
            }
        }
    }
}
