//! Ten thousand connections that have asked once and now do nothing.

use super::table::{Row, Table, Wanted};
use super::{Scope, plan};
use crate::load::closed_loop::ClosedLoop;
use crate::load::run_limits::RunLimits;
use crate::load::runner::Plan;
use crate::load::workload::Workload;
use farcache_harness::server_process::{Launcher, Product, raise_descriptor_limit};
use std::io;
use std::time::{Duration, Instant};

/// Idle connections.
const CONNECTIONS: usize = 10_000;
/// Descriptors that client and server need each.
const DESCRIPTORS: u64 = 10_500;
/// How long the idle server is watched.
const WATCHED: Duration = Duration::from_secs(10);

/// What many idle connections cost a server.
struct Cost {
    bytes_per_connection: f64,
    cpu_percent: f64,
}

/// Measures the rows of idle connections.
///
/// # Errors
/// If a server cannot be started or breaks off, or the system allows too few descriptors.
pub fn measure(launcher: &Launcher, scope: &Scope, table: &mut Table) -> io::Result<()> {
    if raise_descriptor_limit(DESCRIPTORS)? < DESCRIPTORS {
        return Err(io::Error::other(
            "too few descriptors allowed for 10,000 connections",
        ));
    }
    for &product in &scope.products {
        eprintln!("idle connections: {}", product.name());
        let cost = hold(launcher, product)?;
        let memory = Row::new(
            "10,000 idle connections, memory each",
            "B",
            Wanted::AtMost(4096.0),
        );
        let cpu = Row::new(
            "10,000 idle connections, CPU",
            "% core",
            Wanted::AtMost(1.0),
        );
        table.add(&memory, product, cost.bytes_per_connection);
        table.add(&cpu, product, cost.cpu_percent);
    }
    Ok(())
}

fn hold(launcher: &Launcher, product: Product) -> io::Result<Cost> {
    let server = launcher.start(product, &["-m", "64", "-c", "10400"])?;
    let plan = Plan {
        keys: 1000,
        ..plan(server.target())
    };
    plan.preload()?;
    let before_bytes = server.resident_bytes()?;
    let connections = connected_and_asked_once(&plan)?;
    let grown_bytes = server.resident_bytes()?.saturating_sub(before_bytes);
    let cpu_percent = watch(|| server.cpu_ns())?;
    drop(connections);
    Ok(Cost {
        bytes_per_connection: grown_bytes as f64 / CONNECTIONS as f64,
        cpu_percent,
    })
}

/// Opens the connections and gets one key on each; they stay open while the result lives.
fn connected_and_asked_once(plan: &Plan) -> io::Result<ClosedLoop> {
    let workload = Workload::new(plan.renderer(), plan.picker(), plan.mix, plan.seed);
    let limits = RunLimits::requests(CONNECTIONS as u64);
    let mut run = ClosedLoop::start(plan.fleet(CONNECTIONS)?, workload, 1, limits)?;
    while run.turn()? {}
    Ok(run)
}

/// CPU time over [`WATCHED`], in percent of a core.
fn watch(cpu_ns: impl Fn() -> io::Result<u64>) -> io::Result<f64> {
    let (before_ns, start) = (cpu_ns()?, Instant::now());
    std::thread::sleep(WATCHED);
    let spent_ns = cpu_ns()?.saturating_sub(before_ns);
    Ok(spent_ns as f64 / start.elapsed().as_nanos() as f64 * 100.0)
}
