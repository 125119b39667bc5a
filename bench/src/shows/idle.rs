//! CPU time of a server whose fabric clients do nothing.

use super::helpers::{Helper, Part};
use super::table::{Column, Row, Table, Wanted};
use super::{Bench, Network};
use std::io;
use std::time::{Duration, Instant};

/// How long the server is watched.
const WATCHED: Duration = Duration::from_secs(10);
/// How long the server is watched in the short version.
const WATCHED_SHORT: Duration = Duration::from_secs(2);
/// Connected clients.
const CLIENTS: usize = 8;

/// Measures the row.
///
/// # Errors
/// If the server or the clients cannot be started.
pub fn measure(bench: &Bench, table: &mut Table) -> io::Result<()> {
    eprintln!("idle");
    let server = bench.fabric_server(Network::Chosen, &["-m", "64"])?;
    let mut helper = Helper::start(
        Part::Hold,
        Network::Chosen,
        "fabric",
        server.address(),
        CLIENTS,
    )?;
    helper.hear()?;
    let watched = if bench.scope.short {
        WATCHED_SHORT
    } else {
        WATCHED
    };
    let (before_ns, start) = (server.cpu_ns()?, Instant::now());
    std::thread::sleep(watched);
    let spent_ns = server.cpu_ns()? - before_ns;
    let percent = spent_ns as f64 / start.elapsed().as_nanos() as f64 * 100.0;
    let row = Row::new(
        format!("server with {CLIENTS} idle fabric clients, CPU"),
        "% core",
    );
    table.add(&row.wants(Wanted::AtMost(1.0)), Column::Fabric, percent);
    helper.leave()
}
