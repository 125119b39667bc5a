//! A device in a file or on a raw block device.

use super::Device;
use super::buffer::{BUFFER_ALIGNMENT, Buffer};
use super::content::foreign_content;
use super::lock::{Locked, open_exclusively};
use super::room::{size_of_block_device, size_of_file};
use rustix::fs::{FlockOperation, OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

/// Smallest unit that some devices transfer, in bytes.
const SECTOR_BYTES: usize = 512;
/// A file, or a raw block device, that this process has for itself. The page cache is passed by
/// where the file system allows it.
pub struct FileDevice {
    file: Locked,
    path: PathBuf,
    bytes: u64,
    block_bytes: usize,
    /// What it holds that is not ours.
    foreign: Option<String>,
}

impl FileDevice {
    /// Opens a file or block device. A file is made, and room for it taken, as `bytes` says;
    /// without `bytes` it must exist. A file that is larger stays as large; `bytes` above the size
    /// of a block device is an error.
    ///
    /// # Errors
    /// The system's; `ResourceBusy` where another process uses it, or the system does (a block
    /// device that is mounted, say); `AlreadyExists` where it holds something that is not a
    /// store's; `InvalidInput` for a size that cannot be.
    pub fn open(path: impl AsRef<Path>, bytes: Option<u64>) -> io::Result<FileDevice> {
        FileDevice::open_as(path.as_ref(), bytes, false)
    }

    /// As [`FileDevice::open`], also for what holds something that is not a store's;
    /// [`Device::known_content`] tells what.
    ///
    /// # Errors
    /// As [`FileDevice::open`].
    pub fn open_any(path: impl AsRef<Path>, bytes: Option<u64>) -> io::Result<FileDevice> {
        FileDevice::open_as(path.as_ref(), bytes, true)
    }

    fn open_as(path: &Path, bytes: Option<u64>, may_be_foreign: bool) -> io::Result<FileDevice> {
        let path = path.to_path_buf();
        let file = open_exclusively(&path, bytes.is_some())?;
        let is_block = file.metadata()?.file_type().is_block_device();
        // Before anything is changed.
        let foreign = foreign_content(&file, (&*file).seek(SeekFrom::End(0))?)?;
        if let Some(what) = &foreign
            && !may_be_foreign
        {
            let message = format!("it holds {what}");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        let bytes = match is_block {
            true => size_of_block_device(&file, bytes)?,
            false => size_of_file(&file, bytes)?,
        };
        let block_bytes = bypass_page_cache(&file)?;
        Ok(FileDevice {
            file,
            path,
            bytes: bytes / BUFFER_ALIGNMENT as u64 * BUFFER_ALIGNMENT as u64,
            block_bytes,
            foreign,
        })
    }

    /// Opens a file or block device to be read only; nothing is made, and writes to it fail.
    ///
    /// # Errors
    /// The system's; `ResourceBusy` where a process uses it for a store.
    pub fn open_read_only(path: impl AsRef<Path>) -> io::Result<FileDevice> {
        let path = path.as_ref().to_path_buf();
        let file = File::open(&path)?;
        let kind = file.metadata()?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            let message = "it is neither a file nor a block device";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let mut file = Locked::new(file, FlockOperation::NonBlockingLockShared, &path)?;
        let bytes = file.seek(SeekFrom::End(0))?;
        let block_bytes = bypass_page_cache(&file)?;
        Ok(FileDevice {
            file,
            path,
            bytes: bytes / BUFFER_ALIGNMENT as u64 * BUFFER_ALIGNMENT as u64,
            block_bytes,
            foreign: None,
        })
    }
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

    fn known_content(&self) -> Option<String> {
        self.foreign.clone()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::super::room::STAT_BLOCK_BYTES;
    use super::*;
    use std::os::unix::fs::MetadataExt;

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
        // It holds nothing that a store has written.
        let device = FileDevice::open_any(&path, None).unwrap();
        buffer.fill(0);
        let block = device.block_bytes();
        device.read_at(&mut buffer[..block], 8192).unwrap();
        assert!(buffer[..block].iter().all(|&byte| byte == 7));
    }

    #[test]
    fn a_file_is_free_once_its_device_is_dropped_whoever_still_has_it_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tier");
        let device = FileDevice::open(&path, Some(1 << 20)).unwrap();
        let as_forked = device.file.try_clone().unwrap();
        drop(device);
        FileDevice::open(&path, None).expect("nobody uses it");
        drop(as_forked);
    }

    #[test]
    fn a_file_that_is_only_read_is_not_written_and_not_used_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tier");
        assert!(
            FileDevice::open_read_only(&path).is_err(),
            "nothing is there"
        );
        assert!(FileDevice::open_read_only(folder.path()).is_err());
        let user = FileDevice::open(&path, Some(1 << 20)).unwrap();
        let busy = |opened: io::Result<FileDevice>| opened.err().map(|error| error.kind());
        let refused = Some(io::ErrorKind::ResourceBusy);
        assert_eq!(busy(FileDevice::open_read_only(&path)), refused);
        drop(user);
        let reader = FileDevice::open_read_only(&path).unwrap();
        assert_eq!(reader.bytes(), 1 << 20);
        assert!(FileDevice::open_read_only(&path).is_ok(), "two may read");
        assert_eq!(busy(FileDevice::open(&path, None)), refused);
        let mut buffer = Buffer::new(4096);
        assert!(reader.read_at(&mut buffer, 0).is_ok());
        assert!(reader.write_at(&buffer, 0).is_err());
    }

    /// Marks by which something is known: where they stand (below 0 from the end), and what
    /// libblkid, where it is installed, takes them for although the rest is missing.
    const MARKS: [(&str, i64, &[u8], &str); 9] = [
        ("btrfs", 0x10040, b"_BHRfS_M", "btrfs"),
        ("XFS", 0, b"XFSB\0\0\x10\0", ""),
        ("a physical volume of LVM", 512, b"LABELONE\x01", ""),
        ("swap", 4086, b"SWAPSPACE2", ""),
        ("LUKS", 0, b"LUKS\xba\xbe\0\x01", "crypto_LUKS"),
        ("ZFS", 0x20000, b"\x0c\xb1\xba\0\0\0\0\0", ""),
        ("ext4", 1080, b"\x53\xef", "ext2"),
        (
            "a member of an md RAID",
            -65536,
            b"\xfc\x4e\x2b\xa9",
            "linux_raid_member",
        ),
        ("the second table of GPT", -512, b"EFI PART", ""),
    ];

    #[test]
    fn what_holds_something_else_is_neither_opened_nor_made_larger() {
        const BYTES: u64 = 64 << 20;
        let folder = tempfile::tempdir().unwrap();
        for (number, (name, place, mark, known_as)) in MARKS.iter().enumerate() {
            let path = folder.path().join(number.to_string());
            let file = File::create_new(&path).unwrap();
            file.set_len(BYTES).unwrap();
            let place = u64::try_from(*place).unwrap_or(BYTES.wrapping_add_signed(*place));
            file.write_all_at(mark, place).unwrap();
            for bytes in [None, Some(BYTES), Some(2 * BYTES)] {
                let refused = FileDevice::open(&path, bytes).err().unwrap();
                assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists, "{name}");
            }
            assert_eq!(file.metadata().unwrap().len(), BYTES, "{name}");
            let device = FileDevice::open_any(&path, None).unwrap();
            let known = device.known_content().unwrap();
            let is_named = !crate::device::has_blkid() || known.contains(known_as);
            assert!(is_named, "{name}: {known}");
            let mut there = vec![0; mark.len()];
            let file = File::open(&path).unwrap();
            file.read_exact_at(&mut there, place).unwrap();
            assert_eq!(there, *mark, "{name}");
        }
    }

    #[test]
    fn what_is_blank_or_ours_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mark) in [("blank", &b""[..]), ("ours", b"FARCSSD\0 and more")] {
            let path = folder.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_len(8 << 20).unwrap();
            file.write_all_at(mark, 4096).unwrap();
            let device = FileDevice::open(&path, Some(16 << 20)).unwrap();
            assert_eq!(device.bytes(), 16 << 20);
            assert_eq!(device.known_content(), None);
        }
    }

    #[test]
    fn a_file_that_has_its_room_keeps_its_size_when_it_is_opened_again() {
        const BYTES: u64 = 8 << 20;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tier");
        for _ in 0..2 {
            let device = FileDevice::open(&path, Some(BYTES)).unwrap();
            assert_eq!(device.bytes(), BYTES);
        }
        assert!(std::fs::metadata(&path).unwrap().blocks() * STAT_BLOCK_BYTES >= BYTES);
    }

    #[test]
    fn a_few_bytes_of_text_are_something_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("letters");
        std::fs::write(&path, b"Dear reader").unwrap();
        assert!(FileDevice::open(&path, Some(1 << 20)).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"Dear reader");
        let device = FileDevice::open_any(&path, Some(1 << 20)).unwrap();
        assert_eq!(
            (device.bytes(), device.known_content().is_some()),
            (1 << 20, true)
        );
    }

    #[test]
    fn what_is_neither_a_file_nor_a_block_device_is_refused() {
        assert!(FileDevice::open("/dev/zero", None).is_err());
        assert!(FileDevice::open(tempfile::tempdir().unwrap().path(), None).is_err());
    }
}
