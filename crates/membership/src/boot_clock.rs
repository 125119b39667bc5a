//! The clock by which a server knows that others may own its keys.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Time since the machine was started, the time for which it slept included: `CLOCK_BOOTTIME`. The
/// clock of [`std::time::Instant`] stands still while a machine is suspended, and would take a
/// server that slept for one that is up to date.
///
/// It costs as much as a look at that clock: no system call.
#[must_use]
#[inline]
pub fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}
