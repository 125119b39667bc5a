//! How long requests took, by kind of command.

use super::page::Page;
use crate::latency::{Command, Latencies};
use crate::shared::Shared;
use histogram::Histogram;
use std::fmt;
use std::sync::Arc;

/// Smallest and largest bound of a latency bucket: powers of two, in nanoseconds (1 us to 8.6 s).
const BOUND_POWERS: std::ops::RangeInclusive<u32> = 10..=33;

/// Writes those of one kind of command.
pub(super) fn write(page: &mut Page<'_>, shared: &Shared, command: Command) -> fmt::Result {
    let workers = shared.latencies.iter().map(Arc::as_ref);
    let (times, sum_seconds) = Latencies::merged(workers, command);
    let name = format!("{}_latency", command.name());
    let help = format!(
        "Time from a request's arrival at the server to its reply, of {} commands, counted once for each key",
        command.name()
    );
    page.times(&name, &help, sum_seconds, &buckets(&times))
}

/// Counts of times up to each bound, in seconds; the last bound is infinity.
fn buckets(times: &Histogram) -> Vec<(f64, u64)> {
    let bounds_ns = BOUND_POWERS.map(|power| 1_u64 << power);
    let mut buckets: Vec<(f64, u64)> = bounds_ns.map(|bound| (bound as f64 / 1e9, 0)).collect();
    buckets.push((f64::INFINITY, 0));
    for bucket in times.iter().filter(|bucket| bucket.count() > 0) {
        let power = 64 - bucket.end().leading_zeros();
        let index = power.saturating_sub(*BOUND_POWERS.start()) as usize;
        let last = buckets.len() - 1;
        buckets[index.min(last)].1 += bucket.count();
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_falls_into_the_smallest_bucket_that_holds_it() {
        let mut times = Histogram::new(3, 40).expect("valid powers");
        for time_ns in [5, 1000, 1025, 3_000_000_000, 20_000_000_000] {
            times.increment(time_ns).expect("in range");
        }
        let filled: Vec<(f64, u64)> = buckets(&times)
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect();
        let expected = [
            (1.024e-6, 2),
            (2.048e-6, 1),
            (4.294967296, 1),
            (f64::INFINITY, 1),
        ];
        assert_eq!(filled, expected);
    }
}
