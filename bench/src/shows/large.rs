//! Values of hundreds of megabytes: how fast they are fetched, and what memory that takes.

use super::speed::tuned_settings;
use super::table::{Column, Row, Table, Wanted};
use super::{Bench, Network};
use crate::host_memory;
use crate::sizes::size_text;
use std::io;

/// The sizes in bytes; the largest is the one that is judged.
const SIZES: [usize; 2] = [64 << 20, JUDGED_BYTES];
const JUDGED_BYTES: usize = 512 << 20;
/// Memory beyond the value itself that both ends together may take, as a share of the value.
const SLACK_SHARE: f64 = 0.02;
/// What both ends touch for the first time: the value at each of them, and what is made of it meanwhile.
const HOST_MEMORY_BYTES: usize = 3 * JUDGED_BYTES;

/// Measures the rows.
///
/// # Errors
/// If the server or a program cannot be started or breaks off.
pub fn measure(bench: &Bench, table: &mut Table) -> io::Result<()> {
    for round in 0..bench.scope.rounds {
        eprintln!(
            "large values, round {} of {}",
            round + 1,
            bench.scope.rounds
        );
        host_memory::take_and_give_back(HOST_MEMORY_BYTES);
        let server = bench.fabric_server(Network::Chosen, &["-m", "2048", "-I", "1g"])?;
        for value_bytes in SIZES {
            let size = value_bytes.to_string();
            let common = [
                "--sizes",
                &size,
                "--keys",
                "1",
                "--warmup",
                "1",
                "--benchmarks",
            ];
            let memlat = |more: &[&str]| {
                let arguments = [&common[..], more].concat();
                bench
                    .programs
                    .memlat(Network::Chosen, server.address(), &arguments)
            };
            // A process of its own stores the value, so that the one that fetches never had it.
            memlat(&["set", "--iterations", "1"])?;
            server.reset_resident_peak()?;
            let before_bytes = server.resident_bytes()?;
            let report = memlat(&["get", "--stored", "--iterations", "5"])?;
            let server_grew = server.resident_peak_bytes()?.saturating_sub(before_bytes);
            let client_grew = report
                .resident_bytes_peak
                .saturating_sub(report.resident_bytes_before);
            let row = speed_row(value_bytes);
            let p50_us = report.rows.first().map(|row| row.latency_us.p50);
            let p50_us = p50_us.ok_or_else(|| io::Error::other("ohb_memlat measured nothing"))?;
            table.add(&row, Column::Fabric, gigabytes_per_s(value_bytes, p50_us));
            let limits = [
                "--get-sizes",
                &size,
                "--set-sizes",
                "64",
                "--no-rates",
                "--no-large",
            ];
            for (column, settings) in [(Column::Limit, vec![]), (Column::Tuned, tuned_settings())] {
                host_memory::take_and_give_back(HOST_MEMORY_BYTES);
                let programs = &bench.programs;
                let limits = programs.limits_with(Network::Chosen, &settings, &limits)?;
                if let Some(latency) = limits.figures.first().and_then(|one| one.latency_us) {
                    table.add(&row, column, gigabytes_per_s(value_bytes, latency.p50));
                }
            }
            let share = (server_grew + client_grew) as f64 / value_bytes as f64;
            table.add(&growth_row(value_bytes), Column::Fabric, share);
        }
    }
    Ok(())
}

fn speed_row(value_bytes: usize) -> Row {
    let row = Row::new(format!("GET {}", size_text(value_bytes)), "GB/s");
    match value_bytes {
        JUDGED_BYTES => row.wants(Wanted::OfLimitAtLeast(0.9)),
        _ => row,
    }
}

fn growth_row(value_bytes: usize) -> Row {
    let title = format!("GET {}, memory that both ends grew", size_text(value_bytes));
    let row = Row::new(title, "x value");
    match value_bytes {
        JUDGED_BYTES => row.wants(Wanted::AtMost(1.0 + SLACK_SHARE)),
        _ => row,
    }
}

fn gigabytes_per_s(value_bytes: usize, latency_us: f64) -> f64 {
    value_bytes as f64 / latency_us / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_a_rate() {
        // 512 MB in 64 ms.
        let rate = gigabytes_per_s(512 << 20, 64_000.0);
        assert!((rate - 8.389).abs() < 0.001, "{rate}");
    }

    #[test]
    fn only_the_largest_is_judged() {
        let judged =
            SIZES.map(|bytes| speed_row(bytes).wanted.len() + growth_row(bytes).wanted.len());
        assert_eq!(judged, [0, 2]);
    }
}
