//! One slot: what its segment holds.

use crate::schedule::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering::*};
use crate::table::Table;
use farcache_base::time::{NEVER, Seconds};
use std::ptr::null_mut;

/// What a slot is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SlotState {
    /// Can be written.
    Free = 0,
    /// Its segment is being assembled or written.
    Filling = 1,
    /// Its segment is on the device.
    Written = 2,
    /// Its segment holds nothing any more, but may not be overwritten yet.
    Waiting = 3,
    /// A further slot of the run that an earlier one heads.
    Tail = 4,
    /// Never used: it holds superblocks, or could not be written.
    Closed = 5,
}

impl SlotState {
    fn from_u8(value: u8) -> SlotState {
        use SlotState::*;
        [Free, Filling, Written, Waiting, Tail, Closed][usize::from(value)]
    }
}

/// What is known of one slot.
pub(crate) struct Slot {
    /// The table of its items; see [`Slots::table`](super::Slots::table).
    pub(super) table: AtomicPtr<Table>,
    sequence: AtomicU64,
    /// Tombstones of single copies noted when an item from memory was last put into its segment.
    /// The tombstones of all older copies of that item are among them.
    tombstones_before: AtomicU64,
    /// The newest version of its items; 0 where none has one.
    newest_version: AtomicU64,
    live_bytes: AtomicU64,
    live_items: AtomicU32,
    expiry_max: AtomicU32,
    run: AtomicU32,
    state: AtomicU8,
}

impl Slot {
    pub(super) fn new(state: SlotState) -> Slot {
        Slot {
            table: AtomicPtr::new(null_mut()),
            sequence: AtomicU64::new(0),
            tombstones_before: AtomicU64::new(0),
            newest_version: AtomicU64::new(0),
            live_bytes: AtomicU64::new(0),
            live_items: AtomicU32::new(0),
            expiry_max: AtomicU32::new(NEVER),
            run: AtomicU32::new(1),
            state: AtomicU8::new(state as u8),
        }
    }

    pub fn state(&self) -> SlotState {
        SlotState::from_u8(self.state.load(Acquire))
    }

    pub fn set_state(&self, state: SlotState) {
        self.state.store(state as u8, Release);
    }

    pub fn sequence(&self) -> u64 {
        self.sequence.load(Acquire)
    }

    pub fn run(&self) -> u32 {
        self.run.load(Acquire)
    }

    pub(super) fn set_run(&self, run: u32) {
        self.run.store(run, Release);
    }

    pub fn tombstones_before(&self) -> u64 {
        self.tombstones_before.load(Acquire)
    }

    pub fn raise_tombstones_before(&self, single_tombstones: u64) {
        self.tombstones_before.fetch_max(single_tombstones, AcqRel);
    }

    pub fn newest_version(&self) -> u64 {
        self.newest_version.load(Acquire)
    }

    pub fn note_version(&self, version: u64) {
        self.newest_version.fetch_max(version, AcqRel);
    }

    pub fn live_bytes(&self) -> u64 {
        self.live_bytes.load(Relaxed)
    }

    pub fn live_items(&self) -> u32 {
        self.live_items.load(Acquire)
    }

    pub fn add_live(&self, bytes: u64, expiry: Seconds) {
        self.live_bytes.fetch_add(bytes, Relaxed);
        self.live_items.fetch_add(1, Relaxed);
        let expiry = if expiry == NEVER {
            Seconds::MAX
        } else {
            expiry
        };
        self.expiry_max.fetch_max(expiry, Relaxed);
    }

    /// True if it was the last one.
    pub fn remove_live(&self, bytes: u64) -> bool {
        self.live_bytes.fetch_sub(bytes, Relaxed);
        self.live_items.fetch_sub(1, AcqRel) == 1
    }

    /// Whether everything in it has expired.
    pub fn is_expired(&self, now: Seconds) -> bool {
        self.expiry_max.load(Relaxed) <= now
    }

    /// A segment of `run` slots is put here: it holds nothing yet.
    pub(super) fn begin(&self, run: u32, sequence: u64) {
        self.tombstones_before.store(0, Relaxed);
        self.newest_version.store(0, Relaxed);
        self.live_bytes.store(0, Relaxed);
        self.live_items.store(0, Relaxed);
        self.expiry_max.store(NEVER, Relaxed);
        self.run.store(run, Relaxed);
        self.sequence.store(sequence, Release);
    }
}
