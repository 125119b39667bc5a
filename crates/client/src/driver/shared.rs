//! The lock around a driver, and how threads wait together.
//!
//! A thread that waits for an operation moves the driver itself, so that an answer is handled by
//! the thread that wants it. It holds the lock while it polls, and steps aside as soon as another
//! thread wants it: nobody sleeps for the lock while somebody polls, so there is no convoy.
//!
//! After its polling budget, or at once where other threads want its processor
//! ([`farcache_base::polling`]), a thread sleeps: the first one for the ports, all others until
//! that one has taken something in. Before a thread sleeps it arms the ports, as any thread may
//! have emptied them since the sleeper did.

use super::{Driver, clock};
use crate::connect::Fabric;
use crate::engine::{Engine, Ticket, micros};
use crate::operation::Notice;
use crate::{ClientConfig, Error};
use farcache_base::polling::{Backoff, Interference, MOMENT, Moments};
use rustix::event::{Timespec, epoll};
use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// Turns between two looks at the clock: some 3 us. A look costs as much as four turns, and with
/// fewer between them the first one came just when the answer to a small request did.
const TURNS_PER_LOOK: u32 = 128;

/// The same where sockets are looked at, which takes a system call each time.
const TURNS_PER_LOOK_AT_SOCKETS: u32 = 8;

/// A thread that polls for longer gives way to others that want its processor.
const YIELD_AFTER_US: u64 = 15;

/// The first sleep, and the longest: each in vain is followed by one twice as long. A wake-up may
/// be lost: over shared memory, UCX drops those that its socket has no room for, which is full when
/// some hundred idle clients have not read theirs.
pub(super) const SLEEP_MIN: Duration = Duration::from_millis(1);
const SLEEP_MAX: Duration = Duration::from_millis(100);

/// Longest rest of the progress thread while nothing is under way. Whoever submits something ends
/// it.
const REST_MAX: Duration = Duration::from_secs(3600);

/// The progress thread's rest while another thread moves everything: that one may end with
/// operations under way.
const NAP: Duration = Duration::from_millis(1);

/// Attempts to take the lock before the processor is given up.
const LOCK_SPINS: u32 = 200;

thread_local! {
    /// This thread is inside of a notice. Others wait until that one has returned.
    static IS_NOTIFYING: Cell<bool> = const { Cell::new(false) };

    /// Whether others take the processor from this thread.
    static INTERFERENCE: RefCell<Interference> = RefCell::default();
}

/// A driver that threads share.
pub(crate) struct Shared {
    pub(super) driver: Mutex<Driver>,
    /// Threads that want the lock.
    pub(super) wanted: AtomicU32,
    told: Condvar,
    events: Arc<OwnedFd>,
    bell: Arc<super::Bell>,
    spin_us: u64,
    /// Operations are moved by a thread of their own.
    pub(super) has_progress_thread: bool,
    /// Threads that wait for an operation, and move all of them. Counted where there is a progress
    /// thread, which then keeps out of their way.
    waiting: AtomicU32,
    /// The progress thread has nothing to do.
    is_resting: AtomicBool,
    /// Ends that.
    roused: Condvar,
}

pub(crate) type Guard<'a> = MutexGuard<'a, Driver>;

/// Counts a thread that waits.
struct Waiting<'a>(&'a AtomicU32);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How long a thread has been polling.
struct Spin {
    turns: u32,
    /// Since when nothing has happened; 0 where something just has.
    since_us: u64,
    now_us: u64,
    /// The clock has been looked at; the time before is the application's.
    has_begun: bool,
    /// Whether it polls for a moment, once it has turned out that polling is barred.
    moment: Option<bool>,
}

impl Spin {
    fn from(now_us: u64) -> Self {
        Spin {
            turns: 0,
            since_us: 0,
            now_us,
            has_begun: false,
            moment: None,
        }
    }

    /// Looks at the clock, and has polling barred if this thread was without its processor since the
    /// last look.
    fn look(&mut self, polling: &mut Backoff) {
        self.now_us = clock::now_us();
        let now = Duration::from_micros(self.now_us);
        let loss = INTERFERENCE.with_borrow_mut(|interference| {
            if !std::mem::replace(&mut self.has_begun, true) {
                interference.resume(now);
            }
            interference.look(now, clock::involuntary_switches)
        });
        if let Some(loss) = loss {
            polling.interfered(now, loss);
        }
    }
}

