//! A device in a file or on a raw block device.

use super::Device;
use super::buffer::{BUFFER_ALIGNMENT, Buffer};
use rustix::fs::{
    FallocateFlags, FlockOperation, OFlags, fallocate, fcntl_getfl, fcntl_setfl, flock,
};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

/// Smallest unit that some devices transfer, in bytes.
const SECTOR_BYTES: usize = 512;

/// A file, or a raw block device, that this process has for itself. The page cache is passed by where the
/// file system allows it.
pub struct FileDevice {
    file: File,
    path: PathBuf,
    bytes: u64,
    block_bytes: usize,
}

impl FileDevice {
    /// Opens a file or block device. A file is made, and room for it taken, as `bytes` says; without `bytes` it
    /// must exist. `bytes` above the size of a block device is an error.
    ///
    /// # Errors
    /// The system's; `ResourceBusy` where another process uses it; `InvalidInput` for a size that cannot be.
    pub fn open(path: impl AsRef<Path>, bytes: Option<u64>) -> io::Result<FileDevice> {
        let path = path.as_ref().to_path_buf();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(bytes.is_some())
            .truncate(false)
            .open(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| busy(&path))?;
        let bytes = if file.metadata()?.file_type().is_block_device() {
            size_of_block_device(&file, bytes)?
        } else {
            size_of_file(&file, bytes)?
        };
        let block_bytes = bypass_page_cache(&file)?;
        Ok(FileDevice {
            file,
            path,
            bytes: bytes / BUFFER_ALIGNMENT as u64 * BUFFER_ALIGNMENT as u64,
            block_bytes,
        })
    }
}

fn busy(path: &Path) -> io::Error {
    let message = format!("{} is in use by another process", path.display());
    io::Error::new(io::ErrorKind::ResourceBusy, message)
}

fn size_of_block_device(mut file: &File, wanted: Option<u64>) -> io::Result<u64> {
    let bytes = file.seek(SeekFrom::End(0))?;
    match wanted {
        Some(wanted) if wanted > bytes => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("the block device has only {bytes} bytes"),
        )),
        wanted => Ok(wanted.unwrap_or(bytes)),
    }
}

/// The size of a file, after room for `wanted` bytes was taken: a full file system shows now, not later.
fn size_of_file(file: &File, wanted: Option<u64>) -> io::Result<u64> {
    let bytes = file.metadata()?.len();
    let Some(wanted) = wanted else {
        return Ok(bytes);
    };
    if wanted < bytes {
        return Ok(wanted);
    }
    match fallocate(file, FallocateFlags::empty(), 0, wanted) {
        Ok(()) => {}
        Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(wanted)?,
        Err(error) => return Err(error.into()),
    }
    Ok(wanted)
}

/// Turns direct I/O on where there is any; returns the unit of transfer.
fn bypass_page_cache(file: &File) -> io::Result<usize> {
    let flags = fcntl_getfl(file)?;
    if fcntl_setfl(file, flags | OFlags::DIRECT).is_err() {
        return Ok(SECTOR_BYTES);
    }
    let mut probe = Buffer::new(BUFFER_ALIGNMENT);
    let reads = |buffer: &mut [u8], offset| file.read_at(buffer, offset).is_ok();
    if reads(&mut probe[..SECTOR_BYTES], SECTOR_BYTES as u64) {
        return Ok(SECTOR_BYTES);
    }
    if !reads(&mut probe, 0) {
        fcntl_setfl(file, flags)?;
        return Ok(SECTOR_BYTES);
    }
    Ok(BUFFER_ALIGNMENT)
}

impl Device for FileDevice {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(buffer, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_made_kept_and_used_by_one_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tier");
        assert!(FileDevice::open(&path, None).is_err(), "nothing is there");
        let device = FileDevice::open(&path, Some(1 << 20)).unwrap();
        assert_eq!(device.bytes(), 1 << 20);
        let mut buffer = Buffer::new(4096);
        buffer.fill(7);
        device.write_at(&buffer, 8192).unwrap();
        device.sync().unwrap();
        let second = FileDevice::open(&path, None);
        assert_eq!(second.err().unwrap().kind(), io::ErrorKind::ResourceBusy);
        drop(device);
        let device = FileDevice::open(&path, None).unwrap();
        buffer.fill(0);
        let block = device.block_bytes();
        device.read_at(&mut buffer[..block], 8192).unwrap();
        assert!(buffer[..block].iter().all(|&byte| byte == 7));
    }
}
