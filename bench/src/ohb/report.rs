//! Results of the micro-benchmarks, for people and for programs.

use super::session::Benchmark;
use crate::load::measurement::LatencyUs;
use crate::sizes::size_text;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Result of one latency benchmark with one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyRow {
    /// What was done.
    pub benchmark: Benchmark,
    /// Size of each value.
    pub value_bytes: usize,
    /// Keys used in turn.
    pub keys: usize,
    /// Operations measured.
    pub operations: u64,
    /// Their latencies.
    pub latency_us: LatencyUs,
    /// Operations a second.
    pub operations_per_s: f64,
    /// Bytes of values a second.
    pub value_bytes_per_s: f64,
}

/// Everything that `ohb_memlat` measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyReport {
    /// The servers.
    pub servers: String,
    /// What carried the operations: the fabric, with its networks, or sockets.
    pub carried_by: String,
    /// Resident memory of the client once connected, before it had any value, in bytes.
    pub resident_bytes_before: u64,
    /// Most resident memory that the client ever had, in bytes.
    pub resident_bytes_peak: u64,
    /// One for each benchmark and size.
    pub rows: Vec<LatencyRow>,
}

impl fmt::Display for LatencyReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{} over {}", self.servers, self.carried_by)?;
        let mut last = None;
        for row in &self.rows {
            if last != Some(row.benchmark) {
                last = Some(row.benchmark);
                writeln!(formatter, "\n{}, latency in us", row.benchmark.name())?;
                writeln!(
                    formatter,
                    "{:>9} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12}",
                    "size", "mean", "p50", "p99", "p99.9", "max", "operations/s"
                )?;
            }
            let latency = &row.latency_us;
            writeln!(
                formatter,
                "{:>9} {:>10.2} {:>10.2} {:>10.2} {:>10.2} {:>10.2} {:>12.0}",
                size_text(row.value_bytes),
                latency.mean,
                latency.p50,
                latency.p99,
                latency.p999,
                latency.max,
                row.operations_per_s
            )?;
        }
        Ok(())
    }
}

/// Result of one combination of clients, window, batch and size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThroughputRow {
    /// What was done.
    pub benchmark: Benchmark,
    /// Client processes.
    pub clients: usize,
    /// Batches that each had under way.
    pub window: usize,
    /// Operations of a batch.
    pub batch: usize,
    /// Size of each value.
    pub value_bytes: usize,
    /// Operations a second, of all clients.
    pub operations_per_s: f64,
    /// Bytes of values a second.
    pub value_bytes_per_s: f64,
    /// From the begin of a batch to its end.
    pub batch_latency_us: LatencyUs,
}

/// Everything that `ohb_memthr` measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThroughputReport {
    /// The servers.
    pub servers: String,
    /// What carried the operations: the fabric, with its networks, or sockets.
    pub carried_by: String,
    /// One for each combination.
    pub rows: Vec<ThroughputRow>,
}

impl fmt::Display for ThroughputReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{} over {}\n", self.servers, self.carried_by)?;
        writeln!(
            formatter,
            "{:<9} {:>7} {:>6} {:>5} {:>9} {:>12} {:>10} {:>14} {:>14}",
            "",
            "clients",
            "window",
            "batch",
            "size",
            "M op/s",
            "GB/s",
            "batch p50 us",
            "batch p99.9 us"
        )?;
        for row in &self.rows {
            writeln!(
                formatter,
                "{:<9} {:>7} {:>6} {:>5} {:>9} {:>12.3} {:>10.3} {:>14.2} {:>14.2}",
                row.benchmark.name(),
                row.clients,
                row.window,
                row.batch,
                size_text(row.value_bytes),
                row.operations_per_s / 1e6,
                row.value_bytes_per_s / 1e9,
                row.batch_latency_us.p50,
                row.batch_latency_us.p999
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency_row(benchmark: Benchmark, value_bytes: usize) -> LatencyRow {
        LatencyRow {
            benchmark,
            value_bytes,
            keys: 10,
            operations: 100,
            latency_us: LatencyUs::default(),
            operations_per_s: 1e6,
            value_bytes_per_s: 64e6,
        }
    }

    #[test]
    fn each_benchmark_has_one_head_and_its_sizes() {
        let report = LatencyReport {
            servers: "a:1".into(),
            carried_by: "sockets".into(),
            resident_bytes_before: 0,
            resident_bytes_peak: 0,
            rows: vec![
                latency_row(Benchmark::Set, 64),
                latency_row(Benchmark::Get, 64),
                latency_row(Benchmark::Get, 4096),
            ],
        };
        let text = report.to_string();
        assert!(text.starts_with("a:1 over sockets\n"));
        assert_eq!(text.matches("latency in us").count(), 2);
        assert_eq!(text.matches("1000000").count(), 3);
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(
            serde_json::from_str::<LatencyReport>(&json).unwrap(),
            report
        );
    }

    #[test]
    fn the_json_has_the_names_that_others_read() {
        let report = ThroughputReport {
            servers: "a:1".into(),
            carried_by: "fabric".into(),
            rows: vec![ThroughputRow {
                benchmark: Benchmark::Mix,
                clients: 2,
                window: 3,
                batch: 4,
                value_bytes: 5,
                operations_per_s: 6.0,
                value_bytes_per_s: 30.0,
                batch_latency_us: LatencyUs::default(),
            }],
        };
        let json = serde_json::to_value(&report).unwrap();
        let row = &json["rows"][0];
        assert_eq!(row["benchmark"], "mix");
        let numbers = ["clients", "window", "batch", "value_bytes"].map(|name| row[name].as_u64());
        assert_eq!(numbers, [2, 3, 4, 5].map(Some));
        assert_eq!(row["operations_per_s"].as_f64(), Some(6.0));
        assert!(row["batch_latency_us"]["p999"].is_number());
        assert!(report.to_string().contains("MIX 10:90"));
    }
}
