//! What a server uses, by `/proc`.

use super::ServerProcess;
use std::io;
use std::path::{Path, PathBuf};

impl ServerProcess {
    fn proc_path(&self, file: &str) -> PathBuf {
        Path::new("/proc")
            .join(self.child.id().to_string())
            .join(file)
    }

    /// Resident memory in bytes, explicit huge pages included.
    ///
    /// # Errors
    /// If the process is gone.
    pub fn resident_bytes(&self) -> io::Result<u64> {
        resident_bytes_of(&self.child.id().to_string())
    }

    /// Most resident memory since [`ServerProcess::reset_resident_peak`] or its start, in bytes;
    /// explicit huge pages are left out.
    ///
    /// # Errors
    /// If the process is gone.
    pub fn resident_peak_bytes(&self) -> io::Result<u64> {
        resident_peak_bytes_of(&self.child.id().to_string())
    }

    /// Forgets the peak.
    ///
    /// # Errors
    /// If the process is gone or not ours.
    pub fn reset_resident_peak(&self) -> io::Result<()> {
        /// What resets the peak, by `proc_pid_clear_refs(5)`.
        const RESET: &str = "5";
        std::fs::write(self.proc_path("clear_refs"), RESET)
    }

    /// CPU time of all its threads, in nanoseconds.
    ///
    /// # Errors
    /// If the process is gone.
    pub fn cpu_ns(&self) -> io::Result<u64> {
        let mut sum = 0;
        for task in std::fs::read_dir(self.proc_path("task"))? {
            let schedstat = std::fs::read_to_string(task?.path().join("schedstat"))?;
            sum += first_number(&schedstat);
        }
        Ok(sum)
    }

    /// How often its threads have given up their processor or lost it.
    ///
    /// # Errors
    /// If the process is gone.
    pub fn switches(&self) -> io::Result<u64> {
        let mut sum = 0;
        for task in std::fs::read_dir(self.proc_path("task"))? {
            let status = std::fs::read_to_string(task?.path().join("status"))?;
            // One ends in the other.
            let lines = status
                .lines()
                .filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
            sum += lines.map(|(_, count)| first_number(count)).sum::<u64>();
        }
        Ok(sum)
    }

    /// Open descriptors.
    ///
    /// # Errors
    /// If the process is gone.
    pub fn descriptors(&self) -> io::Result<usize> {
        Ok(std::fs::read_dir(self.proc_path("fd"))?.count())
    }
}

/// Resident memory of a process (a number, or `self`) in bytes, explicit huge pages included.
///
/// # Errors
/// If there is no such process.
pub fn resident_bytes_of(process: &str) -> io::Result<u64> {
    let status = std::fs::read_to_string(Path::new("/proc").join(process).join("status"))?;
    Ok(status_bytes(&status, "VmRSS:") + status_bytes(&status, "HugetlbPages:"))
}

/// Most resident memory that a process (a number, or `self`) has had, in bytes.
///
/// # Errors
/// If there is no such process.
pub fn resident_peak_bytes_of(process: &str) -> io::Result<u64> {
    let status = std::fs::read_to_string(Path::new("/proc").join(process).join("status"))?;
    Ok(status_bytes(&status, "VmHWM:"))
}

fn first_number(text: &str) -> u64 {
    text.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}

/// A line `NAME   N kB` of `/proc/PID/status`, in bytes; 0 if it is not there.
fn status_bytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, first_number) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines_are_read_in_bytes() {
        let status = "Name:\tx\nVmRSS:\t    12 kB\nHugetlbPages:\t       2 kB\n";
        assert_eq!(status_bytes(status, "VmRSS:"), 12 << 10);
        assert_eq!(status_bytes(status, "HugetlbPages:"), 2 << 10);
        assert_eq!(status_bytes(status, "VmSwap:"), 0);
    }
}
