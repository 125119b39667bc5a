//! What the tier counts, and what it tells its owner once.

use super::options::{TierEvent, TierEventKind};
use crate::schedule::Mutex;
use crate::schedule::atomic::{AtomicU64, Ordering::Relaxed};
use std::collections::HashSet;
use std::io;

/// A counter with many writers.
#[derive(Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts up.
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Relaxed);
    }

    /// Counts down.
    pub fn subtract(&self, amount: u64) {
        self.0.fetch_sub(amount, Relaxed);
    }

    /// Counts on from a value.
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// The count.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Counters of the log; [`crate::TierStats`] says what each means. The owner counts what it alone
/// sees.
#[derive(Default)]
pub struct Counters {
    pub(crate) items_written: Counter,
    pub(crate) bytes_from_memory: Counter,
    pub(crate) bytes_written: Counter,
    pub(crate) segments_written: Counter,
    pub(crate) items_moved: Counter,
    pub(crate) bytes_moved: Counter,
    pub(crate) segments_cleaned: Counter,
    pub(crate) segments_evicted: Counter,
    /// Live items dropped to make room on the devices.
    pub evictions: Counter,
    /// Live items dropped because the devices could not keep up.
    pub evictions_device_slow: Counter,
    /// Live items that left memory unread and were not written, since the devices are full.
    pub evictions_unread: Counter,
    /// Items lost to faults of a device.
    pub items_lost: Counter,
    pub(crate) reads: Counter,
    pub(crate) bytes_read: Counter,
    /// Items served from a segment that was still being written.
    pub buffer_hits: Counter,
    /// Items brought back to memory.
    pub promoted: Counter,
    pub(crate) read_errors: Counter,
    pub(crate) checksum_errors: Counter,
    pub(crate) write_errors: Counter,
    /// Times that a writer waited for the devices.
    pub waits: Counter,
    /// Handles whose reads wait for memory.
    pub handles_short: Counter,
    /// Segments assembled and not yet on the device.
    pub(crate) buffers: Counter,
    pub(crate) items_recovered: Counter,
    pub(crate) segments_recovered: Counter,
    pub(crate) segments_dropped: Counter,
    pub(crate) recovery_us: Counter,
}

#[derive(Default)]
struct Told {
    once: HashSet<(TierEventKind, String)>,
    untaken: Vec<TierEvent>,
}

/// Events that nobody has taken yet; each kind once a device.
#[derive(Default)]
pub(crate) struct EventList(Mutex<Told>);

impl EventList {
    pub fn tell(&self, kind: TierEventKind, device: &str, detail: impl ToString) {
        let mut told = self.0.lock().expect("no holder panics");
        if told.once.insert((kind, device.to_string())) {
            told.untaken.push(TierEvent {
                kind,
                device: device.to_string(),
                detail: detail.to_string(),
            });
        }
    }

    pub fn tell_error(&self, kind: TierEventKind, device: &str, error: &io::Error) {
        self.tell(kind, device, error);
    }

    pub fn take(&self) -> Vec<TierEvent> {
        std::mem::take(&mut self.0.lock().expect("no holder panics").untaken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_once_a_device() {
        let events = EventList::default();
        events.tell(TierEventKind::Corrupt, "a", 1);
        events.tell(TierEventKind::Corrupt, "a", 2);
        events.tell(TierEventKind::Corrupt, "b", 3);
        let taken = events.take();
        assert_eq!(taken.len(), 2);
        assert_eq!(
            (taken[0].detail.as_str(), taken[1].device.as_str()),
            ("1", "b")
        );
        assert!(events.take().is_empty());
    }
}
