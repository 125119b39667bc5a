//! Hits in memory: alone, with reads from the SSD beside them, and with as many hits in memory
//! instead of these.
//!
//! Server and client have a core each. What the probe finds lasts from when the kernel hands the
//! request to the network to when it has the reply, so what the client sends and receives for the
//! others does not count; the last of the three shows that it does not. Many connections that read
//! as fast as they are answered fill the server's core, so how many they are is part of the row;
//! and so is whether the server had other hits to serve before there were any reads.

use super::reading::{FOUND_MIN, Side, in_memory};
use crate::compare::table::{Table, Wanted};
use crate::load::closed_loop::ClosedLoop;
use crate::load::fleet::Fleet;
use crate::load::open_loop::{OpenLoop, Schedule};
use crate::load::probe::Probe;
use crate::load::run_limits::RunLimits;
use crate::load::runner::Plan;
use std::io;

/// Gets of items in memory a second. So many that a server keeps polling for them: one that sleeps
/// between two of them would be faster with company than alone.
const MEMORY_GETS_PER_S: f64 = 20_000.0;
/// Length of a window. A virtual machine stops for milliseconds now and then, which no server can
/// help; of short windows only a few meet that, and the medians leave these out.
const WINDOW: RunLimits = RunLimits {
    warmup_ns: 10_000_000,
    measure_ns: 50_000_000,
    requests_max: u64::MAX,
};
/// Rounds of all windows in a turn.
const ROUNDS: usize = 3;
/// Connections that read meanwhile.
const READERS: [usize; 3] = [1, 8, 32];
/// As many hits in memory are got as by so many of them.
const HITS_AS_OF: usize = 1;
/// Connections that get hits in memory as fast as they are answered, where the server is busy with
/// these; and so many of [`READERS`] read beside them.
const BUSY_WITH: usize = 8;
const READERS_WHILE_BUSY: usize = 1;
/// p99 beside reads from the SSD over that without them.
const RATIO_MAX: f64 = 1.3;

/// Who is served beside the probe.
#[derive(Clone, Copy)]
enum Company {
    Nobody,
    /// The number of readers' place in [`READERS`].
    SsdReads(usize),
    /// As many a second as there were reads from the SSD.
    MemoryHits,
    /// Connections that get hits in memory as fast as they can, alone or with readers.
    Busy {
        with_reads: bool,
    },
}

/// What the windows of a round have shown: the 99th percentiles, and the reads a second.
#[derive(Default)]
struct Round {
    alone_us: f64,
    beside_reads_us: [f64; READERS.len()],
    beside_hits_us: f64,
    busy_us: f64,
    busy_beside_reads_us: f64,
    reads_per_s: [f64; READERS.len()],
    busy_reads_per_s: f64,
}

/// Some rounds. Whoever was first is last in the next one.
pub fn turn(side: &mut Side<'_>, turn: usize, table: &mut Table) -> io::Result<()> {
    const ORDER: [Company; 7] = [
        Company::SsdReads(0),
        Company::MemoryHits,
        Company::SsdReads(2),
        Company::Nobody,
        Company::SsdReads(1),
        Company::Busy { with_reads: true },
        Company::Busy { with_reads: false },
    ];
    let (_, mut as_many_per_s) = beside_reads(side, READERS[HITS_AS_OF])?;
    for number in 0..ROUNDS {
        let mut round = Round::default();
        for step in 0..ORDER.len() {
            match ORDER[(turn + number + step) % ORDER.len()] {
                Company::Nobody => round.alone_us = alone(side)?,
                Company::MemoryHits => round.beside_hits_us = beside_hits(side, as_many_per_s)?,
                Company::SsdReads(level) => {
                    let (p99_us, per_s) = beside_reads(side, READERS[level])?;
                    (round.beside_reads_us[level], round.reads_per_s[level]) = (p99_us, per_s);
                }
                Company::Busy { with_reads: false } => round.busy_us = busy(side, 0)?.0,
                Company::Busy { with_reads: true } => {
                    let (p99_us, per_s) = busy(side, READERS[READERS_WHILE_BUSY])?;
                    (round.busy_beside_reads_us, round.busy_reads_per_s) = (p99_us, per_s);
                }
            }
        }
        as_many_per_s = round.reads_per_s[HITS_AS_OF];
        if round.busy_reads_per_s > 0.0 && round.reads_per_s.iter().all(|&per_s| per_s > 0.0) {
            note(side, &round, table);
        }
    }
    Ok(())
}

