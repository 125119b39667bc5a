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

/// Hands the requests that are due to the connections in turn.
struct Sender<'w> {
    schedule: Schedule,
    workload: &'w mut Workload,
    turn: usize,
    left: u64,
}

impl Sender<'_> {
    fn send_due(&mut self, fleet: &mut Fleet, now_ns: u64) -> io::Result<()> {
        let connections = fleet.connections();
        while self.left > 0 && self.schedule.due_ns() <= now_ns {
            let connection = &mut connections[self.turn];
            if connection.outstanding() >= OUTSTANDING_MAX {
                break;
            }
            self.workload.queue_next(connection, self.schedule.due_ns());
            self.schedule.advance();
            self.left -= 1;
            self.turn = (self.turn + 1) % connections.len();
        }
        connections
            .iter_mut()
            .filter(|c| c.has_output())
            .try_for_each(|c| c.send())
    }
}

/// Runs the schedule over the fleet's connections.
///
/// # Errors
/// Those of the connections, and wrong replies.
pub fn run(
    fleet: &mut Fleet,
    workload: &mut Workload,
    schedule: Schedule,
    limits: RunLimits,
) -> io::Result<(Recorder, Summary)> {
    let clock = Stopwatch::start();
    let mut recorder = Recorder::default();
    let mut progress = Progress::new(limits);
    let mut sender = Sender {
        schedule,
        workload,
        turn: 0,
        left: limits.requests_max,
    };
    let end_ns = loop {
        let now_ns = clock.now_ns();
        match progress.turn(now_ns) {
            Turn::On => {}
            Turn::Measure => {
                recorder.clear();
                fleet.start_idle_time();
            }
            Turn::End => break now_ns,
        }
        sender.send_due(fleet, now_ns)?;
        if sender.left == 0 && fleet.outstanding() == 0 {
            break now_ns;
        }
        let wait_ns = sender.schedule.due_ns().saturating_sub(now_ns);
        receive(fleet, &clock, wait_ns, &mut recorder)?;
    };
    let measured_ns = progress.measured_ns(end_ns);
    while fleet.outstanding() > 0 && clock.now_ns() < end_ns.saturating_add(DRAIN_NS_MAX) {
        receive(fleet, &clock, DRAIN_NS_MAX, &mut recorder)?;
    }
    let summary = summarize(&recorder, fleet, measured_ns);
    Ok((recorder, summary))
}

fn receive(
    fleet: &mut Fleet,
    clock: &Stopwatch,
    wait_ns: u64,
    recorder: &mut Recorder,
) -> io::Result<()> {
    fleet.turn(
        clock,
        wait_ns,
        &mut |pending, outcome, latency_ns| recorder.add(pending.operation, outcome, latency_ns),
        &mut |_| {},
    )?;
    Ok(())
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
