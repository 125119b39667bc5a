//! The limit on connections (`-c`), shared by the thread that accepts and the threads that close.

use crate::net::waker::Waker;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Lets the accepting thread know when it may go on.
pub struct Admission {
    /// Wakes the accepting thread.
    pub waker: Waker,
    paused: AtomicBool,
}

impl Admission {
    /// Accepting, not paused.
    ///
    /// # Errors
    /// When descriptors are exhausted.
    pub fn new() -> io::Result<Self> {
        Ok(Admission {
            waker: Waker::new()?,
            paused: AtomicBool::new(false),
        })
    }

    /// The accepting thread pauses, or goes on.
    pub fn set_paused(&self, paused: bool) {
        self.paused.store(paused, SeqCst);
    }

    /// Whether it has paused.
    pub fn is_paused(&self) -> bool {
        self.paused.load(SeqCst)
    }

    /// A connection has been closed.
    pub fn released(&self) {
        if self.is_paused() {
            self.waker.wake();
        }
    }
}
