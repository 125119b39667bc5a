//! What shuttle schedules: one thread runs at a time, and each access to an atomic, each lock and
//! each wait is a point at which another may go on.
//!
//! Memory is sequentially consistent here. What weaker orders allow is the loom models' subject.

use shuttle::sync::atomic::AtomicBool;
use std::ops::{Add, Deref, DerefMut, Sub};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LockResult, TryLockError, TryLockResult};
use std::time::Duration;

/// How far the clock moves where a thread waits with a time limit: less than any limit after which
/// the store gives something up, so that it takes many waits in vain to reach one.
const STEP_MAX: Duration = Duration::from_millis(5);

/// Nanoseconds since the program began, as the waits have it.
static CLOCK_NS: AtomicU64 = AtomicU64::new(1);

/// A point at which another thread may go on.
pub fn switch() {
    AtomicBool::new(false).load(Ordering::SeqCst);
}

/// Somebody waits for this long: time passes, and others may go on.
fn pass_time(time: Duration) {
    CLOCK_NS.fetch_add(time.min(STEP_MAX).as_nanos() as u64, Ordering::Relaxed);
    switch();
}

/// A moment of the clock that only waits move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    pub fn now() -> Instant {
        Instant(Duration::from_nanos(CLOCK_NS.load(Ordering::Relaxed)))
    }

    pub fn elapsed(self) -> Duration {
        Instant::now().duration_since(self)
    }

    pub fn duration_since(self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    pub fn saturating_duration_since(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, time: Duration) -> Instant {
        Instant(self.0 + time)
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, time: Duration) -> Instant {
        Instant(self.0 - time)
    }
}

pub mod thread {
    use super::pass_time;
    pub use shuttle::thread::{Builder, JoinHandle};
    use std::time::Duration;

    pub fn sleep(time: Duration) {
        pass_time(time);
    }
}

/// A lock.
#[derive(Default)]
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

/// What a lock guards, while it is held; it knows its lock, so that it can be taken again.
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    held: shuttle::sync::MutexGuard<'a, T>,
}

impl<T> Mutex<T> {
    pub fn new(value: T) -> Mutex<T> {
        Mutex(shuttle::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let held = self.0.lock().expect("a panic has ended the test");
        Ok(MutexGuard { mutex: self, held })
    }

    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(held) => Ok(MutexGuard { mutex: self, held }),
            Err(_) => Err(TryLockError::WouldBlock),
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.held
    }
}

/// How a wait with a time limit ended.
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

type Waited<'a, T> = LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>;

/// A condition variable. A wait with a time limit is a row of short ones that end for no reason, as
/// real ones may.
#[derive(Default)]
pub struct Condvar(shuttle::sync::Condvar);

impl Condvar {
    pub fn new() -> Condvar {
        Condvar::default()
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    pub fn wait_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        let MutexGuard { mutex, held } = guard;
        let held = self.0.wait_while(held, condition);
        let held = held.expect("a panic has ended the test");
        Ok(MutexGuard { mutex, held })
    }

    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, time: Duration) -> Waited<'a, T> {
        let mutex = guard.mutex;
        drop(guard);
        pass_time(time);
        let guard = mutex.lock().expect("locks are never poisoned");
        Ok((guard, WaitTimeoutResult(time <= STEP_MAX)))
    }

    pub fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        time: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> Waited<'a, T> {
        let began = Instant::now();
        while condition(&mut guard) {
            let rest = time.saturating_sub(began.elapsed());
            if rest.is_zero() {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            let waited = self.wait_timeout(guard, rest);
            guard = waited.expect("locks are never poisoned").0;
        }
        Ok((guard, WaitTimeoutResult(false)))
    }
}

/// Atomics as the standard library's, of the same size and with the same methods; each access is a
/// point at which another thread may go on.
pub mod atomic {
    use super::switch;
    pub use std::sync::atomic::Ordering;
    use std::sync::atomic::Ordering::SeqCst;

    pub fn fence(_order: Ordering) {
        switch();
    }

    macro_rules! atomics {
        ($($name:ident $(<$parameter:ident>)?: $value:ty;)*) => {$(
            #[derive(Debug, Default)]
            #[repr(transparent)]
            pub struct $name $(<$parameter>)? (std::sync::atomic::$name $(<$parameter>)?);

            #[allow(dead_code, reason = "as many methods as some atomic needs")]
            impl $(<$parameter>)? $name $(<$parameter>)? {
                pub const fn new(value: $value) -> Self {
                    Self(std::sync::atomic::$name::new(value))
                }

                /// # Safety
                /// As for the standard library's.
                pub unsafe fn from_ptr<'a>(pointer: *mut $value) -> &'a Self {
                    // SAFETY: the type is transparent, and the caller promises the rest.
                    unsafe { &*pointer.cast() }
                }

                pub fn get_mut(&mut self) -> &mut $value {
                    self.0.get_mut()
                }

                pub fn load(&self, _order: Ordering) -> $value {
                    switch();
                    self.0.load(SeqCst)
                }

                pub fn store(&self, value: $value, _order: Ordering) {
                    switch();
                    self.0.store(value, SeqCst);
                }

                pub fn swap(&self, value: $value, _order: Ordering) -> $value {
                    switch();
                    self.0.swap(value, SeqCst)
                }

                pub fn compare_exchange(
                    &self,
                    current: $value,
                    new: $value,
                    _success: Ordering,
                    _failure: Ordering,
                ) -> Result<$value, $value> {
                    switch();
                    self.0.compare_exchange(current, new, SeqCst, SeqCst)
                }

                pub fn compare_exchange_weak(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    self.compare_exchange(current, new, success, failure)
                }

                pub fn update(
                    &self,
                    _set: Ordering,
                    _fetch: Ordering,
                    next: impl FnMut($value) -> $value,
                ) -> $value {
                    switch();
                    self.0.update(SeqCst, SeqCst, next)
                }
            }
        )*};
    }

    macro_rules! arithmetic {
        ($($name:ident: $value:ty { $($method:ident)* })*) => {$(
            #[allow(dead_code, reason = "as many methods as some atomic needs")]
            impl $name {
                $(pub fn $method(&self, value: $value, _order: Ordering) -> $value {
                    switch();
                    self.0.$method(value, SeqCst)
                })*
            }
        )*};
    }

    atomics! {
        AtomicBool: bool;
        AtomicU8: u8;
        AtomicU32: u32;
        AtomicU64: u64;
        AtomicI64: i64;
        AtomicPtr<T>: *mut T;
    }

    arithmetic! {
        AtomicBool: bool { fetch_or fetch_and }
        AtomicU8: u8 { fetch_add fetch_sub fetch_or fetch_and fetch_max }
        AtomicU32: u32 { fetch_add fetch_sub fetch_or fetch_and fetch_max fetch_min }
        AtomicU64: u64 { fetch_add fetch_sub fetch_or fetch_and fetch_max fetch_min }
        AtomicI64: i64 { fetch_add fetch_sub fetch_max }
    }
}
