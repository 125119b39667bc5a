//! Memory that Rust did not allocate.

use std::any::Any;
use std::ptr::NonNull;
use std::slice;

/// Whatever keeps foreign memory alive; dropped when the network has let go of the memory.
pub type Keeper = Box<dyn Any + Send>;

/// Bytes that can be read.
pub(super) struct Foreign {
    start: NonNull<u8>,
    bytes: usize,
    _keeper: Option<Keeper>,
}

// SAFETY: whoever made it promised that any thread may use the memory.
unsafe impl Send for Foreign {}

impl Foreign {
    /// # Safety
    /// From `start` on, `bytes` bytes are initialised, any thread may read them, and they do not
    /// change until the result is dropped.
    pub unsafe fn new(start: NonNull<u8>, bytes: usize, keeper: Option<Keeper>) -> Foreign {
        Foreign {
            start,
            bytes,
            _keeper: keeper,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the maker's promise.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

/// Bytes that can be written, too, of which the first few are in use.
pub(super) struct ForeignRoom {
    used: Foreign,
    capacity_bytes: usize,
}

impl ForeignRoom {
    /// Room of which nothing is in use.
    ///
    /// # Safety
    /// From `start` on, `capacity_bytes` bytes are initialised, and any thread may write them;
    /// until the result is dropped nobody else reads or writes them.
    pub unsafe fn new(
        start: NonNull<u8>,
        capacity_bytes: usize,
        keeper: Option<Keeper>,
    ) -> ForeignRoom {
        ForeignRoom {
            // SAFETY: nothing is asked of no bytes; `resize` puts in use what the caller promised.
            used: unsafe { Foreign::new(start, 0, keeper) },
            capacity_bytes,
        }
    }

    /// Puts so many bytes in use; false, and nothing is changed, where there are fewer.
    pub fn resize(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.capacity_bytes;
        if fits {
            self.used.bytes = bytes;
        }
        fits
    }

    pub fn bytes(&self) -> &[u8] {
        self.used.bytes()
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the maker's promise, as never more is in use than there is; the result borrows
        // all ways to the bytes.
        unsafe { slice::from_raw_parts_mut(self.used.start.as_ptr(), self.used.bytes) }
    }
}
