//! Requests a second, and latencies of a solo client.

use super::table::{Row, Table, Wanted};
use super::{Scope, in_turn, plan, with_cpu_share};
use crate::load::measurement::Summary;
use crate::load::protocol::Protocol;
use crate::load::runner::{Pace, Plan};
use crate::load::values::ValueSizes;
use crate::load::workload::Mix;
use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use std::io;

/// Small values that are stored before the measurements.
const SMALL_KEYS: u32 = 1_000_000;
/// Small values that are stored before the measurements of the short version.
const SMALL_KEYS_SHORT: u32 = 300_000;
/// Large values: 64 MB of them, more than caches hold.
const LARGE_KEYS: u32 = 64;
/// Size of a large value in bytes, within both servers' default limit.
const LARGE_BYTES: usize = 1_000_000;
/// Size of the large values' keys, different so that the small ones stay what they are.
const LARGE_KEY_BYTES: usize = 24;

/// A measurement of one row.
struct Measurement {
    row: Row,
    plan: Plan,
    figure: fn(&Summary) -> f64,
}

/// A server with its data, and what is measured of it.
struct Side {
    product: Product,
    server: ServerProcess,
    measurements: Vec<Measurement>,
}

/// Measures every speed row, the servers taking short turns: the speed of a shared machine's cores
/// drifts over minutes, and what lies within a second of each other has seen the same machine.
///
/// # Errors
/// If a server cannot be started or breaks off.
pub fn measure(launcher: &Launcher, scope: &Scope, table: &mut Table) -> io::Result<()> {
    let sides = scope.products.iter();
    let sides: Vec<Side> = sides
        .map(|&product| start(launcher, product, scope))
        .collect::<io::Result<_>>()?;
    let rows = sides.first().map_or(0, |side| side.measurements.len());
    for turn in 0..scope.turns {
        eprintln!("speed, turn {} of {}", turn + 1, scope.turns);
        for row in 0..rows {
            for side in in_turn(&sides, turn + row) {
                side.measure_row(row, scope, table)?;
            }
        }
    }
    Ok(())
}

fn start(launcher: &Launcher, product: Product, scope: &Scope) -> io::Result<Side> {
    let server = launcher.start(product, &["-m", "1024"])?;
    let small = small(&server, scope);
    let large = large(&server, scope);
    small.preload()?;
    large.preload()?;
    Ok(Side {
        product,
        server,
        measurements: measurements(&small, &large, scope.short),
    })
}

impl Side {
    fn measure_row(&self, row: usize, scope: &Scope, table: &mut Table) -> io::Result<()> {
        let measurement = &self.measurements[row];
        let (summary, cpu_share) = with_cpu_share(&self.server, || measurement.plan.run())?;
        let summary = summary.checked(&measurement.row.title)?;
        table.add(
            &measurement.row,
            self.product,
            (measurement.figure)(&summary),
        );
        if scope.cpu_time {
            let title = format!("  CPU: {}", measurement.row.title);
            let row = Row::new(title, "ns", Wanted::Nothing);
            table.add(&row, self.product, cpu_share * 1e9 / summary.keys_per_s);
        }
        Ok(())
    }
}

fn small(server: &ServerProcess, scope: &Scope) -> Plan {
    Plan {
        keys: if scope.short {
            SMALL_KEYS_SHORT
        } else {
            SMALL_KEYS
        },
        limits: scope.limits(),
        ..plan(server.target())
    }
}

fn large(server: &ServerProcess, scope: &Scope) -> Plan {
    Plan {
        keys: LARGE_KEYS,
        key_bytes: LARGE_KEY_BYTES,
        values: ValueSizes::fixed(LARGE_BYTES),
        pace: Pace::Blocking,
        ..small(server, scope)
    }
}

fn measurements(small: &Plan, large: &Plan, short: bool) -> Vec<Measurement> {
    let mut list = vec![
        blocking(small),
        connections(small, 8),
        connections(small, 50),
    ];
    list.extend(pipelined_gets(small, short));
    list.extend(multi_gets(small, short));
    list.extend(pipelined_sets(small, short));
    list.push(large_get(large));
    list.push(large_set(large));
    list
}

