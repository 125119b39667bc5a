//! Rooms for values to come.

use super::foreign::{ForeignRoom, Keeper};
use crate::huge_pages::zeroed_memory;
use stable_deref_trait::StableDeref;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

enum Room {
    Owned(Vec<u8>),
    Foreign(ForeignRoom),
}

/// Room that a value is received into. Its length as a slice is that of the value that it is made
/// ready for; a vector grows as needed, foreign memory does not.
pub struct ReceiveBytes(Room);

impl ReceiveBytes {
    /// Room in memory that the caller answers for. `keeper` is dropped with the result.
    ///
    /// # Safety
    /// From `start` on, `capacity_bytes` bytes must be initialised, and until the result is dropped
    /// nobody else may read or write them; any thread may be the one that writes.
    #[must_use]
    pub unsafe fn from_foreign(
        start: NonNull<u8>,
        capacity_bytes: usize,
        keeper: Option<Keeper>,
    ) -> Self {
        // SAFETY: the caller's promise.
        ReceiveBytes(Room::Foreign(unsafe {
            ForeignRoom::new(start, capacity_bytes, keeper)
        }))
    }

    /// Makes the slice `bytes` long; false, and unchanged, where foreign memory is too small. What
    /// the bytes hold afterwards is unspecified: nothing is cleared that need not be.
    #[must_use]
    pub fn make_room(&mut self, bytes: usize) -> bool {
        match &mut self.0 {
            // Zeros that the system gives need not be written, and what was there need not be
            // moved.
            Room::Owned(room) if bytes > room.capacity() => *room = zeroed_memory(bytes),
            Room::Owned(room) => room.resize(bytes, 0),
            Room::Foreign(foreign) => return foreign.resize(bytes),
        }
        true
    }

    /// Makes the slice equal to `value`; false, and unchanged, where foreign memory is too small.
    #[must_use]
    pub fn fill(&mut self, value: &[u8]) -> bool {
        if let Room::Owned(room) = &mut self.0 {
            room.clear();
            room.extend_from_slice(value);
            return true;
        }
        let fits = self.make_room(value.len());
        if fits {
            self.copy_from_slice(value);
        }
        fits
    }

    /// The vector that it is; `None` where the memory is foreign.
    pub fn owned(&mut self) -> Option<&mut Vec<u8>> {
        match &mut self.0 {
            Room::Owned(bytes) => Some(bytes),
            Room::Foreign(_) => None,
        }
    }

    /// The bytes as a vector; copied where the memory is foreign.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Room::Owned(bytes) => bytes,
            Room::Foreign(foreign) => foreign.bytes().to_vec(),
        }
    }
}

impl Default for ReceiveBytes {
    fn default() -> Self {
        ReceiveBytes(Room::Owned(Vec::new()))
    }
}

impl From<Vec<u8>> for ReceiveBytes {
    fn from(room: Vec<u8>) -> Self {
        ReceiveBytes(Room::Owned(room))
    }
}

impl Deref for ReceiveBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Room::Owned(room) => room,
            Room::Foreign(foreign) => foreign.bytes(),
        }
    }
}

impl DerefMut for ReceiveBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Room::Owned(room) => room,
            Room::Foreign(foreign) => foreign.bytes_mut(),
        }
    }
}

// SAFETY: the bytes of a `Vec` and of foreign memory stay in place when their handle moves, and
// neither dereferencing moves them.
unsafe impl StableDeref for ReceiveBytes {}

impl fmt::Debug for ReceiveBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ReceiveBytes of {} bytes", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owned_room_grows_and_foreign_room_does_not() {
        let mut owned = ReceiveBytes::from(vec![9]);
        assert!(owned.make_room(3));
        assert_eq!(owned.len(), 3);
        assert!(owned.make_room(9 << 20));
        assert_eq!(owned.len(), 9 << 20);
        assert!(owned.make_room(1));
        assert_eq!(owned.len(), 1);
        assert_eq!(owned.owned().map(|room| room.len()), Some(1));
        let mut memory = [0u8; 4];
        let start = NonNull::from(&mut memory).cast();
        // SAFETY: the array outlives the room and is not touched meanwhile.
        let mut foreign = unsafe { ReceiveBytes::from_foreign(start, 4, None) };
        assert!(!foreign.make_room(5) && !foreign.fill(b"12345"));
        assert!(foreign.fill(b"123"));
        assert!(foreign.owned().is_none());
        assert_eq!(foreign.into_vec(), b"123");
        assert_eq!(&memory, b"123\0");
    }
}
