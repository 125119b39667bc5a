//! Values of hundreds of megabytes: how fast they are fetched, and what memory that takes.

use super::programs::Programs;
use super::speed::tuned_settings;
use super::table::{Column, Row, Table, Wanted};
use super::{Bench, Network};
use crate::host_memory;
use crate::sizes::size_text;
use farcache_harness::server_process::ServerProcess;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use std::io;

/// What is fetched; the first is judged.
const FETCHES: [Fetch; 3] = [
    Fetch::into_old(JUDGED_BYTES),
    Fetch::into_new(JUDGED_BYTES),
    Fetch::into_old(64 << 20),
];
const JUDGED_BYTES: usize = 512 << 20;
/// Whose figures there are.
const COLUMNS: [Column; 3] = [Column::Limit, Column::Tuned, Column::Fabric];
/// Memory beyond the value itself that both ends together may take, as a share of the value.
const SLACK_SHARE: f64 = 0.02;
/// What both ends touch for the first time: the value at each of them, and what is made of it
/// meanwhile.
const HOST_MEMORY_BYTES: usize = 3 * JUDGED_BYTES;
/// Fetches of the fabric's client in each turn, beside one that warms up.
const ITERATIONS: &str = "5";
/// Seconds of bare UCX in each turn, which takes as long as some five fetches of the judged size.
const SECONDS: &str = "0.25";
/// The order of the turns is the same in each run.
const SEED: u64 = 1;

/// Measures the rows, in short turns in random order.
///
/// # Errors
/// If the server or a program cannot be started or breaks off.
pub fn measure(bench: &Bench, table: &mut Table) -> io::Result<()> {
    host_memory::take_and_give_back(HOST_MEMORY_BYTES);
    let server = bench.fabric_server(Network::Chosen, &["-m", "2048", "-I", "1g"])?;
    let mut random = SmallRng::seed_from_u64(SEED);
    let mut stored_bytes = 0;
    for fetch in FETCHES {
        if fetch.value_bytes != stored_bytes {
            // A process of its own stores the value, so that the one that fetches never had it.
            fetch.memlat(&bench.programs, &server, &["set", "--iterations", "1"])?;
            stored_bytes = fetch.value_bytes;
        }
        for round in 0..bench.scope.rounds {
            let row = fetch.row();
            eprintln!(
                "{}, turn {} of {}",
                row.title,
                round + 1,
                bench.scope.rounds
            );
            let mut columns = COLUMNS;
            columns.shuffle(&mut random);
            for column in columns {
                host_memory::take_and_give_back(HOST_MEMORY_BYTES);
                let p50_us = match column {
                    Column::Fabric => fetch.over_fabric(bench, &server, table)?,
                    Column::Tuned => fetch.over_ucx(&bench.programs, &tuned_settings())?,
                    _ => fetch.over_ucx(&bench.programs, &[])?,
                };
                table.add(&row, column, gigabytes_per_s(fetch.value_bytes, p50_us));
            }
        }
    }
    Ok(())
}

/// How a value is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fetch {
    value_bytes: usize,
    /// Into memory that is made anew each time, as a program gets it that brings none; else into
    /// that of the fetch before.
    is_into_new: bool,
}

impl Fetch {
    const fn into_old(value_bytes: usize) -> Fetch {
        Fetch {
            value_bytes,
            is_into_new: false,
        }
    }

    const fn into_new(value_bytes: usize) -> Fetch {
        Fetch {
            value_bytes,
            is_into_new: true,
        }
    }

    fn row(self) -> Row {
        let size = size_text(self.value_bytes);
        let title = match self.is_into_new {
            true => format!("GET {size}, into new memory each time"),
            false => format!("GET {size}"),
        };
        let row = Row::new(title, "GB/s");
        match self == FETCHES[0] {
            true => row.wants(Wanted::OfLimitAtLeast(0.9)),
            false => row,
        }
    }

    fn growth_row(self) -> Row {
        let title = format!("{}, memory that both ends grew", self.row().title);
        let row = Row::new(title, "x value");
        match self == FETCHES[0] {
            true => row.wants(Wanted::AtMost(1.0 + SLACK_SHARE)),
            false => row,
        }
    }

    /// The option of both programs.
    fn buffers(self) -> &'static [&'static str] {
        match self.is_into_new {
            true => &["--new-buffers"],
            false => &[],
        }
    }

    fn memlat(
        self,
        programs: &Programs,
        server: &ServerProcess,
        benchmark: &[&str],
    ) -> io::Result<crate::ohb::report::LatencyReport> {
        let size = self.value_bytes.to_string();
        let common = ["--sizes", &size, "--keys", "1", "--warmup", "1"];
        let arguments = [&common[..], &["--benchmarks"], benchmark].concat();
        programs.memlat(Network::Chosen, server.address(), &arguments)
    }

    /// The median in microseconds; adds what memory it took.
    fn over_fabric(
        self,
        bench: &Bench,
        server: &ServerProcess,
        table: &mut Table,
    ) -> io::Result<f64> {
        server.reset_resident_peak()?;
        let before_bytes = server.resident_bytes()?;
        let get = [
            &["get", "--stored", "--iterations", ITERATIONS],
            self.buffers(),
        ]
        .concat();
        let report = self.memlat(&bench.programs, server, &get)?;
        let server_grew = server.resident_peak_bytes()?.saturating_sub(before_bytes);
        let client_grew = report
            .resident_bytes_peak
            .saturating_sub(report.resident_bytes_before);
        let share = (server_grew + client_grew) as f64 / self.value_bytes as f64;
        table.add(&self.growth_row(), Column::Fabric, share);
        let p50_us = report.rows.first().map(|row| row.latency_us.p50);
        p50_us.ok_or_else(|| io::Error::other("ohb_memlat measured nothing"))
    }

    /// The median latency of bare UCX with these settings, in microseconds.
    fn over_ucx(self, programs: &Programs, settings: &[(&str, &str)]) -> io::Result<f64> {
        let size = self.value_bytes.to_string();
        let plain = ["--get-sizes", &size, "--set-sizes", "64", "--no-rates"];
        let more = ["--no-large", "--seconds", SECONDS];
        let arguments = [&plain[..], &more, self.buffers()].concat();
        let limits = programs.limits_with(Network::Chosen, settings, &arguments)?;
        let latency = limits.figures.first().and_then(|one| one.latency_us);
        latency
            .map(|latency| latency.p50)
            .ok_or_else(|| io::Error::other("farcache-fabric-limits measured nothing"))
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
    fn only_the_largest_into_old_memory_is_judged() {
        let judged = |fetch: Fetch| fetch.row().wanted.len() + fetch.growth_row().wanted.len();
        assert_eq!(FETCHES.map(judged), [2, 0, 0]);
        let titles = FETCHES.map(|fetch| fetch.row().title);
        let wanted = [
            "GET 512 MB",
            "GET 512 MB, into new memory each time",
            "GET 64 MB",
        ];
        assert_eq!(titles, wanted);
    }
}
