//! Items as readers see them.

use crate::core::Core;
use crate::handle::StoreHandle;
use crate::index::Location;
use crate::item::{Fields, RawItem, State};
use crate::stalled::CopiedBytes;
use farcache_base::time::Seconds;
use farcache_base::version::Version;
use farcache_log::Buffer;
use stable_deref_trait::StableDeref;
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// An item as it was found; borrowed until the handle's next quiescent point.
pub struct Item<'h> {
    handle: &'h StoreHandle,
    location: Location,
    raw: RawItem,
    /// Its use before this lookup.
    state: State,
}

impl<'h> Item<'h> {
    #[inline]
    pub(crate) fn new(
        handle: &'h StoreHandle,
        location: Location,
        raw: RawItem,
        state: State,
    ) -> Item<'h> {
        handle.borrowed.set(handle.borrowed.get() + 1);
        Item {
            handle,
            location,
            raw,
            state,
        }
    }

    pub(crate) fn location(&self) -> Location {
        self.location
    }

    pub(crate) fn raw(&self) -> RawItem {
        self.raw
    }

    /// What its header says, with the marks that are kept elsewhere while it is on a device.
    pub(crate) fn fields(&self) -> Fields {
        let mut fields = self.raw.fields();
        fields.win_sent = self.is_win_sent();
        fields
    }

    /// Its key, decoded.
    pub fn key(&self) -> &[u8] {
        self.raw.key()
    }

    /// Its value.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.raw.value()
    }

    /// The client's flags.
    #[inline]
    pub fn flags(&self) -> u32 {
        self.raw.flags()
    }

    /// When it expires.
    pub fn expiry(&self) -> Seconds {
        self.raw.expiry()
    }

    /// Its CAS token, 0 where tokens are off; from now on the token survives moves of the item.
    pub fn cas(&self) -> u64 {
        let core = &self.handle.core;
        if !core.config.cas {
            return 0;
        }
        if !self.raw.is_cas_told() {
            // Under the lock, so that a move either carries the token on or comes first; then the
            // token below fits no item any longer, as if the item had been overwritten.
            let chain = core.index.lock(core.hash(self.raw.key()));
            if chain.place_of(self.location).is_some() {
                self.raw.set_cas_told();
            }
        }
        core.cas_of(self.location, self.raw)
    }

    /// Its CAS token, if some client knows it; nothing is noted.
    pub fn told_token(&self) -> Option<u64> {
        self.raw
            .is_cas_told()
            .then(|| self.told_cas())
            .filter(|cas| *cas > 0)
    }

    /// The version with which it was stored, if it was stored with one.
    pub fn version(&self) -> Option<Version> {
        self.raw.stamp().map(|stamp| stamp.version)
    }

    /// Its CAS token as [`Item::cas`], of an item that the caller has just marked as told.
    pub(crate) fn told_cas(&self) -> u64 {
        let core = &self.handle.core;
        if core.config.cas {
            core.cas_of(self.location, self.raw)
        } else {
            0
        }
    }

    /// Its key is returned base64-encoded.
    pub fn key_is_binary(&self) -> bool {
        self.raw.key_is_binary()
    }

    /// When it was last used before this lookup (stored, if never).
    pub fn last_access(&self) -> Seconds {
        self.state.last_access()
    }

    /// Whether it had been used before this lookup.
    pub fn was_fetched(&self) -> bool {
        self.state.was_fetched()
    }

    /// Whether it is marked stale.
    pub fn is_stale(&self) -> bool {
        self.raw.is_stale()
    }

    /// Whether some client has been told to recache it.
    pub fn is_win_sent(&self) -> bool {
        let is_marked_elsewhere = || {
            let tier = self.handle.core.tier.as_ref();
            tier.is_some_and(|tier| tier.is_win_sent(self.location))
        };
        self.raw.is_win_sent() || self.location.is_on_device() && is_marked_elsewhere()
    }

    /// Claims the right to recache it; true for exactly one caller until it is stored anew.
    pub fn claim_win(&self) -> bool {
        let core = &self.handle.core;
        let chain = core.index.lock(core.hash(self.raw.key()));
        let Some(entry) = self.handle.entry(&chain, self.raw.key()) else {
            return !self.raw.is_win_sent();
        };
        let Some(item) = entry.item.filter(|_| !entry.location.is_on_device()) else {
            let tier = core.tier.as_ref();
            let is_first = tier.is_some_and(|tier| tier.claim_win(entry.location));
            return is_first && !self.raw.is_win_sent();
        };
        let is_first = !item.is_win_sent();
        item.set_win_sent();
        if let Some(shadow) = entry.shadow.filter(|_| is_first) {
            core.kill_shadow(&chain, shadow);
            drop(chain);
            self.handle.note_entries(-1);
            core.note_dirty(core.hash(self.raw.key()), entry.location);
        }
        is_first
    }

    /// Bytes that it occupies in memory, header included.
    pub fn size_bytes(&self) -> usize {
        self.raw.layout().size()
    }

    /// Keeps the value in place beyond the quiescent point.
    pub fn pin(&self) -> PinnedValue {
        if self.location.is_on_device() {
            return self.pin_from_device();
        }
        let core = Arc::clone(&self.handle.core);
        let head = core.arena.head_of(self.location);
        core.arena.meta(head).pin();
        PinnedValue {
            value: self.raw.value().into(),
            keeper: Keeper::Segment {
                pin: SegmentPin {
                    core,
                    head,
                    is_lent: false,
                },
            },
        }
    }

    #[cold]
    fn pin_from_device(&self) -> PinnedValue {
        match self.handle.reads.buffer_of(self.location, self.raw) {
            Some(buffer) => PinnedValue {
                value: self.raw.value().into(),
                keeper: Keeper::Buffer { _buffer: buffer },
            },
            // Its segment is just being written.
            None => {
                let copy: Box<[u8]> = self.raw.value().into();
                PinnedValue {
                    value: NonNull::from(&*copy),
                    keeper: Keeper::Copy {
                        _copy: copy,
                        counted: None,
                    },
                }
            }
        }
    }
}

impl Clone for Item<'_> {
    fn clone(&self) -> Self {
        Item::new(self.handle, self.location, self.raw, self.state)
    }
}

impl Drop for Item<'_> {
    #[inline]
    fn drop(&mut self) {
        self.handle.borrowed.set(self.handle.borrowed.get() - 1);
    }
}

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

    /// Copies the value, and lets go of what has kept it so far; `count` counts the bytes. False
    /// where the system has no memory.
    pub(crate) fn move_out(&mut self, count: impl FnOnce(u64) -> CopiedBytes) -> bool {
        let mut copy = Vec::new();
        if copy.try_reserve_exact(self.len()).is_err() {
            return false;
        }
        copy.extend_from_slice(self);
        let copy = copy.into_boxed_slice();
        let counted = Some(count(copy.len() as u64));
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
// that were handed over to it, by `StoreHandle::stall` or `Store::lend`, and of which nobody else
// has a reference.
unsafe impl StableDeref for PinnedValue {}

impl fmt::Debug for PinnedValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PinnedValue of {} bytes", self.len())
    }
}
