//! The end of the process, which UCX must not be used beyond.
//!
//! When a program returns from `main`, UCX's own exit handlers give up what all its workers share,
//! while other threads run on: one that ends a worker just then reads freed memory. So before those
//! handlers run, ours waits for the threads that are inside UCX, and lets in no more.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

/// The process is ending; the bits below count who is inside.
const ENDING: u32 = 1 << 31;
/// How long the end of the process waits for those that are inside.
const WAIT_MAX: Duration = Duration::from_secs(2);
/// How often it looks.
const POLL: Duration = Duration::from_micros(200);

/// Who is inside UCX, and whether more may come.
#[derive(Debug)]
struct Door(AtomicU32);

static DOOR: Door = Door::open();
/// The process that closes the door when it ends; a child that was forked off has none of its
/// threads.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Keeps UCX in use: the process does not end it as long as this exists, for two seconds at most.
#[derive(Debug)]
#[must_use]
pub struct InUse(&'static Door);

impl InUse {
    /// For a thread that may still run when `main` has returned. None if the process is ending:
    /// then UCX must be left as it is.
    pub fn begin() -> Option<InUse> {
        DOOR.enter()
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Door {
    const fn open() -> Door {
        Door(AtomicU32::new(0))
    }

    fn enter(&'static self) -> Option<InUse> {
        let before = self.0.fetch_add(1, SeqCst);
        // Who may not be inside has left when this is dropped.
        let in_use = InUse(self);
        (before & ENDING == 0).then_some(in_use)
    }

    fn leave(&self) {
        self.0.fetch_sub(1, SeqCst);
    }

    fn close(&self) {
        self.0.fetch_or(ENDING, SeqCst);
    }

    fn is_empty(&self) -> bool {
        self.0.load(SeqCst) & !ENDING == 0
    }

    /// Lets in no more, and waits for those that are inside.
    fn close_and_wait(&self, limit: Duration) {
        self.close();
        let mut waited = Duration::ZERO;
        while !self.is_empty() && waited < limit {
            sleep(POLL);
            waited += POLL;
        }
    }
}

/// Has the process close the door when it ends. Called after UCX was loaded, so that it is closed
/// before UCX's exit handlers run. Where the C library has no room for another exit handler, the
/// end of the process finds the door open.
pub(crate) fn watch() {
    PROCESS.store(std::process::id(), SeqCst);
    // SAFETY: the handler touches nothing but two static numbers.
    unsafe { libc::atexit(close_at_exit) };
}

extern "C" fn close_at_exit() {
    if PROCESS.load(SeqCst) == std::process::id() {
        DOOR.close_and_wait(WAIT_MAX);
    }
}

fn sleep(duration: Duration) {
    let time = libc::timespec {
        tv_sec: duration.as_secs() as libc::time_t,
        tv_nsec: duration.subsec_nanos().into(),
    };
    // SAFETY: the time outlives the call, and what is left of it is not asked for.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn nobody_comes_in_once_the_process_ends() {
        static DOOR: Door = Door::open();
        let first = DOOR.enter();
        assert!(first.is_some());
        DOOR.close();
        for _ in 0..3 {
            assert!(DOOR.enter().is_none());
        }
        assert!(!DOOR.is_empty(), "the first one is still there");
        drop(first);
        assert!(DOOR.is_empty() && DOOR.enter().is_none());
    }

    #[test]
    fn the_end_does_not_wait_for_ever() {
        static DOOR: Door = Door::open();
        let _in_use = DOOR.enter();
        let begin = Instant::now();
        DOOR.close_and_wait(Duration::from_millis(20));
        assert!(begin.elapsed() >= Duration::from_millis(20));
    }
}
