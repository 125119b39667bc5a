//! Open loop: requests are due at fixed times, whatever the server does, and the latency of each
//! counts from the time at which it was due. A slow server cannot thin out the load that measures
//! it (no coordinated omission).

use super::closed_loop::summarize;
use super::fleet::Fleet;
use super::measurement::{Recorder, Stopwatch, Summary};
use super::run_limits::{Progress, RunLimits, Turn};
use super::workload::Workload;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::io;

/// Requests that one connection may have outstanding; those due beyond wait, and their waiting
/// counts as latency.
const OUTSTANDING_MAX: usize = 4096;

/// How long to wait for the last answers, in nanoseconds.
const DRAIN_NS_MAX: u64 = 10_000_000_000;

/// The times at which requests are due.
#[derive(Clone, Debug)]
pub struct Schedule {
    gap_ns: f64,
    due_ns: f64,
    random: Option<SmallRng>,
}

impl Schedule {
    /// `rate_per_s` requests a second, evenly spaced.
    ///
    /// # Panics
    /// If the rate is not positive.
    pub fn even(rate_per_s: f64) -> Self {
        assert!(rate_per_s > 0.0, "a rate of {rate_per_s} requests a second");
        Schedule {
            gap_ns: 1e9 / rate_per_s,
            due_ns: 0.0,
            random: None,
        }
    }

    /// `rate_per_s` requests a second on average, as a Poisson process.
    ///
    /// # Panics
    /// If the rate is not positive.
    pub fn poisson(rate_per_s: f64, seed: u64) -> Self {
        Schedule {
            random: Some(SmallRng::seed_from_u64(seed)),
            ..Self::even(rate_per_s)
        }
    }

    /// When the next request is due, in nanoseconds from the start.
    pub fn due_ns(&self) -> u64 {
        self.due_ns as u64
    }

    /// Goes on to the request after it.
    pub fn advance(&mut self) {
        self.due_ns += match &mut self.random {
            None => self.gap_ns,
            Some(random) => -self.gap_ns * (1.0 - random.random::<f64>()).ln(),
        };
    }
}

/// An open loop under way.
pub struct OpenLoop {
    fleet: Fleet,
    workload: Workload,
    schedule: Schedule,
    clock: Stopwatch,
    progress: Progress,
    recorder: Recorder,
    left: u64,
    next_connection: usize,
    end_ns: Option<u64>,
}

impl OpenLoop {
    /// Starts the schedule now.
    pub fn start(fleet: Fleet, workload: Workload, schedule: Schedule, limits: RunLimits) -> Self {
        OpenLoop {
            fleet,
            workload,
            schedule,
            clock: Stopwatch::start(),
            progress: Progress::new(limits),
            recorder: Recorder::default(),
            left: limits.requests_max,
            next_connection: 0,
            end_ns: None,
        }
    }

    /// Sends what is due and serves what is ready; false when the run is over.
    ///
    /// # Errors
    /// Those of the connections, and wrong replies.
    pub fn turn(&mut self) -> io::Result<bool> {
        let now_ns = self.clock.now_ns();
        match self.progress.turn(now_ns) {
            Turn::On => {}
            Turn::Measure => {
                self.recorder.clear();
                self.fleet.start_idle_time();
            }
            Turn::End => self.end_ns = Some(now_ns),
        }
        if self.left == 0 && self.fleet.outstanding() == 0 {
            self.end_ns = Some(now_ns);
        }
        if self.end_ns.is_some() {
            return Ok(false);
        }
        self.send_due(now_ns)?;
        self.receive(self.schedule.due_ns().saturating_sub(now_ns))?;
        Ok(true)
    }

    fn send_due(&mut self, now_ns: u64) -> io::Result<()> {
        let connections = self.fleet.connections();
        while self.left > 0 && self.schedule.due_ns() <= now_ns {
            let connection = &mut connections[self.next_connection];
            if connection.outstanding() >= OUTSTANDING_MAX {
                break;
            }
            self.workload.queue_next(connection, self.schedule.due_ns());
            self.schedule.advance();
            self.left -= 1;
            self.next_connection = (self.next_connection + 1) % connections.len();
        }
        connections
            .iter_mut()
            .filter(|c| c.has_output())
            .try_for_each(|c| c.send())
    }

    fn receive(&mut self, wait_ns: u64) -> io::Result<()> {
        let recorder = &mut self.recorder;
        self.fleet.turn(
            &self.clock,
            wait_ns,
            &mut |pending, outcome, latency_ns| {
                recorder.add(pending.operation, outcome, latency_ns);
            },
            &mut |_, _| {},
        )?;
        Ok(())
    }

    /// Waits for the answers still out, and returns what has been measured.
    ///
    /// # Errors
    /// Those of the connections, and wrong replies.
    pub fn finish(mut self) -> io::Result<(Recorder, Summary)> {
        let end_ns = self.end_ns.unwrap_or_else(|| self.clock.now_ns());
        let measured_ns = self.progress.measured_ns(end_ns);
        let busy_ns = measured_ns.saturating_sub(self.fleet.idle_ns());
        let deadline_ns = self.clock.now_ns() + DRAIN_NS_MAX;
        while self.fleet.outstanding() > 0 {
            if self.clock.now_ns() > deadline_ns {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "answers are missing",
                ));
            }
            self.receive(DRAIN_NS_MAX)?;
        }
        let mut summary = summarize(&self.recorder, &self.fleet, measured_ns);
        summary.client_busy = busy_ns as f64 / measured_ns.max(1) as f64;
        Ok((self.recorder, summary))
    }
}

/// Runs the schedule over the fleet's connections, to the end.
///
/// # Errors
/// Those of the connections, and wrong replies.
pub fn run(
    fleet: Fleet,
    workload: Workload,
    schedule: Schedule,
    limits: RunLimits,
) -> io::Result<(Recorder, Summary)> {
    let mut run = OpenLoop::start(fleet, workload, schedule, limits);
    while run.turn()? {}
    run.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_schedule_keeps_its_rate_without_drift() {
        let mut schedule = Schedule::even(3e6);
        (0..3_000_000).for_each(|_| schedule.advance());
        assert!(schedule.due_ns().abs_diff(1_000_000_000) < 1_000);
    }

    #[test]
    fn a_poisson_schedule_has_the_mean_and_the_spread_of_one() {
        let mut schedule = Schedule::poisson(1e6, 7);
        let count = 100_000;
        let mut gaps = Vec::with_capacity(count);
        for _ in 0..count {
            let before = schedule.due_ns;
            schedule.advance();
            gaps.push(schedule.due_ns - before);
        }
        let mean = gaps.iter().sum::<f64>() / count as f64;
        let long = gaps.iter().filter(|&&gap| gap > 1_000.0).count() as f64 / count as f64;
        assert!((mean - 1_000.0).abs() < 15.0, "mean gap {mean} ns");
        assert!(
            (long - (-1.0f64).exp()).abs() < 0.01,
            "share above the mean {long}"
        );
    }
}
