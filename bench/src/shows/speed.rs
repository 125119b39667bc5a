//! Latencies and rates of bare UCX, the fabric, sockets and memcached, a group of rows at a time.

use super::table::{Column, Row, Table, Wanted};
use super::turns::Servers;
use super::{Bench, Network, Results};
use crate::compare::plan;
use crate::limits::{Figures, Limits, Operation};
use crate::load::measurement::Summary;
use crate::load::run_limits::RunLimits;
use crate::load::runner::{Pace, Plan};
use crate::load::values::ValueSizes;
use crate::load::workload::Mix;
use crate::ohb::items::keys_for;
use crate::ohb::report::{LatencyReport, ThroughputReport};
use crate::ohb::session::Benchmark;
use crate::sizes::size_text;
use farcache_fabric::ucx::shared_memory_defaults;
use farcache_harness::server_process::ServerProcess;
use std::io;

const SMALL: usize = 64;
const PAGE: usize = 4 << 10;
const MEDIUM: usize = 64 << 10;
const LARGE: usize = 1 << 20;
/// Keys of a multi-get.
const BATCH: usize = 48;
/// Multi-gets under way together.
const BATCH_WINDOW: usize = 8;
/// Single gets under way together.
const WINDOW: usize = 32;
/// Share of each measurement that warms up.
const WARMUP_SHARE: f64 = 0.2;
/// Share of the scope's seconds that a measurement takes in each turn.
const TURN_SHARE: f64 = 0.1;

/// The fabric's setting by which UCX reads large bodies from the other process's memory, also where
/// tombstones are to be reported.
const WITHOUT_COPIES: (&str, &str) = ("CMA_MEMORY_INVALIDATE", "y");

/// UCX's settings by which the fabric carries messages within a host.
pub(super) fn tuned_settings() -> Vec<(&'static str, &'static str)> {
    [&shared_memory_defaults()[..], &[WITHOUT_COPIES]].concat()
}

/// Rows that are measured right after each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// Small values, one at a time.
    Small,
    /// Large values, one at a time.
    Large,
    /// Many values under way.
    Rates,
    /// Over UCX tcp alone, one at a time.
    Tcp,
}

impl Group {
    /// Every group, in the order of the table.
    pub(super) const ALL: [Group; 4] = [Group::Small, Group::Large, Group::Rates, Group::Tcp];

    fn network(self) -> Network {
        match self {
            Group::Tcp => Network::Tcp,
            _ => Network::Chosen,
        }
    }

    /// Sizes of the values that are fetched one at a time, in bytes.
    fn get_bytes(self) -> &'static [usize] {
        match self {
            Group::Small => &[SMALL, PAGE],
            Group::Large => &[MEDIUM, LARGE],
            Group::Rates => &[],
            Group::Tcp => &[SMALL, PAGE, LARGE],
        }
    }

    /// Sizes of those that are stored.
    fn set_bytes(self) -> &'static [usize] {
        match self {
            Group::Small | Group::Rates => &[],
            Group::Large | Group::Tcp => &[LARGE],
        }
    }
}

/// A list of sizes as the programs' options take it.
fn sizes(list: &[usize]) -> String {
    let texts: Vec<_> = list.iter().map(usize::to_string).collect();
    texts.join(",")
}

fn seconds(bench: &Bench) -> f64 {
    bench.scope.seconds * TURN_SHARE
}

/// Measures one column of a group of rows once.
///
/// # Errors
/// If a program cannot be started or breaks off.
pub(super) fn measure(
    bench: &Bench,
    servers: &Servers,
    group: Group,
    column: Column,
    results: &mut Results,
) -> io::Result<()> {
    let table = &mut results.table;
    match column {
        Column::Limit => {
            let limits = limits(bench, group, &[])?;
            if group != Group::Tcp {
                results.lanes.clone_from(&limits.lanes);
            }
            add_limits(table, &limits, group, column);
            Ok(())
        }
        Column::Tuned => {
            let limits = limits(bench, group, &tuned_settings())?;
            add_limits(table, &limits, group, column);
            Ok(())
        }
        Column::Fabric => {
            let server = match group {
                Group::Tcp => &servers.fabric_tcp,
                _ => &servers.fabric,
            };
            fabric(bench, server, group, table)
        }
        Column::Sockets => sockets(bench, &servers.sockets, group, column, table),
        Column::Memcached => sockets(bench, &servers.memcached, group, column, table),
    }
}

