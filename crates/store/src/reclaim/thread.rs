//! The store's own thread: keeps memory free ahead of demand and does the regular work.

use super::backing::BackingParts;
use super::sweep::Sweep;
use crate::core::Core;
use crate::schedule::Instant;
use crate::schedule::atomic::{AtomicBool, Ordering::*};
use crate::schedule::thread;
use crate::schedule::thread::JoinHandle;
use crate::tier::PROGRESS_WAIT;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How often the regular work is done.
const TICK: Duration = Duration::from_secs(1);
/// How soon to look again while retired segments wait for readers.
const GRACE_TICK: Duration = Duration::from_millis(1);

/// The thread; stops and is joined when dropped.
pub(crate) struct ReclaimThread {
    core: Arc<Core>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ReclaimThread {
    /// Starts it.
    ///
    /// # Errors
    /// The system's, where it allows no further thread.
    pub fn start(core: Arc<Core>) -> io::Result<ReclaimThread> {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = {
            let (core, stop) = (Arc::clone(&core), Arc::clone(&stop));
            thread::Builder::new()
                .name("farcache-store".into())
                .spawn(move || run(&core, &stop))?
        };
        Ok(ReclaimThread {
            core,
            stop,
            thread: Some(thread),
        })
    }
}

fn run(core: &Core, stop: &AtomicBool) {
    let mut regular = Instant::now();
    let mut sweep: Option<Sweep> = None;
    let mut backing = BackingParts::new();
    while !stop.load(Acquire) {
        sweep = sweep.filter(|sweep| !core.end_sweep(sweep));
        if sweep.is_none() && core.flush.is_sweeping() {
            sweep = Some(core.begin_sweep());
        }
        if sweep.as_mut().is_some_and(|sweep| core.go_on(sweep)) {
            core.free_dead_segments();
        }
        let is_device_busy = core.has_to_reclaim() && !core.refill();
        core.tell_room();
        core.index.populate_ahead();
        let backing_rest = backing.go_on(&core.arena);
        if regular.elapsed() >= TICK {
            regular = Instant::now();
            core.free_dead_segments();
        }
        let needs_segments = core.arena.counts().limbo > 0 && core.is_low();
        let sweep_rest = sweep.as_ref().map(Sweep::rest);
        let is_waiting_for_readers = needs_segments || sweep_rest == Some(None);
        let wait = match () {
            () if is_waiting_for_readers => GRACE_TICK,
            () if is_device_busy => PROGRESS_WAIT,
            () => TICK,
        };
        let rests = [sweep_rest.flatten(), backing_rest];
        let wait = rests.into_iter().flatten().fold(wait, Duration::min);
        core.reclaimer.wait(wait);
    }
}

impl Drop for ReclaimThread {
    fn drop(&mut self) {
        self.stop.store(true, Release);
        self.core.reclaimer.wake();
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the runtime already.
            let _ = thread.join();
        }
    }
}
