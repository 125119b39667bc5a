//! The atomics of the lock-free parts: the real ones, or loom's or shuttle's where a model test
//! runs.

#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    sync::Mutex,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

#[cfg(shuttle)]
pub use crate::schedule::switch as spin_loop;
#[cfg(not(loom))]
pub use crate::schedule::{
    Mutex,
    atomic::{AtomicU32, AtomicU64, Ordering, fence},
};
#[cfg(not(any(loom, shuttle)))]
pub use std::hint::spin_loop;

/// Takes a lock whose holders never panic while they change what it guards.
#[inline]
pub fn lock<T>(mutex: &Mutex<T>) -> impl std::ops::DerefMut<Target = T> + '_ {
    mutex.lock().expect("no holder panics")
}
