//! Values that arrive in pieces, straight into the segment where they will live.
//!
//! A segment in which a value arrives cannot be emptied. So only a part of all segments is used in
//! this way at once; values that begin to arrive beyond that wait in memory of their own and are
//! copied into the store when they are whole.

use super::set::Commit;
use crate::core::Core;
use crate::handle::StoreHandle;
use crate::item::{Layout, RawItem};
use crate::options::{SetMode, SetOptions, SetOutcome, StoreError};
use crate::segment::Placed;
use crate::suspended::{Interrupt, Suspended, settled};
use stable_deref_trait::StableDeref;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Room for a value that is still arriving; dropping it gives the room back.
pub struct Reservation {
    core: Arc<Core>,
    room: Room,
    /// Bytes of the value, from its beginning, that are there already: as a slice, this is the room
    /// behind them.
    front_bytes: usize,
}

/// Where the value arrives.
enum Room {
    /// In the place where it will live.
    InSegment(InSegment),
    /// In memory of its own, to be copied.
    Apart { key: Box<[u8]>, value: Box<[u8]> },
}

/// A place in a segment, which is neither sealed for good nor reused as long as this exists.
struct InSegment {
    placed: Placed,
    layout: Layout,
}

impl InSegment {
    /// The item, whose header and key are written; its value belongs to the reservation alone.
    fn item<'r>(&'r self, core: &'r Core) -> RawItem<'r> {
        let address = self.placed.address(&core.arena);
        // SAFETY: the header was written before this was made, and its segment is not reused as
        // long as this exists.
        unsafe { RawItem::at(address) }
    }
}

// SAFETY: until it is committed the item's memory belongs to the reservation alone, and the counter
// that keeps its segment in place is atomic.
unsafe impl Send for Reservation {}

impl Reservation {
    /// The key of the item.
    pub fn key(&self) -> &[u8] {
        match &self.room {
            Room::InSegment(room) => room.item(&self.core).key(),
            Room::Apart { key, .. } => key,
        }
    }

    /// Writes the beginning of the value; as a slice, this is the room for the rest from now on.
    ///
    /// # Panics
    /// The room is shorter.
    pub fn write_front(&mut self, front: &[u8]) {
        self.value_mut()[..front.len()].copy_from_slice(front);
        self.front_bytes += front.len();
    }

    /// The room for the value, or what is left of it behind its beginning
    /// ([`Reservation::write_front`]); its contents are unspecified until written.
    pub fn value_mut(&mut self) -> &mut [u8] {
        let front_bytes = self.front_bytes;
        &mut self.whole_mut()[front_bytes..]
    }

    fn whole(&self) -> &[u8] {
        let InSegment { placed, layout, .. } = match &self.room {
            Room::InSegment(room) => room,
            Room::Apart { value, .. } => return value,
        };
        let address = placed.address(&self.core.arena);
        // SAFETY: as in `whole_mut`; the shared borrow keeps writers away.
        unsafe { std::slice::from_raw_parts(address.add(layout.value_offset()), layout.value_len) }
    }

    fn whole_mut(&mut self) -> &mut [u8] {
        let InSegment { placed, layout, .. } = match &mut self.room {
            Room::InSegment(room) => room,
            Room::Apart { value, .. } => return value,
        };
        let address = placed.address(&self.core.arena);
        // SAFETY: the value's room lies in the arena, holds initialized bytes (zeroed pages or an
        // older item), belongs to this reservation alone, and is borrowed mutably through it.
        unsafe {
            std::slice::from_raw_parts_mut(address.add(layout.value_offset()), layout.value_len)
        }
    }
}

impl Deref for Reservation {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.whole()[self.front_bytes..]
    }
}

impl DerefMut for Reservation {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.value_mut()
    }
}

// SAFETY: the room lies in the arena or in a box, not in the reservation, and stays in place while
// the reservation exists, wherever that is moved.
unsafe impl StableDeref for Reservation {}

impl fmt::Debug for Reservation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Reservation of {} bytes", self.len())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Room::InSegment(InSegment { placed, .. }) = &self.room {
            self.core.arena.remove_arriving(placed.head());
        }
    }
}

/// A value that has arrived and cannot be stored yet.
#[derive(Debug)]
pub struct Uncommitted {
    /// What has to be waited for.
    pub suspended: Suspended,
    /// Its room, to be committed again then.
    pub reservation: Reservation,
}

impl StoreHandle {
    /// Makes room for a value that will arrive in pieces.
    ///
    /// # Errors
    /// [`Interrupt`]; nothing has changed then.
    pub fn reserve(
        &self,
        key: &[u8],
        value_len: usize,
        options: &SetOptions,
    ) -> Result<Reservation, Interrupt> {
        self.check_size(key, value_len, options.flags)?;
        self.enter();
        let fields = self.fields_of(options);
        let layout = fields.layout(key.len(), value_len);
        let arena = &self.core.arena;
        // A larger value blocks no more than it fills.
        let shares_segment = layout.size() < arena.segment_bytes();
        let room = if shares_segment && !arena.has_room_for_arriving() {
            Room::Apart {
                key: key.into(),
                value: vec![0; value_len].into_boxed_slice(),
            }
        } else {
            let placed = self.place_or_make_room(&layout, options.expiry)?;
            let address = placed.address(arena);
            // SAFETY: the room was just placed for this thread alone, with this layout's size.
            unsafe { RawItem::write_header(address, layout, &fields, key, self.now()) };
            arena.add_arriving(placed.head());
            Room::InSegment(InSegment { placed, layout })
        };
        let core = Arc::clone(&self.core);
        Ok(Reservation {
            core,
            room,
            front_bytes: 0,
        })
    }

    /// Stores a value that has arrived whole. `options` are those given to
    /// [`StoreHandle::reserve`] of the same store. A [`StoreError`] means that nothing has changed.
    ///
    /// # Errors
    /// [`Uncommitted`], with the reservation, where a device must be read first.
    ///
    /// # Panics
    /// With a reservation of another store.
    pub fn commit(
        &self,
        reservation: Reservation,
        options: &SetOptions,
    ) -> Result<Result<SetOutcome, StoreError>, Uncommitted> {
        assert!(
            Arc::ptr_eq(&reservation.core, &self.core),
            "a reservation of this store"
        );
        settled(self.commit_kept(&reservation, options)).map_err(|suspended| Uncommitted {
            suspended,
            reservation,
        })
    }

    fn commit_kept(
        &self,
        reservation: &Reservation,
        options: &SetOptions,
    ) -> Result<SetOutcome, Interrupt> {
        let room = match &reservation.room {
            Room::InSegment(room) => room,
            Room::Apart { key, value } => return self.set(key, value, options),
        };
        // SAFETY: the value has arrived whole, and the segment is not reused as long as the
        // reservation exists, nor, if the item is stored, as long as the index has it.
        let written = unsafe { room.placed.written(&reservation.core.arena) };
        let item = written.item();
        let was_flushed = self.core.is_void(written.head(), item);
        let is_part = matches!(options.mode, SetMode::Append | SetMode::Prepend);
        if is_part && options.version.is_none() || was_flushed {
            // The value joins another one, or lies where a flush has voided everything although
            // it is stored only now: it is copied. The reservation keeps it readable meanwhile.
            return self.set(item.key(), item.value(), options);
        }
        self.enter();
        let hash = self.core.hash(item.key());
        match self.commit_written(hash, item.key(), &written, options)? {
            Commit::Ended(outcome) => Ok(outcome),
            Commit::MustBeStale => self.set_stale(item.key(), item.value(), options),
            Commit::Void => self.set(item.key(), item.value(), options),
        }
    }
}
