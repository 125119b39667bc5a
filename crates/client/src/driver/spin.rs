//! One thread's polling while it waits: when it looks at the clock, and for how long it may go on.

use super::clock;
use farcache_base::polling::{Backoff, Interference, MOMENT, Moments};
use std::cell::RefCell;
use std::time::Duration;

thread_local! {
    /// Whether others take the processor from this thread.
    static INTERFERENCE: RefCell<Interference> = RefCell::default();
}

/// How long a thread has been polling.
pub(super) struct Spin {
    pub turns: u32,
    /// Since when nothing has happened; 0 where something just has.
    pub since_us: u64,
    pub now_us: u64,
    /// The clock has been looked at; the time before is the application's.
    pub has_begun: bool,
    /// Whether the thread polls for a moment, once it has turned out that polling is barred.
    moment: Option<bool>,
}

impl Spin {
    pub fn from(now_us: u64) -> Self {
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
    pub fn look(&mut self, polling: &mut Backoff) {
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

    /// How long it may poll where polling is barred.
    pub fn moment_us(&mut self, moments: &mut Moments) -> u64 {
        match self.moment.get_or_insert_with(|| moments.begin()) {
            true => MOMENT.as_micros() as u64,
            false => 0,
        }
    }

    /// The wait has ended, with something found or with a sleep.
    pub fn end_moment(&mut self, moments: &mut Moments, has_found: bool) {
        if self.moment.take() == Some(true) {
            moments.ended(has_found);
        }
    }
}
