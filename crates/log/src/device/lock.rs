//! A file or block device that this process has for itself.

use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens what nobody else uses: a block device also keeps the system from using it, and is refused
/// if that does already.
pub(super) fn open_exclusively(path: &Path, is_made: bool) -> io::Result<Locked> {
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
pub(super) struct Locked(File);

impl Locked {
    pub fn new(file: File, lock: FlockOperation, path: &Path) -> io::Result<Locked> {
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
