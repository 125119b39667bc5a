//! How the tier is configured, and what it says of itself.

use crate::device::{Device, Uring};
use std::sync::Arc;

/// When a store operation may be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Once it is in memory. When the device cannot keep up, items are evicted instead of written.
    Cache,
    /// Once it is in memory. When the device cannot keep up, writers wait.
    #[default]
    Writeback,
    /// Once it is durable: the caller waits for `StoreHandle::durable_mark`.
    Sync,
}

/// How devices are read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring where the kernel has it, else threads.
    #[default]
    Auto,
    /// io_uring, or an error.
    Uring,
    /// Threads that read and write.
    Threads,
}

impl EngineChoice {
    pub(crate) fn uring(self) -> Uring {
        match self {
            EngineChoice::Auto => Uring::IfPossible,
            EngineChoice::Uring => Uring::Required,
            EngineChoice::Threads => Uring::Never,
        }
    }
}

/// The devices under a store, and how they are used.
#[derive(Clone)]
pub struct TierConfig {
    /// At least one; blank ones are formatted.
    pub devices: Vec<Arc<dyn Device>>,
    /// Positions in `devices` of those that may be formatted although they hold something. A device
    /// that belongs to the store, and has missed nothing, is never formatted.
    pub may_format: Vec<usize>,
    /// Whether the store may go on without devices that belong to it and are not given: their items
    /// are lost, and what they alone told of may come back.
    pub allow_missing: bool,
    /// When a store operation may be answered.
    pub durability: Durability,
    /// Size of a segment on the device, in bytes: a power of two of 64 KiB to 4 MiB.
    pub segment_bytes: u32,
    /// Segments that may wait for the device.
    pub write_buffers: u32,
    /// Memory for values being read, in bytes; larger reads get memory of their own. More reads
    /// than this, or a quarter of the store's memory where that is more, has room for wait until
    /// clients have taken what was read for them.
    pub read_buffer_bytes: usize,
    /// Reads in flight per handle.
    pub reads_max: u32,
    /// Unix time of the instant 0 of [`farcache_base::time::Seconds`], in seconds.
    pub epoch_unix: i64,
    /// How the devices are read and written.
    pub engine: EngineChoice,
}

impl TierConfig {
    /// A tier on these devices, with the defaults for everything else.
    pub fn new(devices: Vec<Arc<dyn Device>>) -> TierConfig {
        TierConfig {
            devices,
            may_format: Vec::new(),
            allow_missing: false,
            durability: Durability::default(),
            segment_bytes: 1 << 20,
            write_buffers: 8,
            read_buffer_bytes: 64 << 20,
            reads_max: 256,
            epoch_unix: 0,
            engine: EngineChoice::default(),
        }
    }
}

/// Something that the owner of the store should log; each kind is reported once a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierEvent {
    /// What happened.
    pub kind: TierEventKind,
    /// Name of the device.
    pub device: String,
    /// The system's message, or a figure.
    pub detail: String,
}

/// What happened to the tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TierEventKind {
    /// A read failed: its item is a miss.
    ReadFailed,
    /// What was read does not bear its checksum: its item is a miss.
    Corrupt,
    /// A write failed: the segment goes to another place.
    WriteFailed,
    /// The device is no longer used; its items are misses.
    OutOfService,
    /// Segments were dropped at the start, because they are torn or damaged.
    SegmentsDropped,
    /// The device is formatted: it is blank.
    Formatted,
    /// The device is formatted although it holds something: that was permitted.
    Overwritten,
    /// The device is not used, and left as it is: the store went on without it.
    LeftAside,
    /// Devices of the store are missing, and it goes on without them: that was permitted.
    Missing,
}

/// Figures of the tier at one moment; all zero where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TierStats {
    /// Size of all devices in service, in bytes.
    pub device_bytes: u64,
    /// Size of a segment, in bytes.
    pub segment_bytes: u64,
    /// Segments in all.
    pub segments: u64,
    /// Segments that hold nothing and can be written.
    pub segments_free: u64,
    /// Segments that hold nothing any more but wait until what left them is durable.
    pub segments_waiting: u64,
    /// Items on the device that the index points at (copies of items in memory included).
    pub items: u64,
    /// Bytes of their records.
    pub bytes_live: u64,
    /// Items written since start.
    pub items_written: u64,
    /// Bytes of their records: what came from memory.
    pub bytes_from_memory: u64,
    /// Bytes written to the devices, everything included.
    pub bytes_written: u64,
    /// Segments written since start.
    pub segments_written: u64,
    /// Items moved by cleaning since start.
    pub items_moved: u64,
    /// Bytes of their records.
    pub bytes_moved: u64,
    /// Segments cleaned since start.
    pub segments_cleaned: u64,
    /// Segments dropped to make room.
    pub segments_evicted: u64,
    /// Live items dropped to make room on the device.
    pub evictions: u64,
    /// Live items dropped because the device could not keep up ([`Durability::Cache`]).
    pub evictions_device_slow: u64,
    /// Live items that left memory unread and were not written, since the devices are full.
    pub evictions_unread: u64,
    /// Items lost to faults of a device.
    pub items_lost: u64,
    /// Reads done.
    pub reads: u64,
    /// Bytes read for them.
    pub bytes_read: u64,
    /// Items served from a segment that was still being written.
    pub buffer_hits: u64,
    /// Items brought back to memory.
    pub promoted: u64,
    /// Reads that failed.
    pub read_errors: u64,
    /// Reads whose checksum was wrong.
    pub checksum_errors: u64,
    /// Writes that failed.
    pub write_errors: u64,
    /// Devices out of service, those that the store was opened without because they fell behind
    /// included.
    pub devices_failed: u64,
    /// Times that a writer waited for the device.
    pub waits: u64,
    /// Segments waiting to be written.
    pub write_queue: u64,
    /// Memory of the tables of items, in bytes.
    pub table_bytes: u64,
    /// Memory of write and read buffers, in bytes.
    pub buffer_bytes: u64,
    /// Memory of values that are being read, or have been read and not been let go of: of replies
    /// that clients have yet to take above all. In bytes.
    pub read_bytes_held: u64,
    /// Items found on the devices when the store was opened.
    pub items_recovered: u64,
    /// Segments found then.
    pub segments_recovered: u64,
    /// Segments dropped then, because they were torn or damaged.
    pub segments_dropped: u64,
    /// How long that took, in microseconds.
    pub recovery_us: u64,
}
