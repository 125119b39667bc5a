//! On which core the calling thread runs.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Pins the calling thread to one core; threads and processes it starts inherit that.
///
/// # Errors
/// If there is no such core.
pub fn pin_to_cpu(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Runs `work` with the thread pinned as asked, and undoes the pinning after it.
///
/// # Errors
/// If there is no such core.
pub fn pinned<T>(cpu: Option<usize>, work: impl FnOnce() -> T) -> io::Result<T> {
    let Some(cpu) = cpu else { return Ok(work()) };
    let before = sched_getaffinity(None)?;
    pin_to_cpu(cpu)?;
    let result = work();
    sched_setaffinity(None, &before)?;
    Ok(result)
}
