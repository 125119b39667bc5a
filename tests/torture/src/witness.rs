//! A well-behaved client that asks all the while and notes how long it waits.

use farcache_bench::load::measurement::LatencyUs;
use farcache_bench::load::open_loop::Schedule;
use farcache_bench::load::run_limits::RunLimits;
use farcache_bench::load::runner::Plan;
use farcache_harness::target::Target;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Gets a second.
const GETS_PER_S: f64 = 1000.0;
/// Keys that it asks for.
const KEYS: u32 = 1000;
/// Size of its keys, which no other client of the torture uses.
const KEY_BYTES: usize = 40;

/// The client before it starts to ask.
pub struct Witness(Plan);

/// The client while it asks.
pub struct RunningWitness {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<LatencyUs>>,
}

impl Witness {
    /// Stores its keys.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn prepare(target: &Target) -> io::Result<Self> {
        let plan = Plan {
            target: target.clone(),
            keys: KEYS,
            key_bytes: KEY_BYTES,
            spin: false,
            verify: true,
            limits: RunLimits {
                warmup_ns: 0,
                measure_ns: u64::MAX,
                requests_max: u64::MAX,
            },
            ..Plan::default()
        };
        plan.preload()?;
        Ok(Witness(plan))
    }

    /// Begins to ask.
    pub fn start(self) -> RunningWitness {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let stop = Arc::clone(&stop);
            move || self.ask_until(&stop)
        });
        RunningWitness { stop, thread }
    }

    fn ask_until(&self, stop: &AtomicBool) -> io::Result<LatencyUs> {
        let mut probing = self.0.probing(Schedule::even(GETS_PER_S))?;
        while !stop.load(Ordering::Relaxed) {
            probing.turn()?;
        }
        let (recorder, summary) = probing.finish()?;
        match summary.first_error {
            None if recorder.counts().requests > 0 => Ok(summary.latency_us),
            error => Err(io::Error::other(error.unwrap_or("no answer at all".into()))),
        }
    }
}

impl RunningWitness {
    /// Ends its asking; how long it waited for each answer. Keys evicted meanwhile are no fault,
    /// wrong values are.
    ///
    /// # Errors
    /// Those of its connection, and wrong replies.
    ///
    /// # Panics
    /// If its thread did.
    pub fn stop(self) -> io::Result<LatencyUs> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the witness does not panic")
    }
}
