//! Values on their way out.

use super::foreign::{Foreign, Keeper};
use stable_deref_trait::StableDeref;
use std::fmt;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::Arc;

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
        // SAFETY: the caller's promise.
        SendBytes(Source::Foreign(unsafe {
            Foreign::new(start, bytes, keeper)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::LentMemory;
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
