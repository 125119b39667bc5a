//! Slots in a row that somebody found no place for, and how making them went.

use super::{Appended, Log};
use crate::schedule::atomic::{AtomicBool, AtomicU32, Ordering::*};
use crate::schedule::{Instant, Mutex};
use std::time::Duration;

/// How long nothing is moved for a run after that was in vain.
const PAUSE: Duration = Duration::from_secs(1);

/// What those who want slots in a row and the flusher tell each other.
#[derive(Default)]
pub(crate) struct RunsWanted {
    /// Slots in a row that somebody found no place for; 0 where nobody did.
    pub(crate) slots: AtomicU32,
    /// Making room for such a run was in vain.
    pub(crate) is_in_vain: AtomicBool,
    /// Passes for it so far.
    pub(crate) passes: AtomicU32,
    /// When that ended in vain last.
    ended_in_vain: Mutex<Option<Instant>>,
}

impl RunsWanted {
    /// The longest run that is wanted; 0 for none.
    pub fn slots(&self) -> u32 {
        self.slots.load(Acquire)
    }

    /// One was found.
    pub fn note_found(&self) {
        self.end(false);
    }

    pub fn end(&self, is_in_vain: bool) {
        if is_in_vain {
            *self.ended_in_vain.lock().expect("no holder panics") = Some(Instant::now());
        }
        self.is_in_vain.store(is_in_vain, Release);
        self.passes.store(0, Relaxed);
        self.slots.store(0, Release);
    }
}

impl RunsWanted {
    /// Whether making room was in vain just now: moving the same items again would only wear the
    /// device.
    pub fn was_in_vain_of_late(&self) -> bool {
        let ended = self.ended_in_vain.lock().expect("no holder panics");
        ended.is_some_and(|ended| ended.elapsed() < PAUSE)
    }
}

impl Log {
    /// There are not `run` slots in a row to open: will there be?
    pub(crate) fn no_run(&self, run: u32) -> Appended {
        if run < 2 {
            return self.no_slot();
        }
        let was_in_vain = self.runs.is_in_vain.swap(false, AcqRel);
        self.runs.slots.fetch_max(run, AcqRel);
        match self.no_slot() {
            Appended::Busy if was_in_vain => Appended::Full,
            appended => appended,
        }
    }
}
