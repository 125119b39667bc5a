//! Hits in memory, without and with reads from the SSD beside them.

use super::reading::{Side, in_memory};
use crate::compare::table::{Table, Wanted};
use crate::load::closed_loop::ClosedLoop;
use crate::load::open_loop::{OpenLoop, Schedule};
use crate::load::run_limits::RunLimits;
use crate::load::runner::Plan;
use std::io;

/// Gets of items in memory a second, and how many of them in each window.
const MEMORY_GETS_PER_S: f64 = 5_000.0;
const MEMORY_GETS: u64 = 1_000;
/// Connections that read from the SSD meanwhile.
const READERS: usize = 8;
/// p99 beside the reads over that without them.
const RATIO_MAX: f64 = 1.3;

/// One window alone and one beside reads, each first in every second turn: a virtual machine stops for milliseconds
/// now and then, which no server can help.
pub fn turn(side: &mut Side<'_>, turn: usize, table: &mut Table) -> io::Result<()> {
    let (alone, beside) = if turn.is_multiple_of(2) {
        let alone = alone(side)?;
        (alone, beside_reads(side)?)
    } else {
        let beside = beside_reads(side)?;
        (alone(side)?, beside)
    };
    let title = format!(
        "memory hits beside SSD reads over alone, p99, {} KB",
        side.subject.kibibytes()
    );
    let wanted = Wanted::AtMost(RATIO_MAX);
    side.subject.add(table, &title, "", wanted, beside / alone);
    Ok(())
}

fn probing(side: &Side<'_>) -> io::Result<OpenLoop> {
    let limits = RunLimits::requests(MEMORY_GETS);
    let schedule = Schedule::even(MEMORY_GETS_PER_S);
    let fleet = side.plan.fleet(1)?;
    Ok(OpenLoop::start(
        fleet,
        in_memory(&side.plan),
        schedule,
        limits,
    ))
}

/// The 99th percentile, in microseconds.
fn alone(side: &Side<'_>) -> io::Result<f64> {
    let mut probing = probing(side)?;
    while probing.turn()? {}
    Ok(probing.finish()?.1.latency_us.p99)
}

/// The same while others read from the SSD.
fn beside_reads(side: &mut Side<'_>) -> io::Result<f64> {
    // The client has one core for both: it does not compare what comes from the SSD here.
    let plan = Plan {
        verify: false,
        ..side.plan.clone()
    };
    let reads = side.cursor.clone().workload(&plan, 0);
    let endless = RunLimits::requests(u64::MAX);
    let mut reading = ClosedLoop::start(plan.fleet(READERS)?, reads, 1, endless)?;
    let mut probing = probing(side)?;
    while probing.turn()? {
        reading.turn()?;
    }
    let read = reading.finish().1.counts.requests + READERS as u64;
    side.cursor.pass(read);
    Ok(probing.finish()?.1.latency_us.p99)
}
