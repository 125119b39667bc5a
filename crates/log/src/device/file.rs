//! A device in a file or on a raw block device.

use super::Device;
use super::buffer::{BUFFER_ALIGNMENT, Buffer};
use super::content::foreign_content;
use rustix::fs::{
    FallocateFlags, FlockOperation, OFlags, fallocate, fcntl_getfl, fcntl_setfl, flock,
};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Smallest unit that some devices transfer, in bytes.
const SECTOR_BYTES: usize = 512;
/// Unit in which the system counts a file's blocks (stat(2)).
const STAT_BLOCK_BYTES: u64 = 512;
/// Room for a file is taken in pieces of so many bytes where it cannot be had at once.
const ROOM_PIECE_BYTES: u64 = 16 << 20;

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
}

impl FileDevice {
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

/// Opens what nobody else uses: a block device also keeps the system from using it, and is refused
/// if that does already.
fn open_exclusively(path: &Path, is_made: bool) -> io::Result<Locked> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).truncate(false);
    let kind = std::fs::metadata(path).map(|there| there.file_type());
    let is_block = kind.as_ref().is_ok_and(|kind| kind.is_block_device());
    match is_block {
        true => options.custom_flags(OFlags::EXCL.bits() as i32),
        false => options.create(is_made),
    };
    let file = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => return Err(busy_block(path)),
        opened => opened?,
    };
    let kind = file.metadata()?.file_type();
    if kind.is_block_device() != is_block || !(is_block || kind.is_file()) {
        let message = "it is neither a file nor a block device";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Locked::new(file, FlockOperation::NonBlockingLockExclusive, path)
}

/// A file with a lock, which goes with it. Closing alone might not release it: a process that
/// another thread has just forked has the open file, too, until it becomes another program.
struct Locked(File);

impl Locked {
    fn new(file: File, lock: FlockOperation, path: &Path) -> io::Result<Locked> {
        flock(&file, lock).map_err(|_| busy(path))?;
        Ok(Locked(file))
    }
}

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Should it fail, the system releases the lock when the last who has the file closes it.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

fn busy(path: &Path) -> io::Error {
    let message = format!("{} is in use by another process", path.display());
    io::Error::new(io::ErrorKind::ResourceBusy, message)
}

fn busy_block(path: &Path) -> io::Error {
    let message = format!(
        "{} is in use: mounted, a part of a RAID, a volume group or the swap space, or open in another process",
        path.display()
    );
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

/// The size of a file, after room for `wanted` bytes was taken: a full file system shows now, not
/// later.
fn size_of_file(file: &File, wanted: Option<u64>) -> io::Result<u64> {
    let bytes = file.metadata()?.len();
    let Some(wanted) = wanted else {
        return Ok(bytes);
    };
    if wanted < bytes {
        return Ok(bytes);
    }
    let blocks = file.metadata()?.blocks();
    let has_all = bytes == wanted && blocks * STAT_BLOCK_BYTES >= wanted;
    if has_all {
        return Ok(wanted);
    }
    let take = |start, bytes| fallocate(file, FallocateFlags::empty(), start, bytes);
    match take_room(wanted, take) {
        Ok(()) => {}
        Err(Errno::OPNOTSUPP) => file.set_len(wanted)?,
        Err(error) => return Err(error.into()),
    }
    Ok(wanted)
}

/// Takes room for so many bytes, at once or in pieces: XFS wants as much free space as it is asked
/// for, also where the file has a part of it already, because a start was cut off, say.
fn take_room(
    wanted: u64,
    mut take: impl FnMut(u64, u64) -> Result<(), Errno>,
) -> Result<(), Errno> {
    match take(0, wanted) {
        Err(Errno::NOSPC) => (0..wanted)
            .step_by(ROOM_PIECE_BYTES as usize)
            .try_for_each(|start| take(start, ROOM_PIECE_BYTES.min(wanted - start))),
        taken => taken,
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

    /// Free bytes of a file system that wants as many for a request as it names, as XFS does, and
    /// the bytes of a file, in pieces.
    struct Room {
        free: u64,
        taken: Vec<bool>,
    }

    impl Room {
        fn take(&mut self, start: u64, bytes: u64) -> Result<(), Errno> {
            if bytes > self.free {
                return Err(Errno::NOSPC);
            }
            let first = (start / ROOM_PIECE_BYTES) as usize;
            let pieces = bytes.div_ceil(ROOM_PIECE_BYTES) as usize;
            for taken in &mut self.taken[first..first + pieces] {
                self.free -= if *taken { 0 } else { ROOM_PIECE_BYTES };
                *taken = true;
            }
            Ok(())
        }
    }

    #[test]
    fn a_file_that_has_a_part_of_its_room_gets_the_rest() {
        const PIECES: usize = 8;
        let wanted = PIECES as u64 * ROOM_PIECE_BYTES;
        for pieces_free in 0..PIECES {
            let mut taken = vec![true; PIECES];
            taken[..pieces_free / 2].fill(false);
            let free = pieces_free as u64 * ROOM_PIECE_BYTES;
            let mut room = Room { free, taken };
            let outcome = take_room(wanted, |start, bytes| room.take(start, bytes));
            let all = room.taken.iter().all(|&taken| taken);
            assert_eq!((outcome.is_ok(), all), (pieces_free > 0, true));
        }
        let mut room = Room {
            free: wanted - ROOM_PIECE_BYTES,
            taken: vec![false; PIECES],
        };
        let outcome = take_room(wanted, |start, bytes| room.take(start, bytes));
        assert_eq!(outcome, Err(Errno::NOSPC));
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
