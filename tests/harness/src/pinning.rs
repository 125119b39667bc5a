//! On which core the calling thread runs.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Pins the calling thread to one core; threads and processes it starts inherit that.
///
/// # Errors
/// If there is no such core.
pub fn pin_to_cpu(cpu: usize) -> io::Result<()> {
    pin_to_any(&[cpu])
}

fn pin_to_any(cpus: &[usize]) -> io::Result<()> {
    if cpus.iter().any(|&cpu| cpu >= CpuSet::MAX_CPU) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    Ok(sched_setaffinity(None, &set)?)
}

/// Runs `work` with the thread pinned as asked, and undoes the pinning after it.
///
/// # Errors
/// If there is no such core.
pub fn pinned<T>(cpu: Option<usize>, work: impl FnOnce() -> T) -> io::Result<T> {
    pinned_to_any(cpu.as_slice(), work)
}

/// Works on any of these cores; where there are none the thread stays where it is.
///
/// # Errors
/// If there is no such core.
pub fn pinned_to_any<T>(cpus: &[usize], work: impl FnOnce() -> T) -> io::Result<T> {
    if cpus.is_empty() {
        return Ok(work());
    }
    let before = sched_getaffinity(None)?;
    pin_to_any(cpus)?;
    let result = work();
    sched_setaffinity(None, &before)?;
    Ok(result)
}
