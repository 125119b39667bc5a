//! Memory that a device can read into and write from.

use crate::region::Region;
use crate::schedule::Mutex;
use crate::schedule::atomic::{AtomicU64, Ordering::Relaxed};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// Every buffer begins at a multiple of this: enough for any device.
pub(crate) const BUFFER_ALIGNMENT: usize = 4096;
/// Sizes of a pool's buffers: so many powers of two from `BUFFER_ALIGNMENT` on.
const CLASSES: usize = 11;

/// A range of aligned memory with one owner.
pub struct Buffer {
    address: NonNull<u8>,
    bytes: usize,
    /// The pool that counts it.
    pool: Option<Arc<PoolShared>>,
    /// Its class in the pool's region; none for memory of its own.
    class: Option<usize>,
}

// SAFETY: a buffer owns its memory alone, like a `Box<[u8]>`.
unsafe impl Send for Buffer {}
// SAFETY: through a shared reference its memory is only read.
unsafe impl Sync for Buffer {}

fn layout_of(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, BUFFER_ALIGNMENT).expect("buffers are far below isize::MAX")
}

impl Buffer {
    /// Zeroed memory of its own; the size is rounded up to `BUFFER_ALIGNMENT`.
    pub fn new(bytes: usize) -> Buffer {
        let bytes = bytes.max(1).next_multiple_of(BUFFER_ALIGNMENT);
        // SAFETY: the size is not 0.
        let address = unsafe { alloc_zeroed(layout_of(bytes)) };
        let Some(address) = NonNull::new(address) else {
            handle_alloc_error(layout_of(bytes))
        };
        Buffer {
            address,
            bytes,
            pool: None,
            class: None,
        }
    }

    /// Its first byte, for one who shares it by rules of his own.
    pub fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the memory is the buffer's alone and initialized (it came zeroed).
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.bytes) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`; the exclusive reference keeps others out.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.bytes) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            pool.bytes_out.fetch_sub(self.bytes as u64, Relaxed);
        }
        match (&self.pool, self.class) {
            (Some(pool), Some(class)) => pool.give_back(class, self.address),
            // SAFETY: allocated by `new` with this very layout.
            _ => unsafe { dealloc(self.address.as_ptr(), layout_of(self.bytes)) },
        }
    }
}

struct Lists {
    /// Free buffers by class.
    free: [Vec<NonNull<u8>>; CLASSES],
    /// Bytes of the region handed out to the classes so far.
    cut: usize,
}

struct PoolShared {
    region: Region,
    lists: Mutex<Lists>,
    /// Bytes of the buffers in use.
    bytes_out: AtomicU64,
}

// SAFETY: the addresses in the lists are parts of the region that nobody uses.
unsafe impl Send for PoolShared {}
// SAFETY: as for Send; the lists are locked.
unsafe impl Sync for PoolShared {}

impl PoolShared {
    fn give_back(&self, class: usize, address: NonNull<u8>) {
        let mut lists = self.lists.lock().expect("no holder panics");
        lists.free[class].push(address);
    }

    fn take(&self, class: usize) -> Option<NonNull<u8>> {
        let mut lists = self.lists.lock().expect("no holder panics");
        if let Some(address) = lists.free[class].pop() {
            return Some(address);
        }
        let bytes = BUFFER_ALIGNMENT << class;
        if lists.cut + bytes > self.region.bytes() {
            return None;
        }
        // SAFETY: the cut stays inside the region.
        let address = unsafe { self.region.base().add(lists.cut) };
        lists.cut += bytes;
        NonNull::new(address)
    }
}

/// Buffers from one contiguous region.
#[derive(Clone)]
pub(crate) struct BufferPool {
    shared: Arc<PoolShared>,
}

impl BufferPool {
    /// Reserves the region. With `huge_pages` the kernel is asked for such: a device is then given
    /// one range for what would be several, which virtual ones take a good part of their time for.
    ///
    /// # Errors
    /// The kernel's, where it refuses the mapping.
    pub fn new(bytes: usize, huge_pages: bool) -> io::Result<BufferPool> {
        let lists = Lists {
            free: Default::default(),
            cut: 0,
        };
        Ok(BufferPool {
            shared: Arc::new(PoolShared {
                region: Region::reserve(bytes, huge_pages)?,
                lists: Mutex::new(lists),
                bytes_out: AtomicU64::new(0),
            }),
        })
    }

    /// A buffer of at least this size: from the region if it has one, else of its own. Its
    /// contents are unspecified.
    pub fn take(&self, bytes: usize) -> Buffer {
        let class = bytes.div_ceil(BUFFER_ALIGNMENT).next_power_of_two().ilog2() as usize;
        let from_region = (class < CLASSES).then(|| self.shared.take(class)).flatten();
        let mut buffer = match from_region {
            Some(address) => Buffer {
                address,
                bytes: BUFFER_ALIGNMENT << class,
                pool: None,
                class: Some(class),
            },
            None => Buffer::new(bytes),
        };
        let out = buffer.bytes as u64;
        self.shared.bytes_out.fetch_add(out, Relaxed);
        buffer.pool = Some(Arc::clone(&self.shared));
        buffer
    }

    /// Bytes of the buffers in use, those with memory of their own included.
    pub fn bytes_out(&self) -> u64 {
        self.shared.bytes_out.load(Relaxed)
    }

    /// The region from which buffers come: its first byte and its size.
    pub fn region(&self) -> (*const u8, usize) {
        (self.shared.region.base(), self.shared.region.bytes())
    }

    /// Bytes of the region in use, or used once.
    pub fn bytes_used(&self) -> usize {
        self.shared.lists.lock().expect("no holder panics").cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_large_enough_and_reused() {
        let pool = BufferPool::new(2 << 20, false).unwrap();
        let small = pool.take(1);
        let odd = pool.take(5000);
        assert_eq!((small.len(), odd.len()), (4096, 8192));
        let (base, bytes) = pool.region();
        let inside = |buffer: &Buffer| {
            let offset = buffer.address() as usize - base as usize;
            offset.is_multiple_of(BUFFER_ALIGNMENT) && offset + buffer.len() <= bytes
        };
        assert!(inside(&small) && inside(&odd));
        let address = odd.address();
        drop(odd);
        assert_eq!(pool.take(8192).address(), address);
    }

    #[test]
    fn what_the_region_cannot_give_comes_from_elsewhere() {
        let pool = BufferPool::new(2 << 20, false).unwrap();
        let (base, bytes) = pool.region();
        let all: Vec<Buffer> = (0..4).map(|_| pool.take(1 << 20)).collect();
        let inside = |buffer: &&Buffer| {
            (base as usize..base as usize + bytes).contains(&(buffer.address() as usize))
        };
        assert_eq!(all.iter().filter(inside).count(), 2);
        assert_eq!(pool.bytes_out(), 4 << 20);
        let huge = pool.take(9 << 20);
        assert_eq!(pool.bytes_out(), 13 << 20);
        drop(all);
        assert_eq!(pool.bytes_out(), 9 << 20);
        assert!(
            huge.len() >= 9 << 20 && (huge.address() as usize).is_multiple_of(BUFFER_ALIGNMENT)
        );
    }
}
