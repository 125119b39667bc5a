//! Where the tier's data lies, apart from how it is read and written.

mod blank;
mod blkid;
mod buffer;
mod content;
mod engine;
mod faulty;
mod file;
mod lock;
mod room;
mod threads;
mod uring;

pub(crate) use blank::{EDGE_BYTES, is_blank};
pub use buffer::Buffer;
pub(crate) use buffer::{BUFFER_ALIGNMENT, BufferPool};
pub(crate) use content::{DEVICE_MAGIC, DEVICE_MAGIC_PLACES};
pub use engine::Outcome;
pub(crate) use engine::{Devices, Direction, Engine, Memory, Transfer, Uring};
pub use faulty::{Fault, FaultyDevice};
pub use file::FileDevice;

#[cfg(test)]
use blkid::is_there as has_blkid;

use std::io;
use std::os::fd::BorrowedFd;

/// A place for data that survives the process.
///
/// Offsets, lengths and the addresses of buffers are multiples of [`Device::block_bytes`].
pub trait Device: Send + Sync {
    /// A name for messages.
    fn name(&self) -> String;

    /// Size in bytes; it does not change.
    fn bytes(&self) -> u64;

    /// What offsets, lengths and addresses must be multiples of: a power of two of at most 4096.
    fn block_bytes(&self) -> usize;

    /// Fills the buffer.
    ///
    /// # Errors
    /// The device's.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes the whole buffer.
    ///
    /// # Errors
    /// The device's; any part may have been written then.
    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()>;

    /// Returns when everything written before is durable.
    ///
    /// # Errors
    /// The device's.
    fn sync(&self) -> io::Result<()>;

    /// What lies on it, for those who may not overwrite that: a file system, a part of a RAID, a
    /// partition table. None for what is not known, which may be anything.
    fn known_content(&self) -> Option<String> {
        None
    }

    /// The descriptor through which io_uring may reach the same bytes.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
