//! Sleeping for the ports, and waking the thread that does.

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Readable from the ring to the next answer.
pub(crate) struct Bell {
    descriptor: OwnedFd,
    has_rung: AtomicBool,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Bell {
            descriptor: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            has_rung: AtomicBool::new(false),
        })
    }

    pub(crate) fn ring(&self) {
        if !self.has_rung.swap(true, Ordering::AcqRel) {
            // It only fails when it is readable already.
            let _ = rustix::io::write(&self.descriptor, &1u64.to_ne_bytes());
        }
    }

    /// Takes note of a ring.
    pub(crate) fn answer(&self) {
        if self.has_rung.load(Ordering::Relaxed) && self.has_rung.swap(false, Ordering::AcqRel) {
            let mut count = [0; 8];
            // The ring that follows at once is the next one's.
            let _ = rustix::io::read(&self.descriptor, &mut count);
        }
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Sleeps until something has happened, somebody rings, or for so long.
pub(super) fn sleep(events: &OwnedFd, limit: Duration) {
    let mut found = [const { MaybeUninit::uninit() }; 4];
    let limit = Timespec::try_from(limit).unwrap_or_default();
    // Interrupted or not, the caller looks at everything.
    let _ = epoll::wait(events, &mut found, Some(&limit));
}
