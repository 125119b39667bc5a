//! A folder for what servers write while they are measured.

use std::io;
use std::path::{Path, PathBuf};

/// A folder of this process, which goes with this.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes one below `place`.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(place: &Path) -> io::Result<Folder> {
        let path = place.join(format!("farcache-workloads-{}", std::process::id()));
        // Left behind by a process that had the same number and was killed.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nobody is there to be told that it stays.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
