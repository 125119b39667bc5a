//! A thousand clients that connect and leave, twice: what each costs the server, and what it keeps.

use super::helpers::{Connected, Helper, Part};
use super::levels::Levels;
use super::table::{Column, Row, Table, Wanted};
use super::{Bench, Network};
use farcache_harness::server_process::{ServerProcess, raise_descriptor_limit};
use std::io;

/// Connections of one client process.
const CLIENTS_PER_PROCESS: usize = 50;
/// Descriptors that the server may need for a client.
const DESCRIPTORS_PER_CLIENT: u64 = 8;
/// Memory that all clients together may leave behind when as many have been here before, in
/// megabytes. Endpoints that were not given back would take many times that.
const LEFT_BEHIND_MB_MAX: f64 = 1.0;

/// Measures the rows, over shared memory and over TCP.
///
/// # Errors
/// If the server or a client cannot be started or breaks off.
pub fn measure(bench: &Bench, table: &mut Table) -> io::Result<()> {
    raise_descriptor_limit(bench.scope.clients as u64 * DESCRIPTORS_PER_CLIENT + 1024)?;
    for network in [Network::Chosen, Network::Tcp] {
        eprintln!("{} clients over {}", bench.scope.clients, network.name());
        let connections = (bench.scope.clients + 64).to_string();
        let server = bench.fabric_server(network, &["-m", "64", "-c", &connections])?;
        let visits = Visits::make(bench, network, &server)?;
        visits.add_to(table, bench.scope.clients, network);
    }
    Ok(())
}

/// Resident memory of the server, in bytes, and what else was seen.
struct Visits {
    before: u64,
    with_clients: u64,
    after_first: u64,
    after_second: u64,
    connect_seconds: f64,
    /// Levels that did not return.
    left: Vec<String>,
}

impl Visits {
    fn make(bench: &Bench, network: Network, server: &ServerProcess) -> io::Result<Visits> {
        let levels = Levels::after_first_client(network, server)?;
        let before = server.resident_bytes()?;
        let (helpers, connect_seconds) = connect_all(bench, network, server)?;
        let open = Levels::take(server)?.get("sessions");
        if open != levels.get("sessions") + bench.scope.clients as u64 {
            return Err(io::Error::other(format!("{open} sessions are open")));
        }
        let with_clients = server.resident_bytes()?;
        let mut left = leave_all(helpers, &levels, server)?;
        let after_first = server.resident_bytes()?;
        let (helpers, _) = connect_all(bench, network, server)?;
        left.extend(leave_all(helpers, &levels, server)?);
        Ok(Visits {
            before,
            with_clients,
            after_first,
            after_second: server.resident_bytes()?,
            connect_seconds,
            left,
        })
    }

    fn add_to(&self, table: &mut Table, clients: usize, network: Network) {
        let title = |what: &str| format!("{clients} clients over {}: {what}", network.name());
        let each = |now: u64, before: u64| (now as f64 - before as f64) / clients as f64;
        let mut add = |row: Row, figure| table.add(&row, Column::Fabric, figure);
        let memory = each(self.with_clients, self.before) / 1024.0;
        add(Row::new(title("memory each"), "KB"), memory);
        let connecting = self.connect_seconds / clients as f64 * 1e6;
        add(Row::new(title("connecting, each"), "us"), connecting);
        let kept = each(self.after_first, self.before) / 1024.0;
        add(Row::new(title("kept when they left, each"), "KB"), kept);
        let more = (self.after_second as f64 - self.after_first as f64) / 1e6;
        let row = Row::new(title("kept more the second time"), "MB");
        add(row.wants(Wanted::AtMost(LEFT_BEHIND_MB_MAX)), more);
        let row = Row::new(title("figures that did not return"), "");
        add(row.wants(Wanted::AtMost(0.0)), self.left.len() as f64);
        self.left
            .iter()
            .for_each(|left| eprintln!("  not returned: {left}"));
    }
}

/// Starts the clients, process after process; says how long all took to connect.
fn connect_all(
    bench: &Bench,
    network: Network,
    server: &ServerProcess,
) -> io::Result<(Vec<Helper>, f64)> {
    let (mut helpers, mut seconds) = (Vec::new(), 0.0);
    for count in shares(bench.scope.clients) {
        let mut helper = Helper::start(Part::Hold, network, "fabric", server.address(), count)?;
        let connected: Connected = serde_json::from_str(&helper.hear()?)?;
        seconds += connected.seconds;
        helpers.push(helper);
    }
    Ok((helpers, seconds))
}

fn leave_all(
    helpers: Vec<Helper>,
    before: &Levels,
    server: &ServerProcess,
) -> io::Result<Vec<String>> {
    helpers.into_iter().try_for_each(Helper::leave)?;
    before.wait_for_return(server)
}

/// How many connections each process makes.
fn shares(clients: usize) -> Vec<usize> {
    let starts = (0..clients).step_by(CLIENTS_PER_PROCESS);
    starts
        .map(|start| CLIENTS_PER_PROCESS.min(clients - start))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    #[test]
    fn all_clients_are_shared_out() {
        assert_eq!(shares(120), [50, 50, 20]);
        assert_eq!(shares(1000).iter().sum::<usize>(), 1000);
        assert_eq!(shares(1), [1]);
    }

    #[test]
    fn what_each_client_costs_is_told() {
        let visits = Visits {
            before: 1_000_000,
            with_clients: 1_000_000 + 12 * 1024 * 100,
            after_first: 1_000_000 + 1024 * 100,
            after_second: 3_000_000 + 1024 * 100,
            connect_seconds: 0.01,
            left: vec!["sessions: 0 before, 1 now".into()],
        };
        let mut table = Table::default();
        visits.add_to(&mut table, 100, Network::Tcp);
        let figures: Vec<_> = table
            .lines()
            .iter()
            .map(|line| line.fabric.unwrap())
            .collect();
        assert_eq!(figures[..4], [12.0, 100.0, 1.0, 2.0]);
        assert_eq!(table.lines()[3].met(), Some(Verdict::No));
        assert_eq!(table.lines()[4].met(), Some(Verdict::No));
    }
}
