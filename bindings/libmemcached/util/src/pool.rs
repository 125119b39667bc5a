//! Pools: handles that threads borrow, all copies of one.

use crate::library::{self, tell};
use farcache_libmemcached_abi::{Behavior, Handle, Return};
use std::ffi::c_char;
use std::ptr::null_mut;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a caller that may wait waits.
const WAIT: Duration = Duration::from_secs(5);

/// `memcached_pool_st`.
pub struct Pool {
    /// What the handles are copies of.
    master: *mut Handle,
    owns_master: bool,
    /// Most handles.
    size: usize,
    free: Mutex<Free>,
    returned: Condvar,
}

/// The handles that nobody has borrowed.
struct Free {
    handles: Vec<*mut Handle>,
    /// Handles that there are, borrowed ones included.
    made: usize,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version of the settings that the pool's handles should have.
    fn version(&self) -> i32 {
        // SAFETY: the master lives as long as the pool; its settings change under the pool's lock
        // only.
        unsafe { (*self.master).configure.version }
    }

    /// A further copy; null where there is no memory.
    fn copy(&self) -> *mut Handle {
        // SAFETY: the master is a handle, which nobody changes meanwhile; a copy is this pool's
        // own.
        unsafe {
            let handle = library::memcached_clone(null_mut(), self.master);
            if !handle.is_null() {
                (*handle).configure.version = self.version();
            }
            handle
        }
    }

    /// A handle: a free one, a new one, or one that comes back in time.
    fn fetch(&self, wait: Duration) -> Result<*mut Handle, Return> {
        let deadline = Instant::now() + wait;
        let mut free = self.lock();
        loop {
            if let Some(handle) = free.handles.pop() {
                return Ok(handle);
            }
            if free.made < self.size {
                let handle = self.copy();
                free.made += usize::from(!handle.is_null());
                return Ok(handle);
            }
            if wait.is_zero() {
                return Err(Return::NOTFOUND);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Return::TIMEOUT);
            }
            let woken = self.returned.wait_timeout(free, left);
            free = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes a handle back; one with old settings is replaced.
    fn release(&self, mut handle: *mut Handle) {
        let mut free = self.lock();
        // SAFETY: the borrower has given the handle back.
        if unsafe { (*handle).configure.version } != self.version() {
            let newer = self.copy();
            if !newer.is_null() {
                // SAFETY: as above; it is not used again.
                unsafe { library::memcached_free(handle) };
                handle = newer;
            }
        }
        free.handles.push(handle);
        drop(free);
        self.returned.notify_one();
    }

    fn set_behavior(&self, behavior: Behavior, value: u64) -> Return {
        let free = self.lock();
        // SAFETY: master and free handles are nobody else's while the pool is locked.
        unsafe {
            let outcome = library::memcached_behavior_set(self.master, behavior, value);
            if outcome.is_failure() {
                return outcome;
            }
            (*self.master).configure.version += 1;
            for &handle in &free.handles {
                if library::memcached_behavior_set(handle, behavior, value).is_success() {
                    (*handle).configure.version = self.version();
                }
            }
            outcome
        }
    }
}

/// Makes a pool; null where the numbers make no sense.
///
/// # Safety
/// The master is a handle that lives as long as the pool.
unsafe fn create(master: *mut Handle, initial: u32, max: u32, owns_master: bool) -> *mut Pool {
    if master.is_null() || initial == 0 || max == 0 || initial > max {
        return null_mut();
    }
    let pool = Pool {
        master,
        owns_master,
        size: max as usize,
        free: Mutex::new(Free {
            handles: Vec::new(),
            made: 0,
        }),
        returned: Condvar::new(),
    };
    let handles = (0..initial).map(|_| pool.copy());
    let handles: Vec<_> = handles.take_while(|handle| !handle.is_null()).collect();
    let mut free = pool.lock();
    free.made = handles.len();
    free.handles = handles;
    drop(free);
    Box::into_raw(Box::new(pool))
}

/// # Safety
/// As C's contract says of `memcached_pool_fetch`.
unsafe fn fetch(pool: *mut Pool, wait: Duration, error: *mut Return) -> *mut Handle {
    // SAFETY: as the caller promises.
    unsafe {
        let Some(pool) = pool.as_ref() else {
            return null_mut();
        };
        match pool.fetch(wait) {
            Ok(handle) => {
                tell(error, Return::SUCCESS);
                handle
            }
            Err(why) => {
                tell(error, why);
                null_mut()
            }
        }
    }
}

/// A pool of copies of this handle, which lives longer than the pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcached_pool_create(
    master: *mut Handle,
    initial: u32,
    max: u32,
) -> *mut Pool {
    // SAFETY: C's contract.
    unsafe { create(master, initial, max, false) }
}

