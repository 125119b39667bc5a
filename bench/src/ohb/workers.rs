//! Several clients, each a process of its own, that start together.

use super::report::ThroughputRow;
use super::session::Benchmark;
use super::throughput::{Done, Load};
use crate::load::measurement::{LatencyUs, latency_histogram};
use crate::workers::Workers;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::time::Duration;

/// Argument that makes a program be a worker.
pub const WORKER_ARGUMENT: &str = "ohb-worker";

/// What a worker does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The servers, as the client library reads them.
    pub servers: String,
    /// The transport, by its name.
    pub transport: String,
    /// What is done.
    pub benchmark: Benchmark,
    /// Batches under way together.
    pub window: usize,
    /// Operations of a batch.
    pub batch: usize,
    /// Size of each value.
    pub value_bytes: usize,
    /// Size of each key.
    pub key_bytes: usize,
    /// Keys used in turn; none: as many as suit the size.
    pub keys: Option<usize>,
    /// Seconds before anything counts.
    pub warmup_s: f64,
    /// Seconds that count.
    pub seconds: f64,
}

impl Task {
    /// Its load.
    pub fn load(&self) -> Load {
        Load {
            benchmark: self.benchmark,
            window: self.window,
            batch: self.batch,
            warmup: Duration::from_secs_f64(self.warmup_s),
            duration: Duration::from_secs_f64(self.seconds),
        }
    }
}

/// What a worker did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Operations in the time that counted.
    pub operations: u64,
    /// That time, in seconds.
    pub seconds: f64,
    /// Latencies of batches: nanoseconds, and how many took so long.
    pub batch_latencies_ns: Vec<(u64, u64)>,
}

impl From<Done> for Outcome {
    fn from(done: Done) -> Self {
        let recorded = done.batch_latencies_ns.iter_recorded();
        Outcome {
            operations: done.operations,
            seconds: done.elapsed.as_secs_f64(),
            batch_latencies_ns: recorded
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect(),
        }
    }
}

/// Sums up what the workers of one combination did.
pub fn sum(task: &Task, outcomes: &[Outcome]) -> ThroughputRow {
    let mut latencies_ns: Histogram<u64> = latency_histogram();
    for (latency_ns, count) in outcomes.iter().flat_map(|one| &one.batch_latencies_ns) {
        latencies_ns.saturating_record_n(*latency_ns, *count);
    }
    let rate = |one: &Outcome| one.operations as f64 / one.seconds;
    let operations_per_s: f64 = outcomes.iter().map(rate).sum();
    ThroughputRow {
        benchmark: task.benchmark,
        clients: outcomes.len(),
        window: task.window,
        batch: task.batch,
        value_bytes: task.value_bytes,
        operations_per_s,
        value_bytes_per_s: operations_per_s * task.value_bytes as f64,
        batch_latency_us: LatencyUs::of(&latencies_ns),
    }
}

/// Runs one combination on so many workers, which take the cores in turn.
///
/// # Errors
/// If a worker cannot be started or fails; what went wrong stands on standard error.
pub fn run(
    program: &Path,
    task: &Task,
    clients: usize,
    cpus: &[usize],
) -> io::Result<ThroughputRow> {
    let tasks = vec![task; clients];
    let mut workers = Workers::start(program, WORKER_ARGUMENT, &tasks, cpus)?;
    workers.go()?;
    Ok(sum(task, &workers.outcomes()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Task {
        Task {
            servers: "a:1".into(),
            transport: "tcp".into(),
            benchmark: Benchmark::Get,
            window: 2,
            batch: 3,
            value_bytes: 100,
            key_bytes: 16,
            keys: None,
            warmup_s: 0.1,
            seconds: 1.0,
        }
    }

    #[test]
    fn rates_add_up_and_latencies_are_laid_together() {
        let outcome = |operations, seconds, latency_ns| Outcome {
            operations,
            seconds,
            batch_latencies_ns: vec![(latency_ns, 10)],
        };
        let row = sum(
            &task(),
            &[outcome(1000, 1.0, 1_000), outcome(1000, 2.0, 3_000)],
        );
        assert_eq!((row.clients, row.operations_per_s), (2, 1500.0));
        assert_eq!(row.value_bytes_per_s, 150_000.0);
        assert_eq!(row.batch_latency_us.mean.round(), 2.0);
        assert_eq!(row.batch_latency_us.max.round(), 3.0);
    }

    #[test]
    fn what_was_done_survives_the_pipe() {
        let mut batch_latencies_ns = latency_histogram();
        for latency_ns in [5, 5, 900] {
            batch_latencies_ns.saturating_record(latency_ns);
        }
        let outcome = Outcome::from(Done {
            operations: 9,
            elapsed: Duration::from_millis(500),
            batch_latencies_ns,
        });
        assert_eq!(outcome.batch_latencies_ns, [(5, 2), (900, 1)]);
        let line = serde_json::to_string(&outcome).unwrap();
        assert_eq!(serde_json::from_str::<Outcome>(&line).unwrap(), outcome);
        assert_eq!(task().load().duration, Duration::from_secs(1));
    }
}
