//! What reads of the devices may take, and how they have gone of late.

use super::LogUse;
use crate::device::BufferPool;
use crate::options::TierConfig;
use crate::schedule::atomic::{AtomicU32, Ordering::Relaxed};
use std::io;

/// Reads that fail one after the other before a device is taken out of service.
const READ_FAILURES_MAX: u32 = 16;

/// What the reads of one request may bring before it should go on with less, as a part of the
/// memory for all: one in so many bytes.
const REQUEST_READ_SHARE: u64 = 8;

/// Values read may take so much of the owner's memory, on top of it, where that is more than
/// [`TierConfig::read_buffer_bytes`]: one in so many bytes.
const READ_BYTES_SHARE: u64 = 4;

/// The memory of reads, and their failures.
pub(crate) struct Reading {
    pub pool: BufferPool,
    /// Memory that values being read, and values read that clients have yet to take, may have, in
    /// bytes.
    bytes_max: u64,
    /// Bytes read from the devices in one window.
    window_bytes: u64,
    /// Reads that failed since the last that did not, by device.
    failures: Box<[AtomicU32]>,
}

impl Reading {
    pub fn new(config: &TierConfig, how: LogUse) -> io::Result<Reading> {
        let buffer_bytes = config.read_buffer_bytes;
        Ok(Reading {
            pool: BufferPool::new(buffer_bytes, how.huge_pages)?,
            bytes_max: (buffer_bytes as u64).max(how.memory_bytes / READ_BYTES_SHARE),
            window_bytes: how.memory_bytes.max(1),
            failures: config.devices.iter().map(|_| AtomicU32::new(0)).collect(),
        })
    }

    /// What the reads of one request may bring before it should go on with less, in bytes.
    pub fn request_bytes_max(&self) -> u64 {
        self.bytes_max / REQUEST_READ_SHARE
    }

    /// Whether there is memory for a read of so many bytes; one alone always has it.
    pub fn has_memory_for(&self, bytes: usize) -> bool {
        let bytes_out = self.pool.bytes_out();
        bytes_out == 0 || bytes_out + bytes as u64 <= self.bytes_max
    }

    /// The number of the window in which so many bytes have been read.
    pub fn window(&self, bytes_read: u64) -> u64 {
        bytes_read / self.window_bytes
    }

    /// Notes how a read of a device went; true where the device is to be taken out of service now.
    pub fn note_result(&self, device: usize, is_ok: bool) -> bool {
        let failures = &self.failures[device];
        if !is_ok {
            return failures.fetch_add(1, Relaxed) + 1 == READ_FAILURES_MAX;
        }
        if failures.load(Relaxed) > 0 {
            failures.store(0, Relaxed);
        }
        false
    }

    /// Whether so many reads of a device have failed that it is to go out of service.
    pub fn has_failed(&self, device: usize) -> bool {
        self.failures[device].load(Relaxed) >= READ_FAILURES_MAX
    }
}