fn note(side: &Side<'_>, round: &Round, table: &mut Table) {
    let size = side.subject.kibibytes();
    let alone = round.alone_us;
    let mut add = |what: &str, unit, wanted, figure| {
        let title = format!("{what}, {size} KB");
        side.subject.add(table, &title, unit, wanted, figure);
    };
    for (level, readers) in READERS.iter().enumerate() {
        let title = format!("memory hits beside {readers} reading the SSD over alone, p99");
        let ratio = round.beside_reads_us[level] / alone;
        add(&title, "", Wanted::AtMost(RATIO_MAX), ratio);
        let title = format!("  SSD reads of {readers} beside them");
        let thousands = round.reads_per_s[level] / 1e3;
        add(&title, "k/s", Wanted::Nothing, thousands);
    }
    let readers = READERS[HITS_AS_OF];
    let title = format!("  beside as many memory hits as of {readers} over alone, p99");
    add(&title, "", Wanted::Nothing, round.beside_hits_us / alone);
    add("  alone, p99", "us", Wanted::Nothing, alone);
    let (readers, hitting) = (READERS[READERS_WHILE_BUSY], BUSY_WITH);
    let title = format!(
        "beside {readers} reading the SSD and {hitting} hitting, over beside the {hitting}, p99"
    );
    let ratio = round.busy_beside_reads_us / round.busy_us;
    add(&title, "", Wanted::AtMost(RATIO_MAX), ratio);
    let title = format!("  SSD reads of {readers} beside {hitting} hitting");
    let thousands = round.busy_reads_per_s / 1e3;
    add(&title, "k/s", Wanted::Nothing, thousands);
    let title = format!("  beside {hitting} hitting, p99");
    add(&title, "us", Wanted::Nothing, round.busy_us);
}

fn probing(side: &Side<'_>) -> io::Result<Probe> {
    let schedule = Schedule::even(MEMORY_GETS_PER_S);
    Probe::start(&side.plan, in_memory(&side.plan), schedule, WINDOW)
}

/// The 99th percentile of gets from memory without other load, in microseconds.
fn alone(side: &Side<'_>) -> io::Result<f64> {
    let mut probing = probing(side)?;
    while probing.turn()? {}
    Ok(probing.finish()?.latency_us.p99)
}

/// The connections of the others.
fn company(side: &Side<'_>, connections: usize) -> io::Result<(Plan, Fleet)> {
    // The client has one core for both: it does not compare what the others are sent.
    let plan = Plan {
        verify: false,
        ..side.plan.clone()
    };
    let fleet = plan.fleet(connections)?.serve_at_most(1);
    Ok((plan, fleet))
}

/// The 99th percentile of gets from memory while others read from the SSD, in microseconds, and how
/// many a second they read; 0 where most of that was not found.
fn beside_reads(side: &mut Side<'_>, readers: usize) -> io::Result<(f64, f64)> {
    let mut reading = reading(side, readers)?;
    let mut probing = probing(side)?;
    while probing.turn()? {
        reading.turn()?;
    }
    let per_s = end_reading(side, readers, reading);
    Ok((probing.finish()?.latency_us.p99, per_s))
}

/// The 99th percentile of gets from memory while others get hits in memory as fast as they can and
/// `readers` read from the SSD, and how many a second these read.
fn busy(side: &mut Side<'_>, readers: usize) -> io::Result<(f64, f64)> {
    let (plan, fleet) = company(side, BUSY_WITH)?;
    let endless = RunLimits::requests(u64::MAX);
    let mut hitting = ClosedLoop::start(fleet, in_memory(&plan), 1, endless)?;
    let mut reading = match readers {
        0 => None,
        _ => Some(reading(side, readers)?),
    };
    let mut probing = probing(side)?;
    while probing.turn()? {
        hitting.turn()?;
        if let Some(reading) = &mut reading {
            reading.turn()?;
        }
    }
    let per_s = reading.map_or(0.0, |reading| end_reading(side, readers, reading));
    Ok((probing.finish()?.latency_us.p99, per_s))
}

/// Connections that read from the SSD as fast as they are answered.
fn reading(side: &Side<'_>, readers: usize) -> io::Result<ClosedLoop> {
    let (plan, fleet) = company(side, readers)?;
    let reads = side.cursor.clone().workload(&plan, 0);
    ClosedLoop::start(fleet, reads, 1, RunLimits::requests(u64::MAX))
}

/// How many a second they have read; 0 where most of that was not found.
fn end_reading(side: &mut Side<'_>, readers: usize, reading: ClosedLoop) -> f64 {
    let read = reading.finish().1;
    side.cursor.pass(read.counts.requests + readers as u64);
    match read.hit_ratio >= FOUND_MIN {
        true => read.requests_per_s,
        false => 0.0,
    }
}

/// The 99th percentile of gets from memory while others get so many a second from memory.
fn beside_hits(side: &Side<'_>, per_s: f64) -> io::Result<f64> {
    let (plan, fleet) = company(side, READERS[HITS_AS_OF])?;
    let schedule = Schedule::even(per_s.max(1.0));
    let endless = RunLimits::requests(u64::MAX);
    let mut hitting = OpenLoop::start(fleet, in_memory(&plan), schedule, endless);
    let mut probing = probing(side)?;
    while probing.turn()? {
        hitting.turn()?;
    }
    Ok(probing.finish()?.latency_us.p99)
}
