//! A quota of processor time for a process, as a container has one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where control groups are, by the kernel's `cgroup-v2.rst`.
const UNIFIED: &str = "/sys/fs/cgroup";

/// Where the older control groups for processor time are, by the kernel's `sched-bwc.rst`.
const OLDER: &str = "/sys/fs/cgroup/cpu";

/// Length of the time within which the quota is spent: the kernel's default.
const PERIOD: Duration = Duration::from_millis(100);

/// A control group with a quota; it is removed when this is dropped, after its processes have
/// ended.
pub struct Quota {
    folder: PathBuf,
}

impl Quota {
    /// A group that gets so much of one core.
    ///
    /// # Errors
    /// If control groups cannot be made here.
    pub fn new(name: &str, cores: f64) -> io::Result<Quota> {
        let name = format!("farcache-{}-{name}", std::process::id());
        let period_us = PERIOD.as_micros();
        let quota_us = (period_us as f64 * cores) as u64;
        if Path::new(UNIFIED).join("cgroup.subtree_control").exists() {
            // It fails where it is so already and may not be changed; then the limit below tells.
            let _ = fs::write(Path::new(UNIFIED).join("cgroup.subtree_control"), "+cpu");
            let quota = Quota::make(Path::new(UNIFIED).join(name))?;
            fs::write(
                quota.folder.join("cpu.max"),
                format!("{quota_us} {period_us}"),
            )?;
            return Ok(quota);
        }
        let quota = Quota::make(Path::new(OLDER).join(name))?;
        fs::write(quota.folder.join("cpu.cfs_quota_us"), quota_us.to_string())?;
        Ok(quota)
    }

    fn make(folder: PathBuf) -> io::Result<Quota> {
        fs::create_dir(&folder)?;
        Ok(Quota { folder })
    }

    /// Puts a process into the group, with all its threads.
    ///
    /// # Errors
    /// If it is gone, or may not be moved.
    pub fn add(&self, process: u32) -> io::Result<()> {
        fs::write(self.folder.join("cgroup.procs"), process.to_string())
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // One that is in use stays; an empty group costs nothing.
        let _ = fs::remove_dir(&self.folder);
    }
}
