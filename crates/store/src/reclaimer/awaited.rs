//! What requests that wait for room, and the reclaiming thread, tell each other.

use crate::schedule::atomic::{AtomicBool, AtomicU32};

/// What waiting requests and the reclaiming thread tell each other.
#[derive(Default)]
pub(crate) struct Awaited {
    /// Most free segments that one of them needs; 0 where none waits.
    pub segments: AtomicU32,
    /// Nothing could be freed the last time.
    pub has_given_up: AtomicBool,
}

/// What a request that waits for room may expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prospect {
    /// There is room; another thread may still be quicker to take it.
    Room,
    /// There will be room when the devices have caught up.
    Later,
    /// Waiting gains nothing.
    None,
}
