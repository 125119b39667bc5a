//! A thread that moves operations for which nobody waits.

use super::Shared;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

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
