//! Memory that a client lends to the network: values on their way out, room for values to come.
//!
//! Both kinds are either Rust's own memory, given away and given back, or memory that somebody else
//! answers for (a C program's buffer), which only `unsafe` code can bring in.

use crate::huge_pages;
use stable_deref_trait::StableDeref;
use std::any::Any;
use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

/// Whatever keeps foreign memory alive; dropped when the network has let go of the memory.
pub type Keeper = Box<dyn Any + Send>;

/// Memory that Rust did not allocate.
struct Foreign {
    start: NonNull<u8>,
    /// Bytes in use from the start.
    bytes: usize,
    /// Bytes that may be used.
    capacity_bytes: usize,
    _keeper: Option<Keeper>,
}

// SAFETY: whoever brought the memory in promised that any thread may use it (`from_foreign`).
unsafe impl Send for Foreign {}

impl Foreign {
    fn bytes(&self) -> &[u8] {
        // SAFETY: `from_foreign`'s caller promised `capacity_bytes` readable bytes for as long as
        // this value lives, and `bytes` is never more.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: only `ReceiveBytes` calls this, whose `from_foreign` asks for `capacity_bytes`
        // bytes that nobody else reads or writes; `bytes` is never more, and `self` is borrowed
        // mutably.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

/// Memory that values are sent from and received into again and again, so that a network registers
/// it once ([`Port::register`](crate::Port::register)).
#[derive(Debug)]
pub struct LentMemory {
    start: NonNull<u8>,
    bytes: usize,
    _keeper: Option<Arc<dyn Any + Send + Sync>>,
}

// SAFETY: an address and a length, which say nothing of who may use what stands there; the keeper
// may be sent itself.
unsafe impl Send for LentMemory {}
// SAFETY: as for Send.
unsafe impl Sync for LentMemory {}

impl LentMemory {
    /// Memory that the caller answers for.
    ///
    /// # Safety
    /// From `start` on, `bytes` bytes stay mapped, and their pages are not given back to the
    /// system, until the result is dropped and no port has it registered any more.
    #[must_use]
    pub unsafe fn new(start: NonNull<u8>, bytes: usize) -> Self {
        LentMemory {
            start,
            bytes,
            _keeper: None,
        }
    }

    /// The memory of a vector, which lives until the result is dropped at least.
    #[must_use]
    pub fn of(bytes: Arc<Vec<u8>>) -> Self {
        LentMemory {
            start: NonNull::from(&bytes[..]).cast(),
            bytes: bytes.len(),
            _keeper: Some(bytes),
        }
    }

    /// Asks the system to put it into huge pages, now where it can do that. What stands there
    /// stays.
    pub fn prefer_huge_pages(&self) {
        huge_pages::prefer_now(self.start, self.bytes);
    }

    /// Its first byte.
    #[must_use]
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Whether these bytes lie in it.
    #[must_use]
    pub fn contains(&self, bytes: &[u8]) -> bool {
        let first = self.start.as_ptr().addr();
        let range = bytes.as_ptr_range();
        first <= range.start.addr() && range.end.addr() <= first + self.bytes
    }
}

/// A vector of so many zeros, in huge pages where it is long and the system has them. What is not
/// touched takes no memory.
#[must_use]
pub fn zeroed_memory(bytes: usize) -> Vec<u8> {
    let zeros = vec![0; bytes];
    if bytes >= huge_pages::HUGE_FROM_BYTES {
        huge_pages::prefer(NonNull::from(&zeros[..]).cast(), bytes);
    }
    zeros
}

enum Source {
    Owned(Vec<u8>),
    Shared(Arc<Vec<u8>>),
    Part(Arc<Vec<u8>>, Range<usize>),
    Foreign(Foreign),
}

/// A value that is sent from where it lies: given away as a `Vec<u8>` or shared as an
/// `Arc<Vec<u8>>`. It comes back unchanged when the network is done with it.
pub struct SendBytes(Source);

impl SendBytes {
    /// A value in memory that the caller answers for. `keeper` is dropped with the result.
    ///
    /// # Safety
    /// From `start` on, `bytes` bytes must be initialised, readable from any thread, and must not
    /// change until the result is dropped.
    #[must_use]
    pub unsafe fn from_foreign(start: NonNull<u8>, bytes: usize, keeper: Option<Keeper>) -> Self {
        SendBytes(Source::Foreign(Foreign {
            start,
            bytes,
            capacity_bytes: bytes,
            _keeper: keeper,
        }))
    }

    /// A value that is part of a shared vector.
    ///
    /// # Panics
    /// Where the vector has no such part.
    #[must_use]
    pub fn part_of(bytes: Arc<Vec<u8>>, part: Range<usize>) -> Self {
        assert!(bytes.get(part.clone()).is_some(), "no part of the vector");
        SendBytes(Source::Part(bytes, part))
    }

    /// A share of it, if it is a whole vector: it may be sent in parts then.
    #[must_use]
    pub fn share(&mut self) -> Option<Arc<Vec<u8>>> {
        if let Source::Owned(bytes) = &mut self.0 {
            let bytes = std::mem::take(bytes);
            self.0 = Source::Shared(Arc::new(bytes));
        }
        match &self.0 {
            Source::Shared(bytes) => Some(Arc::clone(bytes)),
            _ => None,
        }
    }

    /// The value as a vector; copied unless it was given as one, or nobody else shares it.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Source::Owned(bytes) => bytes,
            Source::Shared(bytes) => Arc::unwrap_or_clone(bytes),
            Source::Part(bytes, range) => bytes[range].to_vec(),
            Source::Foreign(foreign) => foreign.bytes().to_vec(),
        }
    }
}

