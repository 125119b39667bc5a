//! Latency of gets while another connection stores millions of items and the index grows.

use super::table::{Row, Table, Wanted};
use super::{Scope, plan};
use crate::load::closed_loop::ClosedLoop;
use crate::load::measurement::Summary;
use crate::load::open_loop::{OpenLoop, Schedule};
use crate::load::run_limits::RunLimits;
use crate::load::runner::Plan;
use farcache_harness::server_process::{Launcher, Product};
use std::io;

/// Keys that the gets ask for.
const PROBED_KEYS: u32 = 100_000;
/// Items stored meanwhile: the index doubles many times.
const STORED_ITEMS: u32 = 10_000_000;
/// Gets a second; each counts from when it was due.
const PROBES_PER_S: f64 = 5_000.0;

/// Takes a figure from a summary.
type Figure = fn(&Summary) -> f64;

/// Measures the growth rows.
///
/// # Errors
/// If a server cannot be started or breaks off.
pub fn measure(launcher: &Launcher, scope: &Scope, table: &mut Table) -> io::Result<()> {
    let rows: [(&str, Figure); 3] = [
        ("p50", |summary| summary.latency_us.p50),
        ("p99.9", |summary| summary.latency_us.p999),
        ("max", |summary| summary.latency_us.max),
    ];
    for round in 0..scope.rounds {
        for &product in &scope.products {
            eprintln!(
                "growth, round {} of {}: {}",
                round + 1,
                scope.rounds,
                product.name()
            );
            let (probed, stored) = grow(launcher, product)?;
            for (name, figure) in rows {
                let title = format!("GET while 10 M items are stored, {name}");
                table.add(
                    &Row::new(title, "us", Wanted::Nothing),
                    product,
                    figure(&probed),
                );
            }
            let row = Row::new(
                "SET of 10 M items, the GETs beside it",
                "M/s",
                Wanted::Nothing,
            );
            table.add(&row, product, stored.requests_per_s / 1e6);
        }
    }
    Ok(())
}

/// Stores and probes from one thread in turns; returns the probes' summary and the stores'.
fn grow(launcher: &Launcher, product: Product) -> io::Result<(Summary, Summary)> {
    let server = launcher.start(product, &["-m", "4096"])?;
    let endless = RunLimits {
        warmup_ns: 0,
        measure_ns: u64::MAX,
        requests_max: u64::MAX,
    };
    let plan = Plan {
        keys: PROBED_KEYS,
        limits: endless,
        ..plan(server.target())
    };
    plan.preload()?;
    let mut storing: ClosedLoop = plan.storing(PROBED_KEYS, STORED_ITEMS)?;
    let mut probing: OpenLoop = plan.probing(Schedule::even(PROBES_PER_S))?;
    while storing.turn()? {
        probing.turn()?;
    }
    let probed = probing.finish()?.1;
    if probed.counts.hits < probed.counts.keys_wanted {
        return Err(io::Error::other(
            "a stored key was not found while the index grew",
        ));
    }
    Ok((probed, storing.finish().1))
}
