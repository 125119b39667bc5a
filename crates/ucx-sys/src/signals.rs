//! Signal handlers that UCX must leave alone.

use libc::{SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGSEGV, c_int, sigaction};
use std::mem::MaybeUninit;
use std::ptr;

/// What UCX puts handlers of its own on when it is loaded: its debugging signal, on which the
/// program may read its configuration anew, and those of crashes, of which Rust's runtime reports
/// overflows of the stack. Source: UCX's `ucs/debug/debug.c` and its settings `DEBUG_SIGNO`,
/// `ERROR_SIGNALS`.
const SIGNALS: [c_int; 5] = [SIGHUP, SIGSEGV, SIGBUS, SIGILL, SIGFPE];

/// The handlers as they were.
pub(crate) struct SignalHandlers {
    actions: [sigaction; SIGNALS.len()],
}

impl SignalHandlers {
    /// Remembers the handlers of now.
    pub fn save() -> SignalHandlers {
        let actions = SIGNALS.map(|signal| {
            let mut action = MaybeUninit::zeroed();
            // SAFETY: the place outlives the call, which fills it: the signals exist. Zeroes, which
            // stay where it fails, are a valid value: the default action.
            unsafe {
                sigaction(signal, ptr::null(), action.as_mut_ptr());
                action.assume_init()
            }
        });
        SignalHandlers { actions }
    }

    /// Puts them back.
    pub fn restore(self) {
        for (signal, action) in SIGNALS.into_iter().zip(&self.actions) {
            // SAFETY: the action was in force before, and so is still sound.
            unsafe { sigaction(signal, action, ptr::null_mut()) };
        }
    }
}
