//! Values that stay in place while something outside the store takes them.

use super::Core;
use super::stalled::CopiedBytes;
use crate::index::Location;
use crate::item::RawItem;
use farcache_log::{Arrived, Buffer};
use stable_deref_trait::StableDeref;
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// A value kept in place beyond the quiescent point, until dropped.
pub struct PinnedValue {
    /// Stays readable: the pin was taken while the item was borrowed, and the keeper keeps it.
    value: NonNull<[u8]>,
    keeper: Keeper,
}

/// What keeps a pinned value in place.
enum Keeper {
    Segment {
        pin: SegmentPin,
    },
    /// Into which it was read from a device.
    Buffer {
        _buffer: Arc<Buffer>,
    },
    Copy {
        _copy: Box<[u8]>,
        /// Where it was made to let go of the value's segment.
        counted: Option<CopiedBytes>,
    },
}

/// Keeps a segment from being reused.
struct SegmentPin {
    core: Arc<Core>,
    head: u32,
    /// To a network.
    is_lent: bool,
}

impl Drop for SegmentPin {
    fn drop(&mut self) {
        if self.is_lent {
            self.core.take_back(self.head);
        }
        self.core.arena.meta(self.head).unpin();
    }
}

// SAFETY: the value is only read and stays in place as long as its keeper, each of which may be
// dropped by any thread.
unsafe impl Send for PinnedValue {}

impl PinnedValue {
    /// The value of an item in memory, which is in use now: its segment is pinned.
    pub(crate) fn in_segment(
        core: &Arc<Core>,
        location: Location,
        item: RawItem<'_>,
    ) -> PinnedValue {
        let head = core.arena.head_of(location);
        core.arena.meta(head).pin();
        PinnedValue {
            value: item.value().into(),
            keeper: Keeper::Segment {
                pin: SegmentPin {
                    core: Arc::clone(core),
                    head,
                    is_lent: false,
                },
            },
        }
    }

    /// The value of an item that was read from a device: its buffer is kept.
    pub(crate) fn in_buffer(arrived: Arrived) -> PinnedValue {
        PinnedValue {
            value: arrived.item().value().into(),
            keeper: Keeper::Buffer {
                _buffer: arrived.into_buffer(),
            },
        }
    }

    /// A copy of an item's value.
    pub(crate) fn copied(item: RawItem<'_>) -> PinnedValue {
        let copy: Box<[u8]> = item.value().into();
        PinnedValue {
            value: NonNull::from(&*copy),
            keeper: Keeper::Copy {
                _copy: copy,
                counted: None,
            },
        }
    }

    /// The value without its first bytes.
    ///
    /// # Panics
    /// It has fewer.
    #[must_use]
    pub fn behind(mut self, bytes: usize) -> PinnedValue {
        self.value = NonNull::from(&self.value()[bytes..]);
        self
    }

    /// Whether it was read from a device: then it takes some of the memory that all reads have
    /// together.
    pub fn is_in_read_memory(&self) -> bool {
        matches!(self.keeper, Keeper::Buffer { .. })
    }

    /// The head of the segment that it keeps from being reused, if it keeps one.
    pub(crate) fn segment(&self) -> Option<u32> {
        match &self.keeper {
            Keeper::Segment { pin } => Some(pin.head),
            Keeper::Buffer { .. } | Keeper::Copy { .. } => None,
        }
    }

    /// Bytes of the copy, where it is one that was made to let go of a segment.
    pub(crate) fn copied_bytes(&self) -> u64 {
        match &self.keeper {
            Keeper::Copy {
                counted: Some(_), ..
            } => self.len() as u64,
            _ => 0,
        }
    }

    /// Notes that a network keeps the value; false where it should have a copy.
    pub(crate) fn lend(&mut self) -> bool {
        if let Keeper::Segment { pin } = &mut self.keeper
            && !pin.is_lent
        {
            pin.is_lent = pin.core.lend(pin.head);
            return pin.is_lent;
        }
        true
    }

    /// Copies the value, and lets go of what has kept it so far; `count` may count the bytes. False
    /// where the system has no memory.
    pub(crate) fn move_out(&mut self, count: impl FnOnce(u64) -> Option<CopiedBytes>) -> bool {
        let mut copy = Vec::new();
        if copy.try_reserve_exact(self.len()).is_err() {
            return false;
        }
        copy.extend_from_slice(self);
        let copy = copy.into_boxed_slice();
        let counted = count(copy.len() as u64);
        self.value = NonNull::from(&*copy);
        self.keeper = Keeper::Copy {
            _copy: copy,
            counted,
        };
        true
    }

    /// The value.
    pub fn value(&self) -> &[u8] {
        // SAFETY: the keeper keeps the value in place and unchanged.
        unsafe { self.value.as_ref() }
    }
}

impl Deref for PinnedValue {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.value()
    }
}

// SAFETY: the value lies behind a pointer, not in the pin, and neither moves nor changes while the
// pin exists, wherever the pin itself is moved: `move_out` is called only by the store, on values
// of which nobody else has a reference: those that were handed over to it, by `StoreHandle::stall`
// or `Store::lend`, and those that it has put aside itself.
unsafe impl StableDeref for PinnedValue {}

impl fmt::Debug for PinnedValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PinnedValue of {} bytes", self.len())
    }
}