/// A pool as the text says; `--POOL-MIN` and `--POOL-MAX` give its sizes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcached_pool(text: *const c_char, length: usize) -> *mut Pool {
    // SAFETY: C's contract; the handle is the pool's own.
    unsafe {
        let master = library::memcached(text, length);
        if master.is_null() {
            return null_mut();
        }
        let sizes = &(*master).configure;
        let pool = create(master, sizes.initial_pool_size, sizes.max_pool_size, true);
        if pool.is_null() {
            library::memcached_free(master);
        }
        pool
    }
}

/// Frees a pool with its free handles; returns the handle that it was made from, unless that was
/// the pool's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcached_pool_destroy(pool: *mut Pool) -> *mut Handle {
    if pool.is_null() {
        return null_mut();
    }
    // SAFETY: C's contract: nobody uses the pool or its handles any more; it came from
    // `Box::into_raw`.
    unsafe {
        let pool = Box::from_raw(pool);
        for &handle in &pool.lock().handles {
            library::memcached_free(handle);
        }
        if pool.owns_master {
            library::memcached_free(pool.master);
            return null_mut();
        }
        pool.master
    }
}

/// Borrows a handle; waits up to five seconds for one if `block` says so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcached_pool_pop(
    pool: *mut Pool,
    block: bool,
    error: *mut Return,
) -> *mut Handle {
    // SAFETY: C's contract.
    unsafe { fetch(pool, if block { WAIT } else { Duration::ZERO }, error) }
}

/// Borrows a handle; waits so long for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcached_pool_fetch(
    pool: *mut Pool,
    wait: *const libc::timespec,
    error: *mut Return,
) -> *mut Handle {
    // SAFETY: C's contract.
    unsafe {
        let wait = wait.as_ref().map_or(Duration::ZERO, |wait| {
            Duration::new(wait.tv_sec.max(0).cast_unsigned(), wait.tv_nsec as u32)
        });
        fetch(pool, wait, error)
    }
}

/// Gives a handle back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcached_pool_release(pool: *mut Pool, handle: *mut Handle) -> Return {
    // SAFETY: C's contract.
    match unsafe { pool.as_ref() } {
        Some(pool) if !handle.is_null() => {
            pool.release(handle);
            Return::SUCCESS
        }
        _ => Return::INVALID_ARGUMENTS,
    }
}

/// As `memcached_pool_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcached_pool_push(pool: *mut Pool, handle: *mut Handle) -> Return {
    // SAFETY: C's contract.
    unsafe { memcached_pool_release(pool, handle) }
}

/// Changes a setting of all handles; borrowed ones get it when they are given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcached_pool_behavior_set(
    pool: *mut Pool,
    behavior: Behavior,
    value: u64,
) -> Return {
    // SAFETY: C's contract.
    match unsafe { pool.as_ref() } {
        Some(pool) => pool.set_behavior(behavior, value),
        None => Return::INVALID_ARGUMENTS,
    }
}

/// What a setting is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcached_pool_behavior_get(
    pool: *mut Pool,
    behavior: Behavior,
    value: *mut u64,
) -> Return {
    // SAFETY: C's contract.
    let Some(pool) = (unsafe { pool.as_ref() }) else {
        return Return::INVALID_ARGUMENTS;
    };
    let _free = pool.lock();
    // SAFETY: the master is nobody else's while the pool is locked.
    unsafe {
        tell(
            value,
            library::memcached_behavior_get(pool.master, behavior),
        )
    };
    Return::SUCCESS
}