/// The row of one value at a time.
fn latency_row(network: Network, operation: Operation, value_bytes: usize) -> Row {
    let name = match operation {
        Operation::Get => "GET",
        Operation::Set => "SET",
    };
    let size = size_text(value_bytes);
    if network == Network::Tcp {
        let row = Row::new(format!("{name} {size} over UCX tcp, p50"), "us");
        return if value_bytes == SMALL {
            row.wants(Wanted::OfLimitAtMost(1.2))
        } else {
            row
        };
    }
    let row = Row::new(format!("{name} {size}, p50"), "us");
    match (operation, value_bytes) {
        (Operation::Get, SMALL) => row
            .wants(Wanted::OfLimitAtMost(1.4))
            .wants(Wanted::BelowMemcached(10.0)),
        (Operation::Get, PAGE) => row
            .wants(Wanted::OfLimitAtMost(1.3))
            .wants(Wanted::BelowMemcached(6.0)),
        (_, LARGE) => row.wants(Wanted::OfLimitAtMost(1.15)),
        _ => row,
    }
}

/// The row of many single gets under way.
fn window_row() -> Row {
    Row::new(format!("GET 64 B, 1 client, {WINDOW} outstanding"), "M/s")
        .wants(Wanted::AtLeast(2.0))
        .wants(Wanted::AboveMemcached(9.0))
}

/// The row of multi-gets, so many of them under way.
fn batch_row(window: usize) -> Row {
    let row = Row::new(
        format!("GET 64 B, {BATCH} keys per call, {window} outstanding"),
        "M keys/s",
    );
    match window {
        BATCH_WINDOW => row
            .wants(Wanted::AtLeast(8.0))
            .wants(Wanted::AboveMemcached(5.0)),
        _ => row,
    }
}

fn limits(bench: &Bench, group: Group, settings: &[(&str, &str)]) -> io::Result<Limits> {
    let seconds = seconds(bench).to_string();
    let (get, set) = (sizes(group.get_bytes()), sizes(group.set_bytes()));
    let mut arguments = vec!["--no-large", "--seconds", &seconds];
    // The options do not take empty lists: what is measured too much is left out below.
    for (option, list) in [("--get-sizes", &get), ("--set-sizes", &set)] {
        arguments.extend([option, if list.is_empty() { "1" } else { list }]);
    }
    match group {
        Group::Rates => {
            arguments.extend(["--windows", "32", "--keys", "48", "--keys-windows", "1,8"])
        }
        _ => arguments.push("--no-rates"),
    }
    bench
        .programs
        .limits_with(group.network(), settings, &arguments)
}

fn add_limits(table: &mut Table, limits: &Limits, group: Group, column: Column) {
    for figures in limits
        .figures
        .iter()
        .filter(|one| one.scenario.value_bytes >= SMALL)
    {
        let (row, figure) = row_of_limit(figures, group.network());
        table.add(&row, column, figure);
    }
}

/// The row to which a limit belongs, and its figure there.
fn row_of_limit(figures: &Figures, network: Network) -> (Row, f64) {
    let scenario = figures.scenario;
    if scenario.keys_per_message > 1 {
        return (batch_row(scenario.window), figures.keys_per_s / 1e6);
    }
    match figures.latency_us {
        Some(latency) => (
            latency_row(network, scenario.operation, scenario.value_bytes),
            latency.p50,
        ),
        None => (window_row(), figures.messages_per_s / 1e6),
    }
}

fn fabric(
    bench: &Bench,
    server: &ServerProcess,
    group: Group,
    table: &mut Table,
) -> io::Result<()> {
    let (network, address) = (group.network(), server.address());
    let seconds = seconds(bench).to_string();
    for (benchmarks, list) in [("get", group.get_bytes()), ("set", group.set_bytes())] {
        if list.is_empty() {
            continue;
        }
        let list = sizes(list);
        let what = ["--benchmarks", benchmarks, "--sizes", &list];
        let extent = ["--seconds", &seconds, "--iterations", "1000000000"];
        let arguments = [what, extent].concat();
        let report = bench.programs.memlat(network, address, &arguments)?;
        add_latencies(table, &report, network);
    }
    if group == Group::Rates {
        for (windows, batch) in [("32", "1"), ("1,8", "48")] {
            let what = ["--benchmarks", "get", "--sizes", "64", "--windows", windows];
            let extent = ["--batches", batch, "--seconds", &seconds];
            let arguments = [&what[..], &extent].concat();
            let report = bench.programs.memthr(network, address, &arguments)?;
            add_rates(table, &report);
        }
    }
    Ok(())
}

fn add_latencies(table: &mut Table, report: &LatencyReport, network: Network) {
    for measured in &report.rows {
        let operation = match measured.benchmark {
            Benchmark::Set => Operation::Set,
            Benchmark::Get | Benchmark::Mix => Operation::Get,
        };
        let row = latency_row(network, operation, measured.value_bytes);
        table.add(&row, Column::Fabric, measured.latency_us.p50);
    }
}

fn add_rates(table: &mut Table, report: &ThroughputReport) {
    for measured in &report.rows {
        let row = match measured.batch {
            1 => window_row(),
            _ => batch_row(measured.window),
        };
        table.add(&row, Column::Fabric, measured.operations_per_s / 1e6);
    }
}

