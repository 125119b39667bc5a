//! Threads, locks, atomics and time of the whole store: the standard library's, or, with
//! `--cfg shuttle`, ones whose order [shuttle](https://docs.rs/shuttle) chooses.
//!
//! The lock-free parts take theirs from [`crate::sync`], where loom can take their place.

#[cfg(not(shuttle))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread,
    time::Instant,
};

#[cfg(shuttle)]
mod shuttled;
#[cfg(shuttle)]
pub(crate) use shuttled::{Condvar, Instant, Mutex, MutexGuard, atomic, switch, thread};
