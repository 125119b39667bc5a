//! What is known of one segment, shared by all threads.

use super::pins::Pins;
use crate::schedule::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::*};
use farcache_base::time::{NEVER, Seconds};

/// What a segment is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SegmentState {
    /// Holds nothing.
    Free = 0,
    /// Items are being appended to it.
    Open = 1,
    /// Complete; may be evicted or cleaned.
    Sealed = 2,
    /// Being emptied; its items are moved or dropped.
    Emptying = 3,
    /// Out of the index; readers may still be looking at it.
    Limbo = 4,
    /// A further segment of the run that an earlier one heads.
    Tail = 5,
    /// Outside the memory limit; holds no memory.
    Parked = 6,
}

impl SegmentState {
    fn from_u8(value: u8) -> SegmentState {
        use SegmentState::*;
        [Free, Open, Sealed, Emptying, Limbo, Tail, Parked][usize::from(value)]
    }
}

/// Which queue a sealed segment waits in for eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Queue {
    /// New items, which leave soon unless they are used.
    Probation = 0,
    /// Items that were used before.
    Main = 1,
}

/// What is known of a segment, or of the run of segments that it heads. One cache line.
#[repr(align(64))]
pub(crate) struct SegmentMeta {
    /// Number of this filling of the segment; grows through the life of the store and is never
    /// reused.
    sequence: AtomicU64,
    /// Bytes of the items in it that the index still points at.
    live_bytes: AtomicU32,
    /// Number of items that the index still points at.
    live_items: AtomicU32,
    /// Bytes appended so far.
    written: AtomicU32,
    /// When all in it will have expired; [`Seconds::MAX`] where something never does.
    expiry_max: AtomicU32,
    /// Values that replies in flight keep in place.
    pins: Pins,
    /// Pinned values that a network holds.
    lent: AtomicU32,
    /// Values still arriving.
    arriving: AtomicU32,
    /// Segments in the run that this one heads.
    run: AtomicU32,
    /// Number of the segment that heads the run this one belongs to.
    head: AtomicU32,
    state: AtomicU8,
    queue: AtomicU8,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<SegmentMeta>() == 64);

impl SegmentMeta {
    pub fn new(number: u32, state: SegmentState) -> SegmentMeta {
        SegmentMeta {
            sequence: AtomicU64::new(0),
            live_bytes: AtomicU32::new(0),
            live_items: AtomicU32::new(0),
            written: AtomicU32::new(0),
            expiry_max: AtomicU32::new(NEVER),
            pins: Pins::none(),
            lent: AtomicU32::new(0),
            arriving: AtomicU32::new(0),
            run: AtomicU32::new(1),
            head: AtomicU32::new(number),
            state: AtomicU8::new(state as u8),
            queue: AtomicU8::new(Queue::Probation as u8),
        }
    }

    /// Starts a new filling; the caller owns the segment.
    pub fn open(&self, sequence: u64, run: u32, queue: Queue) {
        self.live_bytes.store(0, Relaxed);
        self.live_items.store(0, Relaxed);
        self.written.store(0, Relaxed);
        self.expiry_max.store(NEVER, Relaxed);
        self.run.store(run, Relaxed);
        self.queue.store(queue as u8, Relaxed);
        self.sequence.store(sequence, Relaxed);
        self.set_state(SegmentState::Open);
    }

    pub fn state(&self) -> SegmentState {
        SegmentState::from_u8(self.state.load(Acquire))
    }

    pub fn set_state(&self, state: SegmentState) {
        self.state.store(state as u8, Release);
    }

    pub fn sequence(&self) -> u64 {
        self.sequence.load(Acquire)
    }

    pub fn queue(&self) -> Queue {
        if self.queue.load(Relaxed) == Queue::Main as u8 {
            Queue::Main
        } else {
            Queue::Probation
        }
    }

    pub fn run(&self) -> u32 {
        self.run.load(Relaxed)
    }

    pub fn head(&self) -> u32 {
        self.head.load(Relaxed)
    }

    /// The segment, of this number, stands for itself again.
    pub fn leave_run(&self, number: u32) {
        self.head.store(number, Relaxed);
        self.run.store(1, Relaxed);
    }

    pub fn set_head(&self, head: u32) {
        self.head.store(head, Relaxed);
    }

    pub fn written(&self) -> u32 {
        self.written.load(Acquire)
    }

    pub fn set_written(&self, bytes: u32) {
        self.written.store(bytes, Release);
    }

    /// Notes the expiry of an item stored in it.
    pub fn note_expiry(&self, expiry: Seconds) {
        let expiry = if expiry == NEVER {
            Seconds::MAX
        } else {
            expiry
        };
        if self.expiry_max.load(Relaxed) < expiry {
            self.expiry_max.fetch_max(expiry, Relaxed);
        }
    }

    /// Whether everything in it has expired.
    pub fn is_expired(&self, now: Seconds) -> bool {
        self.expiry_max.load(Relaxed) <= now
    }

    /// Whether everything in it will expire some day.
    pub fn is_expiring(&self) -> bool {
        ![NEVER, Seconds::MAX].contains(&self.expiry_max.load(Relaxed))
    }

    pub fn live_bytes(&self) -> u32 {
        self.live_bytes.load(Relaxed)
    }

    pub fn live_items(&self) -> u32 {
        self.live_items.load(Acquire)
    }

    /// An item of this size became reachable.
    pub fn add_live(&self, bytes: usize) {
        self.live_bytes.fetch_add(bytes as u32, Relaxed);
        self.live_items.fetch_add(1, Relaxed);
    }

    /// An item of this size is no longer reachable; true if it was the last one.
    pub fn remove_live(&self, bytes: usize) -> bool {
        self.live_bytes.fetch_sub(bytes as u32, Relaxed);
        self.live_items.fetch_sub(1, AcqRel) == 1
    }

    pub fn pin(&self) {
        self.pins.add();
    }

    pub fn unpin(&self) {
        self.pins.remove();
    }

    pub fn is_lent(&self) -> bool {
        self.lent.load(Relaxed) > 0
    }

    /// A value in it is lent; true if no other is.
    pub fn lend(&self) -> bool {
        self.lent.fetch_add(1, Relaxed) == 0
    }

    /// A value in it is lent no longer; true if no other is.
    pub fn take_back(&self) -> bool {
        self.lent.fetch_sub(1, Relaxed) == 1
    }

    pub fn pins(&self) -> u32 {
        self.pins.count()
    }

    pub fn is_pinned(&self) -> bool {
        self.pins.are_there()
    }

    /// A value will arrive in it; true if it is the only one.
    pub fn add_arriving(&self) -> bool {
        self.arriving.fetch_add(1, Relaxed) == 0
    }

    /// A value has arrived in it, or will not; true if no other is left.
    pub fn remove_arriving(&self) -> bool {
        self.arriving.fetch_sub(1, Release) == 1
    }

    /// Whether a value is still arriving in it.
    pub fn is_arriving(&self) -> bool {
        self.arriving.load(Acquire) != 0
    }
}
