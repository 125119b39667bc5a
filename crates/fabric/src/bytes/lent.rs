//! Memory that a network registers once.

use crate::huge_pages;
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

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
