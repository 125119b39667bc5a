//! Closed loop: each connection sends a batch, and the next one when the whole batch is answered.

use super::connection::Connection;
use super::fleet::Fleet;
use super::measurement::{Recorder, Stopwatch, Summary};
use super::run_limits::{Progress, RunLimits, Turn};
use super::workload::Workload;
use std::io;

/// Runs with `depth` requests in each batch.
///
/// # Errors
/// Those of the connections, and wrong replies.
pub fn run(
    fleet: &mut Fleet,
    workload: &mut Workload,
    depth: usize,
    limits: RunLimits,
) -> io::Result<(Recorder, Summary)> {
    let clock = Stopwatch::start();
    let mut recorder = Recorder::default();
    let mut progress = Progress::new(limits);
    let mut left = limits.requests_max;
    let mut next = |connection: &mut Connection| {
        if connection.outstanding() == 0 {
            let since_ns = clock.now_ns();
            let batch = left.min(depth as u64);
            left -= batch;
            (0..batch).for_each(|_| workload.queue_next(connection, since_ns));
        }
    };
    for connection in fleet.connections() {
        next(connection);
        connection.send()?;
    }
    let end_ns = loop {
        let now_ns = fleet.turn(
            &clock,
            u64::MAX,
            &mut |pending, outcome, latency_ns| {
                recorder.add(pending.operation, outcome, latency_ns);
            },
            &mut next,
        )?;
        match progress.turn(now_ns) {
            Turn::On => {}
            Turn::Measure => {
                // A run counted in requests has no warm-up and must count its first answers.
                if limits.warmup_ns > 0 {
                    recorder.clear();
                }
                fleet.start_idle_time();
            }
            Turn::End => break now_ns,
        }
        if limits.requests_max != u64::MAX && fleet.outstanding() == 0 {
            break clock.now_ns();
        }
    };
    let summary = summarize(&recorder, fleet, progress.measured_ns(end_ns));
    Ok((recorder, summary))
}

/// The summary of one thread's run.
pub fn summarize(recorder: &Recorder, fleet: &Fleet, measured_ns: u64) -> Summary {
    let measured_ns = measured_ns.max(1) as f64;
    let busy = 1.0 - (fleet.idle_ns() as f64 / measured_ns).min(1.0);
    let mut summary = Summary::new(recorder, measured_ns / 1e9, busy);
    summary.first_error = fleet.first_error();
    summary
}
