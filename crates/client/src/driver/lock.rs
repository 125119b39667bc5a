//! The driver's lock, which is taken from a thread that polls.

use super::Driver;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// Attempts to take the lock before the processor is given up.
const LOCK_SPINS: u32 = 200;

pub(crate) type Guard<'a> = MutexGuard<'a, Driver>;

/// A driver that one thread at a time has. A thread that polls with it looks whether others want
/// it, and steps aside: nobody sleeps for the lock, so there is no convoy.
pub(super) struct Lock {
    driver: Mutex<Driver>,
    /// Threads that want the lock.
    wanted: AtomicU32,
}

impl Lock {
    pub fn new(driver: Driver) -> Lock {
        Lock {
            driver: Mutex::new(driver),
            wanted: AtomicU32::new(0),
        }
    }

    /// Takes the lock if nobody has it.
    #[inline]
    pub fn try_take(&self) -> Option<Guard<'_>> {
        match self.driver.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(_)) => panic!("a thread panicked inside the client"),
        }
    }

    #[inline]
    pub fn take(&self) -> Guard<'_> {
        self.try_take().unwrap_or_else(|| self.insist())
    }

    /// Takes the lock from a thread that has it.
    #[cold]
    fn insist(&self) -> Guard<'_> {
        self.wanted.fetch_add(1, Ordering::Relaxed);
        let mut spins = 0;
        let guard = loop {
            if let Some(guard) = self.try_take() {
                break guard;
            }
            spins += 1;
            if spins % LOCK_SPINS == 0 {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        };
        self.wanted.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// Whether another thread wants it.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) > 0
    }

    /// Lets another thread have it for a while.
    pub fn step_aside<'a>(&'a self, guard: Guard<'a>) -> Guard<'a> {
        drop(guard);
        std::hint::spin_loop();
        std::thread::yield_now();
        self.take()
    }
}
