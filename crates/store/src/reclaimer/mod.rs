//! What reclaiming keeps between passes, and what it and those who need room tell each other: state
//! alone, a part of the store's body. The work is done in `reclaim`.

mod ahead;
mod awaited;
pub(crate) mod patience;
pub(crate) mod policy;
pub(crate) mod stock;
mod window;

use crate::schedule::atomic::{AtomicU32, Ordering::Relaxed};
use crate::schedule::{Condvar, Instant, Mutex, MutexGuard};
use crate::segment::{Arena, Open, Queue, Writer};
pub(crate) use ahead::{Ahead, Ready};
pub(crate) use awaited::{Awaited, Prospect};
use patience::Patience;
use policy::MeanSize;
use std::time::Duration;
use window::Window;

/// What the reclaiming thread keeps between passes.
pub(crate) struct State {
    /// Where items that stay go, by the queue they belong to.
    pub probation: Writer,
    pub main: Writer,
    /// Of the items in the segments emptied by use.
    pub mean_size: MeanSize,
    /// What has been copied to a device, and will be emptied next.
    pub ahead: Ahead,
    /// Where segments are looked for that are cheap to empty.
    pub window: Window,
    /// Where the next look for a stretch begins, in windows.
    pub run_window: u32,
    /// Segments emptied since that last gained something. Kept from call to call: with hardly
    /// anything free each call ends after one segment, and demands that never rise would have items
    /// that are in use go round for ever.
    pub in_vain: u32,
    /// With devices that take nothing.
    pub patience: Patience,
}

/// What a writer in need got.
pub(crate) enum Room {
    /// Nothing can be freed.
    None,
    /// There are free segments; another thread may still be quicker to take them.
    Free,
    /// A run of segments.
    Run(Open),
}

/// The reclaimer of a store.
pub(crate) struct Reclaimer {
    state: Mutex<State>,
    wanted: Mutex<bool>,
    /// Segments that can be emptied without writing.
    ready: AtomicU32,
    pub awaited: Awaited,
    /// Until when memory is being written out, while it is.
    write_out_until: Mutex<Option<Instant>>,
    wake: Condvar,
}

impl State {
    /// Seals what the reclaimer itself fills.
    pub fn seal_all(&mut self, arena: &Arena) {
        self.probation.seal_all(arena);
        self.main.seal_all(arena);
    }
}

impl Default for Reclaimer {
    fn default() -> Self {
        let state = State {
            probation: Writer::new(Queue::Probation, 0),
            main: Writer::new(Queue::Main, 0),
            mean_size: MeanSize::default(),
            ahead: Ahead::default(),
            window: Window::default(),
            run_window: 0,
            in_vain: 0,
            patience: Patience::default(),
        };
        Reclaimer {
            state: Mutex::new(state),
            wanted: Mutex::default(),
            ready: AtomicU32::new(0),
            awaited: Awaited::default(),
            write_out_until: Mutex::default(),
            wake: Condvar::new(),
        }
    }
}

impl Reclaimer {
    /// What the thread keeps that reclaims; held by whoever does.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("reclaiming does not panic")
    }

    /// Has the store's thread look for work now.
    pub fn wake(&self) {
        let mut wanted = self.wanted.lock().expect("no holder panics");
        if !std::mem::replace(&mut *wanted, true) {
            self.wake.notify_one();
        }
    }

    /// Segments that can be emptied without writing.
    pub fn ready(&self) -> u32 {
        self.ready.load(Relaxed)
    }

    /// Notes how many segments can be emptied without writing.
    pub fn set_ready(&self, segments: u32) {
        self.ready.store(segments, Relaxed);
    }

    /// Until when memory is being written out; none while it is not.
    pub fn write_out_until(&self) -> Option<Instant> {
        *self.write_out_until.lock().expect("no holder panics")
    }

    /// Memory is being written out until then, or not any longer.
    pub fn set_write_out_until(&self, until: Option<Instant>) {
        *self.write_out_until.lock().expect("no holder panics") = until;
    }

    /// Waits until woken or until the time is up.
    pub fn wait(&self, time: Duration) {
        let wanted = self.wanted.lock().expect("no holder panics");
        let (mut wanted, _) = self
            .wake
            .wait_timeout_while(wanted, time, |wanted| !*wanted)
            .expect("no holder panics");
        *wanted = false;
    }
}
