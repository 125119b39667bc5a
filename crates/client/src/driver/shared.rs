//! The lock around a driver, and how threads wait together.
//!
//! A thread that waits for an operation moves the driver itself, so that an answer is handled by
//! the thread that wants it. It holds the lock while it polls, and steps aside as soon as another
//! thread wants it: nobody sleeps for the lock while somebody polls, so there is no convoy.
//!
//! After its polling budget, or at once where other threads want its processor
//! ([`farcache_base::polling`]), a thread sleeps.

use super::lock::{Guard, Lock};
use super::progress::Rest;
use super::sleepers::Sleepers;
use super::spin::Spin;
use super::{Driver, clock, notices, teller};
use crate::connect::Fabric;
use crate::engine::{Engine, Ticket, micros};
use crate::{ClientConfig, Error};
use farcache_base::version::Version;
use farcache_fabric::ucx::InUse;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Turns between two looks at the clock: some 3 us. A look costs as much as four turns, and with
/// fewer between them the first one came just when the answer to a small request did.
const TURNS_PER_LOOK: u32 = 128;

/// Turns between two looks at the clock where sockets are looked at, which takes a system call each
/// time.
const TURNS_PER_LOOK_AT_SOCKETS: u32 = 8;

/// A thread that polls for longer gives way to others that want its processor.
const YIELD_AFTER_US: u64 = 15;

/// Longest rest of the progress thread while nothing is under way. Whoever submits something ends
/// it.
const REST_MAX: Duration = Duration::from_secs(3600);

/// The progress thread's rest while another thread moves everything: that one may end with
/// operations under way.
const NAP: Duration = Duration::from_millis(1);

/// A driver that threads share.
pub(crate) struct Shared {
    pub(super) lock: Lock,
    sleepers: Sleepers,
    spin_us: u64,
    /// Operations are moved by a thread of their own.
    pub(super) has_progress_thread: bool,
    /// Threads that wait for an operation, and move all of them. Counted where there is a progress
    /// thread, which then keeps out of their way.
    waiting: AtomicU32,
    rest: Rest,
}