impl Deref for SendBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Source::Owned(bytes) => bytes,
            Source::Shared(bytes) => bytes,
            Source::Part(bytes, range) => &bytes[range.clone()],
            Source::Foreign(foreign) => foreign.bytes(),
        }
    }
}

// SAFETY: the bytes of a `Vec` and of foreign memory stay in place when their handle moves; those
// of a shared `Vec` also do not change, as nobody can get a mutable reference while this share
// exists.
unsafe impl StableDeref for SendBytes {}

impl From<Vec<u8>> for SendBytes {
    fn from(bytes: Vec<u8>) -> Self {
        SendBytes(Source::Owned(bytes))
    }
}

impl From<Arc<Vec<u8>>> for SendBytes {
    fn from(bytes: Arc<Vec<u8>>) -> Self {
        SendBytes(Source::Shared(bytes))
    }
}

impl fmt::Debug for SendBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SendBytes of {} bytes", self.len())
    }
}

enum Room {
    Owned(Vec<u8>),
    Foreign(Foreign),
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
        ReceiveBytes(Room::Foreign(Foreign {
            start,
            bytes: 0,
            capacity_bytes,
            _keeper: keeper,
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
            Room::Foreign(foreign) if bytes > foreign.capacity_bytes => return false,
            Room::Foreign(foreign) => foreign.bytes = bytes,
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
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_value_comes_back_as_it_was_given() {
        assert_eq!(SendBytes::from(vec![1, 2]).into_vec(), [1, 2]);
        let shared = Arc::new(vec![3]);
        assert_eq!(&SendBytes::from(Arc::clone(&shared))[..], [3]);
        assert_eq!(Arc::strong_count(&shared), 1);
        let memory = Arc::new(vec![4, 5, 6]);
        let lent = LentMemory::of(Arc::clone(&memory));
        lent.prefer_huge_pages();
        let part = SendBytes::part_of(memory, 1..3);
        assert!(lent.contains(&part));
        assert_eq!(part.into_vec(), [5, 6]);
    }

    #[test]
    fn a_whole_vector_is_shared_and_comes_back() {
        let mut owned = SendBytes::from(vec![1, 2]);
        let place = owned.as_ptr();
        let share = owned.share().expect("a vector");
        assert_eq!((&share[..], share.as_ptr()), (&[1, 2][..], place));
        drop(share);
        let back = owned.into_vec();
        assert_eq!((&back[..], back.as_ptr()), (&[1, 2][..], place));
        let mut part = SendBytes::part_of(Arc::new(vec![4, 5, 6]), 1..3);
        assert!(part.share().is_none());
    }

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

    #[test]
    fn foreign_memory_is_kept_until_it_is_let_go() {
        struct Flag(Arc<AtomicBool>);
        impl Drop for Flag {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let gone = Arc::new(AtomicBool::new(false));
        let keeper: Keeper = Box::new(Flag(Arc::clone(&gone)));
        let memory = *b"value";
        let start = NonNull::from(&memory).cast();
        // SAFETY: the array outlives the value and does not change.
        let lent = unsafe { SendBytes::from_foreign(start, 5, Some(keeper)) };
        assert_eq!(&lent[..], b"value");
        assert!(!gone.load(Ordering::Relaxed));
        drop(lent);
        assert!(gone.load(Ordering::Relaxed));
    }
}
