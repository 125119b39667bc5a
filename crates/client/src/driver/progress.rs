//! A thread that moves operations for which nobody waits.

use super::Shared;
use super::lock::Guard;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar};
use std::thread::JoinHandle;
use std::time::Duration;

/// Ends when it is dropped.
pub(crate) struct ProgressThread {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressThread {
    pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (its_shared, its_stop) = (Arc::clone(shared), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("farcache-client".into())
            .spawn(move || its_shared.progress(|| its_stop.load(Ordering::Acquire)))?;
        Ok(ProgressThread {
            shared: Arc::clone(shared),
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for ProgressThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.shared.end_progress();
        let is_itself =
            |thread: &JoinHandle<()>| thread.thread().id() == std::thread::current().id();
        // Where a notice drops the last handle, the thread ends when that has returned.
        if let Some(thread) = self.thread.take().filter(|thread| !is_itself(thread)) {
            // Had it panicked, its panic has been reported.
            let _ = thread.join();
        }
    }
}

/// The progress thread's rest while it has nothing to do.
#[derive(Default)]
pub(super) struct Rest {
    is_resting: AtomicBool,
    roused: Condvar,
}

impl Rest {
    /// Has the progress thread wait until it is roused, or for so long.
    pub fn rest<'a>(&self, guard: Guard<'a>, limit: Duration) -> Guard<'a> {
        self.is_resting.store(true, Ordering::Relaxed);
        let rested = self.roused.wait_timeout(guard, limit);
        let guard = rested.expect("no thread panicked inside the client").0;
        self.is_resting.store(false, Ordering::Relaxed);
        guard
    }

    /// Ends its rest, if it has one.
    #[inline]
    pub fn rouse(&self) {
        if self.is_resting.load(Ordering::Relaxed) {
            self.roused.notify_one();
        }
    }

    /// Ends the progress thread's rest for certain: the holder of the lock knows that the thread is
    /// not between its last look and its rest.
    pub fn end(&self, _: &Guard<'_>) {
        self.roused.notify_one();
    }
}
