//! What the tier counts, and what it tells its owner once.

use super::options::{TierEvent, TierEventKind};
use crate::schedule::Mutex;
use crate::schedule::atomic::{AtomicU64, Ordering::Relaxed};
use std::collections::HashSet;
use std::io;

/// A counter with many writers.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Relaxed);
    }

    pub fn subtract(&self, amount: u64) {
        self.0.fetch_sub(amount, Relaxed);
    }

    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Counters of the tier; [`super::TierStats`] says what each means.
#[derive(Default)]
pub(crate) struct Counters {
    pub items_written: Counter,
    pub bytes_from_memory: Counter,
    pub bytes_written: Counter,
    pub segments_written: Counter,
    pub items_moved: Counter,
    pub bytes_moved: Counter,
    pub segments_cleaned: Counter,
    pub segments_evicted: Counter,
    pub evictions: Counter,
    pub evictions_device_slow: Counter,
    pub items_lost: Counter,
    pub reads: Counter,
    pub bytes_read: Counter,
    pub buffer_hits: Counter,
    pub promoted: Counter,
    pub read_errors: Counter,
    pub checksum_errors: Counter,
    pub write_errors: Counter,
    pub waits: Counter,
    /// Handles whose reads wait for memory.
    pub handles_short: Counter,
    /// Segments assembled and not yet on the device.
    pub buffers: Counter,
    pub items_recovered: Counter,
    pub segments_recovered: Counter,
    pub segments_dropped: Counter,
    pub recovery_us: Counter,
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
