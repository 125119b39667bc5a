//! Closed loop: each connection sends a batch, and the next one when the whole batch is answered.

use super::connection::Connection;
use super::fleet::Fleet;
use super::measurement::{Recorder, Stopwatch, Summary};
use super::run_limits::{Progress, RunLimits, Turn};
use super::workload::Workload;
use std::io;

/// A run goes on for so long without a single answer, in nanoseconds: on a busy machine a short one
/// would be over before its server has had a processor.
const UNANSWERED_NS_MAX: u64 = 5_000_000_000;

/// A closed loop under way.
pub struct ClosedLoop {
    fleet: Fleet,
    workload: Workload,
    depth: usize,
    limits: RunLimits,
    clock: Stopwatch,
    progress: Progress,
    recorder: Recorder,
    left: u64,
    end_ns: Option<u64>,
}

impl ClosedLoop {
    /// Sends the first batch of `depth` requests on each connection.
    ///
    /// # Errors
    /// Those of the connections.
    pub fn start(
        fleet: Fleet,
        workload: Workload,
        depth: usize,
        limits: RunLimits,
    ) -> io::Result<Self> {
        let mut run = ClosedLoop {
            fleet,
            workload,
            depth,
            limits,
            clock: Stopwatch::start(),
            progress: Progress::new(limits),
            recorder: Recorder::default(),
            left: limits.requests_max,
            end_ns: None,
        };
        let clock = run.clock;
        for connection in run.fleet.connections() {
            queue_batch(
                connection,
                &mut run.workload,
                &mut run.left,
                depth,
                clock.now_ns(),
            );
            connection.send()?;
        }
        Ok(run)
    }

    /// Serves what is ready; false when the run is over.
    ///
    /// # Errors
    /// Those of the connections, and wrong replies.
    pub fn turn(&mut self) -> io::Result<bool> {
        let (recorder, workload, left) = (&mut self.recorder, &mut self.workload, &mut self.left);
        let depth = self.depth;
        let now_ns = self.fleet.turn(
            &self.clock,
            u64::MAX,
            &mut |pending, outcome, latency_ns| {
                recorder.add(pending.operation, outcome, latency_ns);
            },
            &mut |connection, now_ns| queue_batch(connection, workload, left, depth, now_ns),
        )?;
        match self.progress.turn(now_ns) {
            Turn::On => {}
            Turn::Measure => self.start_measuring(),
            Turn::End if self.awaits_first_answer(now_ns) => {}
            Turn::End => self.end_ns = Some(now_ns),
        }
        if self.left == 0 && self.fleet.outstanding() == 0 {
            self.end_ns = Some(self.clock.now_ns());
        }
        Ok(self.end_ns.is_none())
    }

    fn awaits_first_answer(&self, now_ns: u64) -> bool {
        self.recorder.counts().requests == 0
            && self.progress.measured_ns(now_ns) < UNANSWERED_NS_MAX
    }

    fn start_measuring(&mut self) {
        // A run without a warm-up counts its first answers too.
        if self.limits.warmup_ns > 0 {
            self.recorder.clear();
        }
        self.fleet.start_idle_time();
    }

    /// What has been measured.
    pub fn finish(self) -> (Recorder, Summary) {
        let end_ns = self.end_ns.unwrap_or_else(|| self.clock.now_ns());
        let measured_ns = self.progress.measured_ns(end_ns);
        let summary = summarize(&self.recorder, &self.fleet, measured_ns);
        (self.recorder, summary)
    }
}

fn queue_batch(
    connection: &mut Connection,
    workload: &mut Workload,
    left: &mut u64,
    depth: usize,
    since_ns: u64,
) {
    if connection.outstanding() > 0 {
        return;
    }
    let batch = (*left).min(depth as u64);
    *left -= batch;
    (0..batch).for_each(|_| workload.queue_next(connection, since_ns));
}

/// Runs to the end with `depth` requests in each batch.
///
/// # Errors
/// Those of the connections, and wrong replies.
pub fn run(
    fleet: Fleet,
    workload: Workload,
    depth: usize,
    limits: RunLimits,
) -> io::Result<(Recorder, Summary)> {
    let mut run = ClosedLoop::start(fleet, workload, depth, limits)?;
    while run.turn()? {}
    Ok(run.finish())
}

/// Runs a closed loop without figures; the connections go on being used.
///
/// # Errors
/// Those of the connections, and wrong replies.
pub fn run_and_keep(
    fleet: Fleet,
    workload: Workload,
    depth: usize,
    limits: RunLimits,
) -> io::Result<Fleet> {
    let mut run = ClosedLoop::start(fleet, workload, depth, limits)?;
    while run.turn()? {}
    Ok(run.fleet)
}

/// The summary of one thread's run.
pub fn summarize(recorder: &Recorder, fleet: &Fleet, measured_ns: u64) -> Summary {
    let measured_ns = measured_ns.max(1) as f64;
    let busy = 1.0 - (fleet.idle_ns() as f64 / measured_ns).min(1.0);
    let mut summary = Summary::new(recorder, measured_ns / 1e9, busy);
    summary.first_error = fleet.first_error();
    summary
}
