//! One connection with a blocking socket: latency as a client sees it that sleeps while it waits.

use super::connection::Connection;
use super::measurement::{Recorder, Stopwatch, Summary};
use super::run_limits::{Progress, RunLimits, Turn};
use super::workload::Workload;
use std::io;

/// Runs with `depth` requests in each batch. The connection's socket must be blocking.
///
/// # Errors
/// Those of the connection, and wrong replies.
pub fn run(
    connection: &mut Connection,
    workload: &mut Workload,
    depth: usize,
    limits: RunLimits,
) -> io::Result<(Recorder, Summary)> {
    let clock = Stopwatch::start();
    let mut recorder = Recorder::default();
    let mut progress = Progress::new(limits);
    let mut left = limits.requests_max;
    let end_ns = loop {
        let now_ns = clock.now_ns();
        match progress.turn(now_ns) {
            Turn::On => {}
            Turn::Measure => recorder.clear(),
            Turn::End => break now_ns,
        }
        let batch = left.min(depth as u64);
        left -= batch;
        if batch == 0 {
            break now_ns;
        }
        (0..batch).for_each(|_| workload.queue_next(connection, now_ns));
        connection.send()?;
        while connection.outstanding() > 0 {
            connection.receive(&clock, &mut |pending, outcome, latency_ns| {
                recorder.add(pending.operation, outcome, latency_ns);
            })?;
        }
    };
    let seconds = progress.measured_ns(end_ns).max(1) as f64 / 1e9;
    let mut summary = Summary::new(&recorder, seconds, 0.0);
    summary.first_error = connection.first_error().map(str::to_owned);
    Ok((recorder, summary))
}