impl Spin {
    /// How long it may poll where polling is barred.
    fn moment_us(&mut self, moments: &mut Moments) -> u64 {
        match self.moment.get_or_insert_with(|| moments.begin()) {
            true => MOMENT.as_micros() as u64,
            false => 0,
        }
    }

    /// The wait has ended, with something found or with a sleep.
    fn end_moment(&mut self, moments: &mut Moments, has_found: bool) {
        if self.moment.take() == Some(true) {
            moments.ended(has_found);
        }
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
            events: Arc::clone(&driver.events),
            bell: Arc::clone(&driver.bell),
            driver: Mutex::new(driver),
            wanted: AtomicU32::new(0),
            told: Condvar::new(),
            spin_us: micros(config.spin),
            has_progress_thread,
            waiting: AtomicU32::new(0),
            is_resting: AtomicBool::new(false),
            roused: Condvar::new(),
        })
    }

    pub(crate) fn lock(&self) -> Guard<'_> {
        match self.driver.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::WouldBlock) => self.insist(),
            Err(TryLockError::Poisoned(_)) => panic!("a thread panicked inside the client"),
        }
    }

    /// Takes the lock from a thread that has it.
    #[cold]
    fn insist(&self) -> Guard<'_> {
        self.wanted.fetch_add(1, Ordering::Relaxed);
        let mut spins = 0;
        let guard = loop {
            match self.driver.try_lock() {
                Ok(guard) => break guard,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Poisoned(_)) => panic!("a thread panicked inside the client"),
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
        self.rouse();
        if guard.has_sleeper {
            guard.turn(now_us);
            self.leave(guard);
        }
    }

    /// The same where what has been submitted is to be sent unless more is likely to follow.
    pub(crate) fn submitted_batched(&self, mut guard: Guard<'_>, now_us: u64) {
        if guard.engine.is_worth_sending() {
            guard.turn(now_us);
            self.rouse();
            self.leave(guard);
        } else {
            self.submitted(guard, now_us);
        }
    }

    /// Ends the progress thread's rest.
    fn rouse(&self) {
        if self.is_resting.load(Ordering::Relaxed) {
            self.roused.notify_one();
        }
    }

    /// Whether the result is there, after moving everything once. Where the progress thread is just
    /// moving it, that is not waited for.
    pub(crate) fn is_complete(&self, ticket: Ticket) -> bool {
        let mut guard = match self.driver.try_lock() {
            Err(TryLockError::WouldBlock) if self.has_progress_thread => return false,
            Ok(guard) => guard,
            Err(_) => self.lock(),
        };
        if guard.engine.is_complete(ticket) {
            return true;
        }
        let now_us = clock::about_now_us();
        guard.full_turn(now_us);
        self.tell(&guard);
        let is_complete = guard.engine.is_complete(ticket);
        self.leave_noticed(guard);
        is_complete
    }

    /// Moves everything once.
    pub(crate) fn poll(&self) -> Guard<'_> {
        let mut guard = self.lock();
        let now_us = clock::about_now_us();
        guard.full_turn(now_us);
        self.tell(&guard);
        guard
    }

    /// Lets the lock go after moving something.
    pub(crate) fn leave(&self, mut guard: Guard<'_>) {
        // The thread that sleeps is to call the notices that this thread does not call.
        let is_needed = guard.engine.has_notices();
        if is_needed {
            self.rouse();
        }
        if guard.has_sleeper && (is_needed || !guard.arm(clock::about_now_us())) {
            self.bell.ring();
        }
        self.tell(&guard);
    }

    /// The same, calling the notices of what has ended.
    pub(crate) fn leave_noticed(&self, mut guard: Guard<'_>) {
        let notices = take_notices(&mut guard);
        self.leave(guard);
        call(notices);
    }

    /// Sends what waits. What has arrived is looked at now and then only: a wait does that.
    pub(crate) fn flush(&self) {
        let mut guard = self.lock();
        if guard.send_only() {
            return;
        }
        let now_us = clock::about_now_us();
        guard.full_turn(now_us);
        self.leave(guard);
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

    /// The same at a time that is known.
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
        while !stop() {
            if self.waiting.load(Ordering::Relaxed) > 0 && !guard.engine.has_notices() {
                guard = self.rest(guard, NAP);
                continue;
            }
            let has_moved = guard.full_turn(clock::now_us());
            if has_moved {
                self.tell(&guard);
            }
            let notices = take_notices(&mut guard);
            if !notices.is_empty() {
                drop(guard);
                call(notices);
                guard = self.lock();
            } else if self.wanted.load(Ordering::Relaxed) > 0 {
                guard = self.step_aside(guard);
            } else if !has_moved && guard.is_idle() {
                guard = self.rest(guard, REST_MAX);
            } else if !has_moved {
                guard = self.sleep(guard, clock::now_us());
            }
        }
        self.leave(guard);
    }

    /// Has the progress thread wait until it is roused, or for so long.
    fn rest<'a>(&'a self, guard: Guard<'a>, limit: Duration) -> Guard<'a> {
        self.is_resting.store(true, Ordering::Relaxed);
        let rested = self.roused.wait_timeout(guard, limit);
        let guard = rested.expect("no thread panicked inside the client").0;
        self.is_resting.store(false, Ordering::Relaxed);
        guard
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
                self.tell(&guard);
                return guard;
            }
            spin.turns += 1;
            let is_time_to_look = spin.turns.is_multiple_of(turns_per_look);
            let is_wanted = self.wanted.load(Ordering::Relaxed) > 0;
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
        while !(spin.turns + 1).is_multiple_of(TURNS_PER_LOOK)
            && self.wanted.load(Ordering::Relaxed) == 0
        {
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
        if guard.engine.has_notices() && !IS_NOTIFYING.get() {
            self.leave_noticed(guard);
            guard = self.lock();
        }
        if self.wanted.load(Ordering::Relaxed) > 0 {
            guard = self.step_aside(guard);
        }
        if !is_time_to_look {
            return guard;
        }
        spin.look(&mut guard.polling);
        if guard.full_turn(spin.now_us) {
            self.tell(&guard);
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
            guard = self.sleep(guard, spin.now_us);
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

    fn step_aside<'a>(&'a self, guard: Guard<'a>) -> Guard<'a> {
        drop(guard);
        std::hint::spin_loop();
        std::thread::yield_now();
        self.lock()
    }

    /// Sleeps until something has happened, or for as long as nothing is due.
    fn sleep<'a>(&'a self, mut guard: Guard<'a>, now_us: u64) -> Guard<'a> {
        if !guard.arm(now_us) {
            return guard;
        }
        let due_us = guard.engine.deadline_us().saturating_sub(now_us);
        // The clock that is looked at lags behind: a millisecond more makes sure that it is time.
        let due = Duration::from_micros(due_us.saturating_add(1000));
        let limit = guard.sleep_limit.min(due);
        if guard.has_sleeper {
            guard.followers += 1;
            let waited = self.told.wait_timeout(guard, limit);
            guard = waited.expect("no thread panicked inside the client").0;
            guard.followers -= 1;
            return guard;
        }
        guard.has_sleeper = true;
        drop(guard);
        self.wait_for_ports(limit);
        guard = self.lock();
        guard.has_sleeper = false;
        let now_us = clock::now_us();
        let has_moved = guard.turn_sockets(now_us) | guard.full_turn(now_us);
        guard.sleep_limit = match has_moved {
            true => SLEEP_MIN,
            false => SLEEP_MAX.min(guard.sleep_limit * 2),
        };
        self.tell(&guard);
        guard
    }

    fn wait_for_ports(&self, limit: Duration) {
        let mut found = [const { MaybeUninit::uninit() }; 4];
        let limit = Timespec::try_from(limit).unwrap_or_default();
        // Interrupted or not, the caller looks at everything.
        let _ = epoll::wait(&*self.events, &mut found, Some(&limit));
    }

    /// Tells the threads that sleep behind the one that sleeps for the ports.
    fn tell(&self, guard: &Guard<'_>) {
        if guard.followers > 0 {
            self.told.notify_all();
        }
    }

    /// Has the progress thread look whether it is to end.
    pub(crate) fn end_progress(&self) {
        self.bell.ring();
        // The holder of the lock knows that the thread is not between its last look and its rest.
        let guard = self.lock();
        self.roused.notify_one();
        drop(guard);
    }
}

/// The notices that this thread is to call.
fn take_notices(guard: &mut Guard<'_>) -> Vec<Notice> {
    match guard.engine.has_notices() && !IS_NOTIFYING.get() {
        true => guard.engine.take_notices(),
        false => Vec::new(),
    }
}

/// Calls notices, one after the other, and not from within each other.
fn call(notices: Vec<Notice>) {
    for notice in notices {
        IS_NOTIFYING.set(true);
        notice.call();
        IS_NOTIFYING.set(false);
    }
}

/// Does something within which this thread calls no notices: they wait for the next call that may.
pub(crate) fn without_notices<T>(act: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_NOTIFYING.set(self.0);
        }
    }
    let _before = Before(IS_NOTIFYING.replace(true));
    act()
}
