//! Hits in memory: alone, with reads from the SSD beside them, and with as many hits in memory instead of these.
//!
//! The last of the three tells what the SSD has to do with it: it costs the server's core, and the client's, about as
//! much as the reads do, so what the reads add to it is the tier's own. Server and client have a core each, and the
//! client sends and receives for everybody, so that it holds the probe up, too.

use super::reading::{FOUND_MIN, Side, in_memory};
use crate::compare::table::{Table, Wanted};
use crate::load::closed_loop::ClosedLoop;
use crate::load::fleet::Fleet;
use crate::load::open_loop::{OpenLoop, Schedule};
use crate::load::run_limits::RunLimits;
use crate::load::runner::Plan;
use std::io;

/// Gets of items in memory a second. So many that a server keeps polling for them: one that sleeps between two of them would
/// be faster with company than alone.
const MEMORY_GETS_PER_S: f64 = 20_000.0;
/// Length of a window. A virtual machine stops for milliseconds now and then, which no server can help; of short windows only a
/// few meet that, and the medians leave these out.
const WINDOW: RunLimits = RunLimits {
    warmup_ns: 10_000_000,
    measure_ns: 50_000_000,
    requests_max: u64::MAX,
};
/// Rounds of three windows in a turn.
const ROUNDS: usize = 3;
/// Connections that read meanwhile.
const READERS: usize = 8;
/// p99 beside reads from the SSD over that without them.
const RATIO_MAX: f64 = 1.3;

/// Who is served beside the probe.
#[derive(Clone, Copy)]
enum Company {
    Nobody,
    SsdReads,
    /// As many a second as there were reads from the SSD.
    MemoryHits,
}

/// What the windows of a round have shown.
#[derive(Default)]
struct Round {
    alone_us: f64,
    beside_reads_us: f64,
    beside_hits_us: f64,
}

/// Some rounds. Whoever was first is last in the next one.
pub fn turn(side: &mut Side<'_>, turn: usize, table: &mut Table) -> io::Result<()> {
    const ORDER: [Company; 3] = [Company::SsdReads, Company::MemoryHits, Company::Nobody];
    let (_, mut reads_per_s) = beside_reads(side)?;
    for number in 0..ROUNDS {
        let mut round = Round::default();
        for step in 0..ORDER.len() {
            match ORDER[(turn + number + step) % ORDER.len()] {
                Company::Nobody => round.alone_us = alone(side)?,
                Company::MemoryHits => round.beside_hits_us = beside_hits(side, reads_per_s)?,
                Company::SsdReads => (round.beside_reads_us, reads_per_s) = beside_reads(side)?,
            }
        }
        if reads_per_s > 0.0 {
            note(side, &round, reads_per_s, table);
        }
    }
    Ok(())
}

fn note(side: &Side<'_>, round: &Round, reads_per_s: f64, table: &mut Table) {
    let size = side.subject.kibibytes();
    let (alone, reads, hits) = (round.alone_us, round.beside_reads_us, round.beside_hits_us);
    let mut add = |what: &str, unit, wanted, figure| {
        let title = format!("{what}, {size} KB");
        side.subject.add(table, &title, unit, wanted, figure);
    };
    let title = "memory hits beside SSD reads over alone, p99";
    add(title, "", Wanted::AtMost(RATIO_MAX), reads / alone);
    let title = "  beside as many memory hits over alone, p99";
    add(title, "", Wanted::Nothing, hits / alone);
    let title = "  beside SSD reads over beside memory hits, p99";
    add(title, "", Wanted::Nothing, reads / hits);
    add("  alone, p99", "us", Wanted::Nothing, alone);
    let title = "  SSD reads beside them";
    add(title, "k/s", Wanted::Nothing, reads_per_s / 1e3);
}

fn probing(side: &Side<'_>) -> io::Result<OpenLoop> {
    let schedule = Schedule::even(MEMORY_GETS_PER_S);
    let fleet = side.plan.fleet(1)?;
    Ok(OpenLoop::start(
        fleet,
        in_memory(&side.plan),
        schedule,
        WINDOW,
    ))
}

/// The 99th percentile, in microseconds.
fn alone(side: &Side<'_>) -> io::Result<f64> {
    let mut probing = probing(side)?;
    while probing.turn()? {}
    Ok(probing.finish()?.1.latency_us.p99)
}

/// The connections of the others.
fn company(side: &Side<'_>) -> io::Result<(Plan, Fleet)> {
    // The client has one core for both: it does not compare what the others are sent.
    let plan = Plan {
        verify: false,
        ..side.plan.clone()
    };
    let fleet = plan.fleet(READERS)?;
    Ok((plan, fleet))
}

/// The same while others read from the SSD, and how many a second they read; 0 where most of that was not found.
fn beside_reads(side: &mut Side<'_>) -> io::Result<(f64, f64)> {
    let (plan, fleet) = company(side)?;
    let reads = side.cursor.clone().workload(&plan, 0);
    let endless = RunLimits::requests(u64::MAX);
    let mut reading = ClosedLoop::start(fleet, reads, 1, endless)?;
    let mut probing = probing(side)?;
    while probing.turn()? {
        reading.turn()?;
    }
    let read = reading.finish().1;
    side.cursor.pass(read.counts.requests + READERS as u64);
    let is_found = read.hit_ratio >= FOUND_MIN;
    let per_s = if is_found { read.requests_per_s } else { 0.0 };
    Ok((probing.finish()?.1.latency_us.p99, per_s))
}

/// The same while others get so much from memory.
fn beside_hits(side: &Side<'_>, per_s: f64) -> io::Result<f64> {
    let (plan, fleet) = company(side)?;
    let schedule = Schedule::even(per_s.max(1.0));
    let endless = RunLimits::requests(u64::MAX);
    let mut hitting = OpenLoop::start(fleet, in_memory(&plan), schedule, endless);
    let mut probing = probing(side)?;
    while probing.turn()? {
        hitting.turn()?;
    }
    Ok(probing.finish()?.1.latency_us.p99)
}
