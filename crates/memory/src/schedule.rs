//! Threads, locks, atomics and time of the whole store: the standard library's, or, with
//! `--cfg shuttle`, ones whose order [shuttle](https://docs.rs/shuttle) chooses.
//!
//! The lock-free parts take theirs from [`crate::sync`], where loom can take their place.

#[cfg(not(shuttle))]
pub use std::{
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread,
    time::Instant,
};

#[cfg(shuttle)]
mod shuttled;
#[cfg(shuttle)]
pub use shuttled::{Condvar, Instant, Mutex, MutexGuard, atomic, switch, thread};
