//! Threads that sleep until something has happened: the first one for the ports, all others until
//! that one has taken something in. Before a thread sleeps it arms the ports, as any thread may have
//! emptied them since the sleeper did.

use super::lock::{Guard, Lock};
use super::{Bell, Driver, bell, clock};
use farcache_fabric::ucx::InUse;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar};
use std::time::Duration;

/// The first sleep, and the longest: each in vain is followed by one twice as long. A wake-up may
/// be lost: over shared memory, UCX drops those that its socket has no room for, which is full when
/// some hundred idle clients have not read theirs.
pub(super) const SLEEP_MIN: Duration = Duration::from_millis(1);
const SLEEP_MAX: Duration = Duration::from_millis(100);

/// What they sleep for. Who they are is with the driver, under its lock.
pub(super) struct Sleepers {
    /// Something has been taken in.
    told: Condvar,
    events: Arc<OwnedFd>,
    bell: Arc<Bell>,
}

impl Sleepers {
    pub fn new(driver: &Driver) -> Sleepers {
        Sleepers {
            told: Condvar::new(),
            events: Arc::clone(&driver.events),
            bell: Arc::clone(&driver.bell),
        }
    }

    /// Sleeps until something has happened, or for as long as nothing is due. What the progress
    /// thread has `in_use` it does not keep while it sleeps.
    pub fn sleep<'a>(
        &self,
        lock: &'a Lock,
        mut guard: Guard<'a>,
        now_us: u64,
        in_use: Option<InUse>,
    ) -> Guard<'a> {
        if !guard.arm(now_us) {
            return guard;
        }
        let due_us = guard.engine.deadline_us().saturating_sub(now_us);
        // The clock that is looked at lags behind: a millisecond more makes sure that it is time.
        let due = Duration::from_micros(due_us.saturating_add(1000));
        let limit = guard.sleep_limit.min(due);
        let is_progress_thread = in_use.is_some();
        drop(in_use);
        if guard.has_sleeper {
            guard.followers += 1;
            let waited = self.told.wait_timeout(guard, limit);
            guard = waited.expect("no thread panicked inside the client").0;
            guard.followers -= 1;
            return guard;
        }
        guard.has_sleeper = true;
        drop(guard);
        bell::sleep(&self.events, limit);
        guard = lock.take();
        guard.has_sleeper = false;
        // A caller does not end the process while it waits here.
        let in_use = if is_progress_thread {
            InUse::begin()
        } else {
            None
        };
        if is_progress_thread && in_use.is_none() {
            return guard;
        }
        let now_us = clock::now_us();
        let has_moved = guard.turn_sockets(now_us) | guard.full_turn(now_us);
        guard.sleep_limit = match has_moved {
            true => SLEEP_MIN,
            false => SLEEP_MAX.min(guard.sleep_limit * 2),
        };
        self.tell(&guard);
        guard
    }

    /// Tells the threads that sleep behind the one that sleeps for the ports.
    #[inline]
    pub fn tell(&self, guard: &Guard<'_>) {
        if guard.followers > 0 {
            self.told.notify_all();
        }
    }

    /// Wakes the thread that sleeps for the ports.
    pub fn ring(&self) {
        self.bell.ring();
    }
}