/// Measures the group over sockets, with the load generator: a client that does as little as one
/// can.
fn sockets(
    bench: &Bench,
    server: &ServerProcess,
    group: Group,
    column: Column,
    table: &mut Table,
) -> io::Result<()> {
    let plan_of = |value_bytes| sockets_plan(server, value_bytes, seconds(bench));
    for &value_bytes in group.get_bytes() {
        let row = latency_row(Network::Chosen, Operation::Get, value_bytes);
        let plan = plan_of(value_bytes);
        plan.preload()?;
        table.add(&row, column, checked(&plan)?.latency_us.p50);
    }
    for &value_bytes in group.set_bytes() {
        let row = latency_row(Network::Chosen, Operation::Set, value_bytes);
        let plan = storing(&plan_of(value_bytes));
        table.add(&row, column, checked(&plan)?.latency_us.p50);
    }
    if group == Group::Rates {
        let small = plan_of(SMALL);
        small.preload()?;
        table.add(&window_row(), column, unpipelined_rate(&small)? / 1e6);
        let batches = batches(small);
        let rate = checked(&batches)?.keys_per_s;
        table.add(&batch_row(BATCH_WINDOW), column, rate / 1e6);
    }
    Ok(())
}

fn batches(small: Plan) -> Plan {
    Plan {
        pace: Pace::Closed,
        connections: BATCH_WINDOW,
        mix: Mix {
            set_ratio: 0.0,
            multi_get_keys: BATCH,
        },
        ..small
    }
}

/// One blocking connection that gets the values which the fabric's benchmark would use.
pub(super) fn sockets_plan(server: &ServerProcess, value_bytes: usize, seconds: f64) -> Plan {
    Plan {
        pace: Pace::Blocking,
        keys: keys_for(value_bytes) as u32,
        // Keys of another length for each size, so that all sizes are stored beside each other.
        key_bytes: 16 + value_bytes.ilog2() as usize,
        values: ValueSizes::fixed(value_bytes),
        limits: RunLimits {
            warmup_ns: (seconds * WARMUP_SHARE * 1e9) as u64,
            measure_ns: (seconds * 1e9) as u64,
            requests_max: u64::MAX,
        },
        ..plan(server.target())
    }
}

fn storing(plan: &Plan) -> Plan {
    let mix = Mix {
        set_ratio: 1.0,
        multi_get_keys: 1,
    };
    Plan {
        mix,
        ..plan.clone()
    }
}

/// Requests a second of clients that wait for each answer: the best number of them.
fn unpipelined_rate(small: &Plan) -> io::Result<f64> {
    let mut best: f64 = 0.0;
    for connections in [8, 50] {
        let plan = Plan {
            pace: Pace::Closed,
            connections,
            ..small.clone()
        };
        best = best.max(checked(&plan)?.requests_per_s);
    }
    Ok(best)
}

/// Runs a plan, and checks what came of it.
pub(super) fn checked(plan: &Plan) -> io::Result<Summary> {
    plan.run()?.checked("over sockets")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Scenario;
    use crate::load::measurement::LatencyUs;

    fn limit(scenario: Scenario) -> Figures {
        let latency = LatencyUs {
            p50: 1.5,
            ..LatencyUs::default()
        };
        Figures {
            title: scenario.title(),
            scenario,
            latency_us: (scenario.window == 1).then_some(latency),
            messages_per_s: 2e6,
            keys_per_s: 2e6 * scenario.keys_per_message as f64,
            value_bytes_per_s: 0.0,
        }
    }

    #[test]
    fn limits_stand_in_the_fabrics_rows() {
        let get = Scenario::solo(Operation::Get, 64);
        let (row, figure) = row_of_limit(&limit(get), Network::Chosen);
        assert_eq!((row.title.as_str(), figure), ("GET 64 B, p50", 1.5));
        let (row, _) = row_of_limit(&limit(get), Network::Tcp);
        assert_eq!(row.title, "GET 64 B over UCX tcp, p50");
        let window = Scenario { window: 32, ..get };
        let (row, figure) = row_of_limit(&limit(window), Network::Chosen);
        assert_eq!((row.title, figure), (window_row().title, 2.0));
        for window in [1, 8] {
            let batch = Scenario {
                window,
                keys_per_message: 48,
                ..get
            };
            let (row, figure) = row_of_limit(&limit(batch), Network::Chosen);
            assert_eq!((row.title, figure), (batch_row(window).title, 96.0));
        }
    }

    #[test]
    fn every_wanted_figure_has_its_row() {
        let wanted = |row: Row| row.wanted.len();
        let get = |bytes| wanted(latency_row(Network::Chosen, Operation::Get, bytes));
        assert_eq!([SMALL, PAGE, MEDIUM, LARGE].map(get), [2, 2, 0, 1]);
        assert_eq!(
            wanted(latency_row(Network::Chosen, Operation::Set, LARGE)),
            1
        );
        assert_eq!(wanted(latency_row(Network::Tcp, Operation::Get, SMALL)), 1);
        assert_eq!((wanted(window_row()), wanted(batch_row(8))), (2, 2));
    }
}
