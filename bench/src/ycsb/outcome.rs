//! What processes have done, and its sum.

use crate::load::measurement::{LatencyUs, latency_histogram};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Latencies of a bucket are told apart by so many parts of a factor of two: within 5 %.
const PARTS_OF_TWO: f64 = 16.0;

/// What one process did in the time that counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// That time, in seconds.
    pub seconds: f64,
    /// Processor time of the process since its clients were connected, in seconds.
    pub cpu_s: f64,
    /// Nanoseconds, and how many operations took so long.
    pub latencies_ns: Vec<(u64, u64)>,
    /// Parts of the time; one where it is not divided.
    pub buckets: Vec<Bucket>,
    /// Reads that showed bytes that nobody has stored, the warm-up's too.
    pub wrong: u64,
    /// Reads that showed a record older than a write that had ended before, the warm-up's too.
    pub stale: u64,
    /// The first error that a request ended with.
    pub first_error: Option<String>,
}

/// What was done in a part of the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// Operations of the workload that have ended as they should.
    pub operations: u64,
    /// Reads, however they ended.
    pub reads: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Reads that ended with an error.
    pub failed_reads: u64,
    /// Writes that ended with an error.
    pub failed_writes: u64,
    /// Logarithms of nanoseconds, and how many operations took so long.
    pub latencies: BTreeMap<u32, u64>,
}

impl Bucket {
    /// An operation took so long.
    pub fn add_latency(&mut self, latency_ns: u64) {
        let step = ((latency_ns as f64).log2() * PARTS_OF_TWO) as u32;
        *self.latencies.entry(step).or_default() += 1;
    }

    /// Adds another process's.
    pub fn add(&mut self, other: &Bucket) {
        self.operations += other.operations;
        self.reads += other.reads;
        self.misses += other.misses;
        self.failed_reads += other.failed_reads;
        self.failed_writes += other.failed_writes;
        for (step, count) in &other.latencies {
            *self.latencies.entry(*step).or_default() += count;
        }
    }

    /// Reads that a database would have had to answer.
    pub fn database_reads(&self) -> u64 {
        self.misses + self.failed_reads
    }

    /// What so large a share of the operations did not exceed, in microseconds, within 5 %.
    pub fn latency_us(&self, quantile: f64) -> Option<f64> {
        let wanted = (self.latencies.values().sum::<u64>() as f64 * quantile).ceil() as u64;
        let mut seen = 0;
        let mut steps = self.latencies.iter();
        let step = steps.find(|(_, count)| {
            seen += **count;
            seen >= wanted
        });
        step.map(|(step, _)| 2.0_f64.powf(f64::from(step + 1) / PARTS_OF_TWO) / 1e3)
    }
}

/// What all processes of a turn did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sum {
    /// Operations a second.
    pub operations_per_s: f64,
    /// Their latencies.
    pub latency_us: LatencyUs,
    /// Parts of the time, of all processes.
    #[serde(skip)]
    pub buckets: Vec<Bucket>,
    /// Reads.
    pub reads: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Requests that ended with an error.
    pub failed: u64,
    /// Reads of bytes that nobody has stored.
    pub wrong: u64,
    /// Reads of records that are too old.
    pub stale: u64,
    /// The first error.
    pub first_error: Option<String>,
}

impl Sum {
    /// Sums up.
    pub fn of(outcomes: &[Outcome]) -> Sum {
        let mut sum = Sum::default();
        let mut latencies_ns: Histogram<u64> = latency_histogram();
        for one in outcomes {
            for (latency_ns, count) in &one.latencies_ns {
                latencies_ns.saturating_record_n(*latency_ns, *count);
            }
            let operations: u64 = one.buckets.iter().map(|bucket| bucket.operations).sum();
            sum.operations_per_s += operations as f64 / one.seconds;
            sum.add_buckets(&one.buckets);
            sum.wrong += one.wrong;
            sum.stale += one.stale;
            sum.first_error = sum.first_error.or_else(|| one.first_error.clone());
        }
        for bucket in &sum.buckets {
            sum.reads += bucket.reads;
            sum.misses += bucket.misses;
            sum.failed += bucket.failed_reads + bucket.failed_writes;
        }
        sum.latency_us = LatencyUs::of(&latencies_ns);
        sum
    }

    fn add_buckets(&mut self, buckets: &[Bucket]) {
        if self.buckets.len() < buckets.len() {
            self.buckets.resize_with(buckets.len(), Bucket::default);
        }
        for (sum, one) in self.buckets.iter_mut().zip(buckets) {
            sum.add(one);
        }
    }

    /// Requests that should not have ended so where all servers are there and have room.
    pub fn faults(&self) -> u64 {
        self.misses + self.failed + self.wrong + self.stale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(operations: u64, misses: u64, latency_ns: u64) -> Bucket {
        let mut bucket = Bucket {
            operations,
            reads: operations,
            misses,
            ..Bucket::default()
        };
        (0..operations).for_each(|_| bucket.add_latency(latency_ns));
        bucket
    }

    #[test]
    fn processes_add_up_part_by_part() {
        let one = Outcome {
            seconds: 2.0,
            latencies_ns: vec![(1000, 20)],
            buckets: vec![bucket(10, 1, 1000), bucket(10, 0, 1000)],
            ..Outcome::default()
        };
        let other = Outcome {
            seconds: 1.0,
            latencies_ns: vec![(9000, 20)],
            buckets: vec![bucket(20, 0, 9000)],
            stale: 3,
            first_error: Some("x".into()),
            ..Outcome::default()
        };
        let sum = Sum::of(&[one, other]);
        assert_eq!(sum.operations_per_s, 30.0);
        assert_eq!(
            (sum.reads, sum.misses, sum.stale, sum.faults()),
            (40, 1, 3, 4)
        );
        assert_eq!(sum.latency_us.mean.round(), 5.0);
        let operations: Vec<u64> = sum.buckets.iter().map(|one| one.operations).collect();
        assert_eq!(operations, [30, 10]);
        assert_eq!(sum.first_error.as_deref(), Some("x"));
    }

    #[test]
    fn a_buckets_percentiles_are_near() {
        let mut sum = bucket(90, 0, 1000);
        sum.add(&bucket(10, 0, 50_000));
        let near = |found: Option<f64>, wanted: f64| {
            let found = found.expect("there are operations");
            (found / wanted - 1.0).abs() < 0.05
        };
        assert!(near(sum.latency_us(0.5), 1.0) && near(sum.latency_us(0.99), 50.0));
        assert_eq!(Bucket::default().latency_us(0.5), None);
    }
}
