//! The time, as the engine wants it, and what became of it.

use nix::sys::resource::{UsageWho, getrusage};
use rustix::time::{ClockId, clock_gettime};

/// Microseconds since an arbitrary moment; never goes back. It counts like [`now_us`], lags behind
/// by a few milliseconds at most, and costs a tenth as much.
pub(crate) fn about_now_us() -> u64 {
    read_us(ClockId::MonotonicCoarse)
}

/// Microseconds since an arbitrary moment; never goes back.
pub(crate) fn now_us() -> u64 {
    read_us(ClockId::Monotonic)
}

/// How often the kernel has taken the processor from this thread.
pub(crate) fn involuntary_switches() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD);
    // It cannot fail; if it did, nothing would ever seem to interfere.
    usage.map_or(0, |usage| usage.involuntary_context_switches() as u64)
}

fn read_us(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
}