fn blocking(small: &Plan) -> Measurement {
    Measurement {
        row: Row::new(
            "GET 64 B, 1 blocking connection, p50",
            "us",
            Wanted::RatioAtMost(0.75),
        ),
        plan: Plan {
            pace: Pace::Blocking,
            ..small.clone()
        },
        figure: |summary| summary.latency_us.p50,
    }
}

fn connections(small: &Plan, connections: usize) -> Measurement {
    let title = format!("GET 64 B, {connections} connections");
    Measurement {
        row: Row::new(title, "M/s", Wanted::RatioAtLeast(1.25)),
        plan: Plan {
            connections,
            ..small.clone()
        },
        figure: |summary| summary.requests_per_s / 1e6,
    }
}

/// Names of the protocols with their request, the binary one in the long version only.
fn protocols(short: bool, text: &str, meta: &str) -> Vec<(Protocol, String)> {
    let mut list = vec![
        (Protocol::Text, format!("text protocol ({text})")),
        (Protocol::Meta, format!("meta protocol ({meta})")),
    ];
    if !short {
        list.push((Protocol::Binary, "binary protocol".to_owned()));
    }
    list
}

fn pipelined_gets(small: &Plan, short: bool) -> Vec<Measurement> {
    let title = |name: &str| format!("GET 64 B, 8 connections, 64 at a time, {name}");
    let list = protocols(short, "get", "mg");
    let rivals: Vec<_> = list.iter().map(|(_, name)| title(name)).collect();
    let measurement = |(protocol, name): &(Protocol, String)| Measurement {
        row: Row {
            rivals: rivals.clone(),
            ..Row::new(title(name), "M/s", Wanted::RatioAtLeast(2.0))
        },
        plan: Plan {
            connections: 8,
            depth: 64,
            protocol: *protocol,
            ..small.clone()
        },
        figure: |summary| summary.requests_per_s / 1e6,
    };
    list.iter().map(measurement).collect()
}

fn multi_gets(small: &Plan, short: bool) -> Vec<Measurement> {
    let mix = Mix {
        set_ratio: 0.0,
        multi_get_keys: 48,
    };
    let list = protocols(short, "get", "mg");
    let list = if short { &list[..1] } else { &list[..] };
    let measurement = |(protocol, name): &(Protocol, String)| Measurement {
        row: Row::new(
            format!("multi-get of 48 keys, 8 connections, {name}"),
            "M keys/s",
            Wanted::RatioAtLeast(2.0),
        ),
        plan: Plan {
            connections: 8,
            protocol: *protocol,
            mix,
            ..small.clone()
        },
        figure: |summary| summary.keys_per_s / 1e6,
    };
    list.iter().map(measurement).collect()
}

fn pipelined_sets(small: &Plan, short: bool) -> Vec<Measurement> {
    let mix = Mix {
        set_ratio: 1.0,
        multi_get_keys: 1,
    };
    let list = protocols(short, "set", "ms");
    let measurement = |(protocol, name): &(Protocol, String)| Measurement {
        row: Row::new(
            format!("SET 64 B, 8 connections, 64 at a time, {name}"),
            "M/s",
            Wanted::RatioAtLeast(1.8),
        ),
        plan: Plan {
            connections: 8,
            depth: 64,
            protocol: *protocol,
            mix,
            ..small.clone()
        },
        figure: |summary| summary.requests_per_s / 1e6,
    };
    list.iter().map(measurement).collect()
}

fn large_get(large: &Plan) -> Measurement {
    Measurement {
        row: Row::new(
            "GET 1 MB, 1 connection, p50",
            "us",
            Wanted::RatioAtMost(0.9),
        ),
        plan: large.clone(),
        figure: |summary| summary.latency_us.p50,
    }
}

fn large_set(large: &Plan) -> Measurement {
    Measurement {
        row: Row::new(
            "SET 1 MB, 1 connection, p50",
            "us",
            Wanted::RatioAtMost(0.9),
        ),
        plan: Plan {
            mix: Mix {
                set_ratio: 1.0,
                multi_get_keys: 1,
            },
            ..large.clone()
        },
        figure: |summary| summary.latency_us.p50,
    }
}
