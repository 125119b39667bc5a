//! One operation at a time: how long each takes.

use super::items::Items;
use super::report::LatencyRow;
use super::session::{Benchmark, Session};
use crate::load::measurement::{LatencyUs, latency_histogram};
use hdrhistogram::Histogram;
use std::io;
use std::time::{Duration, Instant};

/// How long a measurement goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Operations measured, at most.
    pub iterations: u64,
    /// Operations before them that do not count, at most.
    pub warmup: u64,
    /// Time after which the measurement ends all the same, for large values.
    pub time_max: Duration,
    /// Time after which the warm-up does.
    pub warmup_time_max: Duration,
}

/// Measures a benchmark over items that are stored already.
///
/// # Errors
/// Those of the session.
pub fn measure(
    session: &mut impl Session,
    items: &Items,
    benchmark: Benchmark,
    extent: Extent,
) -> io::Result<LatencyRow> {
    let mut latencies_ns = latency_histogram();
    run(
        session,
        items,
        benchmark,
        extent.warmup,
        extent.warmup_time_max,
        &mut latencies_ns,
    )?;
    latencies_ns.reset();
    let start = Instant::now();
    run(
        session,
        items,
        benchmark,
        extent.iterations,
        extent.time_max,
        &mut latencies_ns,
    )?;
    let operations_per_s = latencies_ns.len() as f64 / start.elapsed().as_secs_f64();
    Ok(LatencyRow {
        benchmark,
        value_bytes: items.value_bytes(),
        keys: items.count(),
        operations: latencies_ns.len(),
        latency_us: LatencyUs::of(&latencies_ns),
        operations_per_s,
        value_bytes_per_s: operations_per_s * items.value_bytes() as f64,
    })
}

fn run(
    session: &mut impl Session,
    items: &Items,
    benchmark: Benchmark,
    operations: u64,
    time_max: Duration,
    latencies_ns: &mut Histogram<u64>,
) -> io::Result<()> {
    let start = Instant::now();
    let mut before = start;
    for number in 0..operations {
        let mut right_length = true;
        let mut see = |value: &[u8]| right_length = value.len() == items.value_bytes();
        items.carry_out(session, number, benchmark.stores(number), &mut see)?;
        if !right_length {
            return Err(io::Error::other("a value of another length than stored"));
        }
        let now = Instant::now();
        latencies_ns.saturating_record((now - before).as_nanos() as u64);
        before = now;
        if now - start >= time_max {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::session::fake::FakeSession;
    use super::*;

    #[test]
    fn warm_up_and_iterations_are_as_asked_for() {
        let items = Items::new(64, 16, Some(10), true);
        let mut session = FakeSession::default();
        items.store(&mut session).unwrap();
        let before = session.finished;
        let extent = Extent {
            iterations: 500,
            warmup: 50,
            time_max: Duration::from_secs(60),
            warmup_time_max: Duration::from_secs(60),
        };
        let row = measure(&mut session, &items, Benchmark::Mix, extent).unwrap();
        assert_eq!((row.operations, session.finished - before), (500, 550));
        assert_eq!((row.keys, row.value_bytes), (10, 64));
        let rate = row.operations_per_s * 64.0;
        assert!((row.value_bytes_per_s - rate).abs() < rate * 1e-9);
        assert!(row.latency_us.p50 <= row.latency_us.p999);
    }

    #[test]
    fn time_ends_a_measurement_after_at_least_one_operation() {
        let items = Items::new(64, 16, Some(10), true);
        let mut session = FakeSession::default();
        items.store(&mut session).unwrap();
        let extent = Extent {
            iterations: u64::MAX,
            warmup: u64::MAX,
            time_max: Duration::ZERO,
            warmup_time_max: Duration::ZERO,
        };
        let row = measure(&mut session, &items, Benchmark::Get, extent).unwrap();
        assert_eq!(row.operations, 1);
    }

    #[test]
    fn a_value_of_another_length_ends_it() {
        let (stored, asked) = (
            Items::new(64, 16, Some(10), true),
            Items::new(65, 16, Some(10), false),
        );
        let mut session = FakeSession::default();
        stored.store(&mut session).unwrap();
        let extent = Extent {
            iterations: 5,
            warmup: 0,
            time_max: Duration::MAX,
            warmup_time_max: Duration::MAX,
        };
        assert!(measure(&mut session, &asked, Benchmark::Get, extent).is_err());
    }
}