/// Counts a thread that waits.
struct Waiting<'a>(&'a AtomicU32);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    pub(crate) fn new(
        config: &ClientConfig,
        has_progress_thread: bool,
        fabric: Arc<dyn Fabric>,
    ) -> Result<Self, Error> {
        let driver = Driver::new(config, fabric)?;
        Ok(Shared {
            sleepers: Sleepers::new(&driver),
            lock: Lock::new(driver),
            spin_us: micros(config.spin),
            has_progress_thread,
            waiting: AtomicU32::new(0),
            rest: Rest::default(),
        })
    }

    pub(crate) fn lock(&self) -> Guard<'_> {
        self.lock.take()
    }

    /// Takes the lock to submit something; what has become of the connections in the meantime is
    /// known then, if there was a longer meantime.
    pub(crate) fn lock_to_submit(&self) -> (Guard<'_>, u64) {
        let mut guard = self.lock();
        let now_us = clock::about_now_us();
        if guard.is_stale(now_us) {
            guard.turn_sockets(now_us);
            guard.full_turn(now_us);
        }
        (guard, now_us)
    }

    /// To be called after submitting without waiting: where a thread sleeps that would otherwise
    /// send it, it is sent now.
    pub(crate) fn submitted(&self, mut guard: Guard<'_>, now_us: u64) {
        if !self.has_progress_thread {
            return;
        }
        self.rest.rouse();
        if guard.has_sleeper {
            guard.turn(now_us);
            self.leave(guard);
        }
    }

    /// To be called after submitting without waiting what is to be sent at once unless more is
    /// likely to follow.
    pub(crate) fn submitted_batched(&self, mut guard: Guard<'_>, now_us: u64) {
        if guard.engine.is_worth_sending() {
            guard.turn(now_us);
            self.rest.rouse();
            self.leave(guard);
        } else {
            self.submitted(guard, now_us);
        }
    }

    /// Whether the result is there, after moving everything once. Where the progress thread is just
    /// moving it, that is not waited for.
    pub(crate) fn is_complete(&self, ticket: Ticket) -> bool {
        let mut guard = match self.lock.try_take() {
            Some(guard) => guard,
            None if self.has_progress_thread => return false,
            None => self.lock(),
        };
        if guard.engine.is_complete(ticket) {
            return true;
        }
        let now_us = clock::about_now_us();
        guard.full_turn(now_us);
        self.sleepers.tell(&guard);
        let is_complete = guard.engine.is_complete(ticket);
        self.leave_noticed(guard);
        is_complete
    }

    /// Moves everything once.
    pub(crate) fn poll(&self) -> Guard<'_> {
        let mut guard = self.lock();
        let now_us = clock::about_now_us();
        guard.full_turn(now_us);
        self.sleepers.tell(&guard);
        guard
    }

    /// Lets the lock go after moving something.
    pub(crate) fn leave(&self, mut guard: Guard<'_>) {
        // The thread that sleeps is to call the notices that this thread does not call.
        let is_needed = guard.engine.has_notices();
        if is_needed {
            self.rest.rouse();
        }
        if guard.has_sleeper && (is_needed || !guard.arm(clock::about_now_us())) {
            self.sleepers.ring();
        }
        self.sleepers.tell(&guard);
    }

    /// Lets the lock go after moving something, and calls the notices of what has ended.
    pub(crate) fn leave_noticed(&self, mut guard: Guard<'_>) {
        let notices = notices::take(&mut guard);
        self.leave(guard);
        notices::call(notices);
    }

    /// Sends what waits. What has arrived is looked at now and then only: a wait does that.
    pub(crate) fn flush(&self) {
        self.send(self.lock());
    }

    fn send(&self, mut guard: Guard<'_>) {
        if guard.send_only() {
            return;
        }
        let now_us = clock::about_now_us();
        guard.full_turn(now_us);
        self.leave(guard);
    }

    /// Has a server told, with a request that it is sent anyway or after a while, that a version is
    /// complete.
    pub(crate) fn tell_complete(self: &Arc<Self>, server: usize, version: Version) {
        let needs_teller = self.lock().engine.tell_complete(server, version);
        if needs_teller {
            teller::look_after(self);
        }
    }

    /// Has servers told, with requests that they are sent anyway or after a while, that a key is in
    /// use of which they were not asked.
    pub(crate) fn tell_used(self: &Arc<Self>, servers: impl Iterator<Item = usize>, key: &[u8]) {
        let mut guard = self.lock();
        let mut needs_teller = false;
        for server in servers {
            needs_teller |= guard.engine.tell_used(server, key);
        }
        drop(guard);
        if needs_teller {
            teller::look_after(self);
        }
    }

    /// Has all servers told of the versions that no request has told them of.
    pub(crate) fn tell_rest(&self) {
        let mut guard = self.lock();
        guard.engine.tell_rest();
        self.send(guard);
    }

    /// Has all servers told of the versions that no request has told them of since the last call;
    /// whether it is to be called again.
    pub(super) fn tell_left_over(&self) -> bool {
        // Whoever has it now sends requests, which tell, or waits for a moment only.
        let Some(mut guard) = self.lock.try_take() else {
            return true;
        };
        let is_to_be_called_again = guard.engine.tell_left_over();
        self.send(guard);
        is_to_be_called_again
    }

    /// Moves the driver until `ready` has something.
    pub(crate) fn wait_for<'a, T>(
        &'a self,
        mut guard: Guard<'a>,
        mut ready: impl FnMut(&mut Engine) -> Option<T>,
    ) -> T {
        match ready(&mut guard.engine) {
            Some(result) => {
                self.leave_noticed(guard);
                result
            }
            None => self.wait_from(guard, clock::about_now_us(), ready),
        }
    }

    /// Moves the driver until `ready` has something; the caller knows that it is `now_us`, about.
    pub(crate) fn wait_from<'a, T>(
        &'a self,
        mut guard: Guard<'a>,
        now_us: u64,
        mut ready: impl FnMut(&mut Engine) -> Option<T>,
    ) -> T {
        let _waiting = self.has_progress_thread.then(|| {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            Waiting(&self.waiting)
        });
        let mut spin = Spin::from(now_us);
        loop {
            if let Some(result) = ready(&mut guard.engine) {
                self.leave_noticed(guard);
                return result;
            }
            guard = self.move_on(guard, &mut spin);
        }
    }

    /// Moves the driver until `stop` says so, but for while another thread does or there is nothing
    /// to move. It does not poll: who is in a hurry waits himself, and this thread may share a core
    /// with the one that computes meanwhile.
    pub(crate) fn progress(&self, stop: impl Fn() -> bool) {
        let mut guard = self.lock();
        // Whoever owns the client may end the process without ending this thread.
        while let Some(in_use) = InUse::begin().filter(|_| !stop()) {
            if self.waiting.load(Ordering::Relaxed) > 0 && !guard.engine.has_notices() {
                drop(in_use);
                guard = self.rest.rest(guard, NAP);
                continue;
            }
            let has_moved = guard.full_turn(clock::now_us());
            if has_moved {
                self.sleepers.tell(&guard);
            }
            let ended = notices::take(&mut guard);
            if !ended.is_empty() {
                drop(guard);
                drop(in_use);
                notices::call(ended);
                guard = self.lock();
            } else if self.lock.is_wanted() {
                guard = self.lock.step_aside(guard);
            } else if !has_moved && guard.is_idle() {
                drop(in_use);
                guard = self.rest.rest(guard, REST_MAX);
            } else if !has_moved {
                let sleepers = &self.sleepers;
                guard = sleepers.sleep(&self.lock, guard, clock::now_us(), Some(in_use));
            }
        }
        if let Some(_in_use) = InUse::begin() {
            self.leave(guard);
        }
    }

    /// Moves the driver until something has happened, or it is time to do something else in
    /// between.
    fn move_on<'a>(&'a self, mut guard: Guard<'a>, spin: &mut Spin) -> Guard<'a> {
        let uses_sockets = guard.engine.uses_sockets();
        let turns_per_look = match uses_sockets {
            true => TURNS_PER_LOOK_AT_SOCKETS,
            false => TURNS_PER_LOOK,
        };
        if uses_sockets && !spin.has_begun {
            spin.look(&mut guard.polling);
        }
        loop {
            if guard.turn(spin.now_us) || self.watch_fabric(&mut guard, spin) {
                if spin.has_begun {
                    // It may have come while this thread was without its processor.
                    spin.look(&mut guard.polling);
                }
                spin.since_us = 0;
                spin.end_moment(&mut guard.moments, true);
                self.sleepers.tell(&guard);
                return guard;
            }
            spin.turns += 1;
            let is_time_to_look = spin.turns.is_multiple_of(turns_per_look);
            let is_wanted = self.lock.is_wanted();
            if is_time_to_look || is_wanted || guard.engine.has_notices() {
                return self.pause(guard, spin, is_time_to_look);
            }
            // At first an answer may come within the time that the processor's pause takes.
            if spin.turns > turns_per_look {
                std::hint::spin_loop();
            }
        }
    }

    /// Where nothing but the fabric can bring anything, looks there until it has, or it is time for
    /// something else. A look costs less than a turn, and how soon an answer is seen depends on it.
    fn watch_fabric(&self, guard: &mut Guard<'_>, spin: &mut Spin) -> bool {
        if spin.turns >= TURNS_PER_LOOK || !guard.awaits_fabric_only() {
            return false;
        }
        while !(spin.turns + 1).is_multiple_of(TURNS_PER_LOOK) && !self.lock.is_wanted() {
            if guard.turn_fabric(spin.now_us) {
                return true;
            }
            spin.turns += 1;
        }
        false
    }

    /// Steps aside, looks at the clock, yields or sleeps, as it is time to.
    fn pause<'a>(
        &'a self,
        mut guard: Guard<'a>,
        spin: &mut Spin,
        is_time_to_look: bool,
    ) -> Guard<'a> {
        if notices::may_call(&guard) {
            self.leave_noticed(guard);
            guard = self.lock();
        }
        if self.lock.is_wanted() {
            guard = self.lock.step_aside(guard);
        }
        if !is_time_to_look {
            return guard;
        }
        spin.look(&mut guard.polling);
        if guard.full_turn(spin.now_us) {
            self.sleepers.tell(&guard);
            spin.since_us = 0;
            spin.end_moment(&mut guard.moments, true);
            return guard;
        }
        if spin.since_us == 0 {
            spin.since_us = spin.now_us;
        }
        let spun_us = spin.now_us - spin.since_us;
        let may_poll = guard.polling.may_poll(Duration::from_micros(spin.now_us));
        let limit_us = match may_poll {
            true => self.spin_us,
            false => self.spin_us.min(spin.moment_us(&mut guard.moments)),
        };
        if spun_us >= limit_us {
            spin.end_moment(&mut guard.moments, false);
            guard = self.sleepers.sleep(&self.lock, guard, spin.now_us, None);
            spin.now_us = clock::about_now_us().max(spin.now_us);
            spin.since_us = 0;
            spin.has_begun = false;
            return guard;
        }
        if may_poll && spun_us >= YIELD_AFTER_US {
            drop(guard);
            rustix::thread::sched_yield();
            guard = self.lock();
        }
        guard
    }

    /// Has the progress thread look whether it is to end.
    pub(crate) fn end_progress(&self) {
        self.sleepers.ring();
        // The holder of the lock knows that the thread is not between its last look and its rest.
        self.rest.end(&self.lock());
    }
}
