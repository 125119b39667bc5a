//! Waking a thread that sleeps in epoll.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// An eventfd: written by any thread, watched by the one to wake.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// Makes one; fails when descriptors are exhausted.
    pub fn new() -> io::Result<Self> {
        Ok(Waker(eventfd(
            0,
            EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC,
        )?))
    }

    /// Wakes the thread, now or as soon as it would sleep.
    pub fn wake(&self) {
        // Fails only if the count is full, in which case the thread is being woken already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Takes note of all wake-ups so far.
    pub fn acknowledge(&self) {
        let mut count = [0; 8];
        // Fails only if there was none.
        let _ = rustix::io::read(&self.0, &mut count);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
