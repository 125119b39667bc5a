//! Figures of a log.

use crate::device::Device;
use crate::log::Log;
use crate::options::{TierEvent, TierStats};
use crate::slots::SlotState;

impl Log {
    /// What the owner should log, since the last call.
    pub fn take_events(&self) -> Vec<TierEvent> {
        self.events.take()
    }

    /// Figures of the log now. Walks the table of slots.
    pub fn stats(&self) -> TierStats {
        let counters = &self.counters;
        let (_, waiting) = self.slots.counts();
        let in_service = |(number, _): &(usize, &std::sync::Arc<dyn Device>)| {
            self.slots
                .is_in_service(self.slots.of_device(*number).start)
        };
        let devices = self.devices.iter().enumerate().filter(in_service);
        let mut stats = TierStats {
            device_bytes: devices.map(|(_, device)| device.bytes()).sum(),
            segment_bytes: self.slots.segment_bytes(),
            segments_free: u64::from(self.slots.free_of_all()),
            segments_waiting: u64::from(waiting),
            items_written: counters.items_written.get(),
            bytes_from_memory: counters.bytes_from_memory.get(),
            bytes_written: counters.bytes_written.get(),
            segments_written: counters.segments_written.get(),
            items_moved: counters.items_moved.get(),
            bytes_moved: counters.bytes_moved.get(),
            segments_cleaned: counters.segments_cleaned.get(),
            segments_evicted: counters.segments_evicted.get(),
            evictions: counters.evictions.get(),
            evictions_device_slow: counters.evictions_device_slow.get(),
            evictions_unread: counters.evictions_unread.get(),
            items_lost: counters.items_lost.get(),
            reads: counters.reads.get(),
            bytes_read: counters.bytes_read.get(),
            buffer_hits: counters.buffer_hits.get(),
            promoted: counters.promoted.get(),
            read_errors: counters.read_errors.get(),
            checksum_errors: counters.checksum_errors.get(),
            write_errors: counters.write_errors.get(),
            devices_failed: (self.devices.len() - self.slots.devices_in_service()
                + self.devices_aside) as u64,
            waits: counters.waits.get(),
            write_queue: counters.buffers.get(),
            table_bytes: self.slots.table_bytes(),
            buffer_bytes: (self.reading.pool.bytes_used() + self.write_pool.bytes_used()) as u64,
            read_bytes_held: self.reading.pool.bytes_out(),
            items_recovered: counters.items_recovered.get(),
            segments_recovered: counters.segments_recovered.get(),
            segments_dropped: counters.segments_dropped.get(),
            recovery_us: counters.recovery_us.get(),
            ..TierStats::default()
        };
        self.add_slot_stats(&mut stats);
        stats
    }

    fn add_slot_stats(&self, stats: &mut TierStats) {
        for slot in (0..self.slots.count()).map(|number| self.slots.slot(number)) {
            let state = slot.state();
            stats.segments += u64::from(state != SlotState::Closed);
            if matches!(state, SlotState::Filling | SlotState::Written) {
                stats.items += u64::from(slot.live_items());
                stats.bytes_live += slot.live_bytes();
            }
        }
    }
}
