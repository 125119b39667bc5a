//! A server killed (SIGKILL) while its client waits for large values.

use super::helpers::{Helper, Orphaned, Part, monotonic_ns};
use super::table::{Column, Row, Table, Wanted};
use super::{Bench, Network};
use farcache_harness::server_process::Product;
use std::io;
use std::time::Duration;

/// Longest that an operation may stay without an end, in milliseconds.
const WAIT_MS_MAX: f64 = 2000.0;
/// How often each server is killed.
const KILLS: usize = 5;

/// Measures the rows.
///
/// # Errors
/// If a server or a client cannot be started, or an operation ends well without a server.
pub fn measure(bench: &Bench, table: &mut Table) -> io::Result<()> {
    for kill in 0..KILLS {
        eprintln!("server killed, {} of {KILLS}", kill + 1);
        for network in [Network::Chosen, Network::Tcp] {
            let title = format!("server killed, {}: all requests ended", network.name());
            let row = Row::new(title, "ms").wants(Wanted::AtMost(WAIT_MS_MAX));
            let waited_ms = kill_under_client(bench, Some(network), kill)?;
            table.add(&row, Column::Fabric, waited_ms);
        }
        let row = Row::new("server killed, sockets: all requests ended", "ms");
        table.add(&row, Column::Sockets, kill_under_client(bench, None, kill)?);
    }
    Ok(())
}

/// Milliseconds from the kill to the end of the client's last operation. Without a network, the
/// client uses sockets.
fn kill_under_client(bench: &Bench, network: Option<Network>, number: usize) -> io::Result<f64> {
    let options = ["-m", "256", "-I", "2m"];
    let server = match network {
        Some(network) => bench.fabric_server(network, &options)?,
        None => bench.launcher.start(Product::Farcached, &options)?,
    };
    let transport = if network.is_some() { "fabric" } else { "tcp" };
    let network = network.unwrap_or(Network::Chosen);
    let mut orphan = Helper::start(Part::Orphan, network, transport, server.address(), 0)?;
    orphan.hear()?;
    std::thread::sleep(Duration::from_micros(20_000 + number as u64 * 1_237));
    let killed_ns = monotonic_ns();
    // Dropping a server kills it.
    drop(server);
    let told: Orphaned = serde_json::from_str(&orphan.hear()?)?;
    if told.failed == 0 {
        return Err(io::Error::other(
            "no operation noticed that the server was killed",
        ));
    }
    Ok(told.ended_ns.saturating_sub(killed_ns) as f64 / 1e6)
}
