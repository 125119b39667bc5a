//! What `ohb_memhybrid` found, for people, for programs and as a picture.

use super::keys::ScanMode;
use crate::load::keys::KeyId;
use crate::load::measurement::LatencyUs;
use crate::picture::{Chart, Picture, Series, XAxis, YAxis};
use serde::Serialize;
use std::fmt;

/// What was measured of one server.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Which server.
    pub name: String,
    /// Keys stored.
    pub keys: KeyId,
    /// How long that took.
    pub load_seconds: f64,
    /// Bytes of values stored a second, in millions.
    pub load_megabytes_per_s: f64,
    /// Keys read.
    pub reads: u64,
    /// Share of the reads that found a value.
    pub success_rate: f64,
    /// Reads a second, the penalties of misses included.
    pub reads_per_s: f64,
    /// Latencies, the penalties of misses included.
    pub latency_us: LatencyUs,
    /// Latencies of the reads that found a value.
    pub hit_latency_us: LatencyUs,
    /// One read of so many took longer than so many microseconds.
    pub slower: Vec<(f64, f64)>,
}

/// Everything measured in one run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Order of the keys.
    pub scan_mode: ScanMode,
    /// Data over memory.
    pub spill_factor: f64,
    /// Memory of each server, in bytes.
    pub memory_bytes: usize,
    /// Size of each value, in bytes.
    pub value_bytes: usize,
    /// What a miss costs, in microseconds.
    pub miss_penalty_us: u64,
    /// Reads under way together.
    pub window: usize,
    /// What carried the requests.
    pub transport: String,
    /// The servers.
    pub parts: Vec<Part>,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{:.2} times {} MB of memory in values of {} bytes, {:?} reads, {} under way, a miss costs {} us",
            self.spill_factor,
            self.memory_bytes >> 20,
            self.value_bytes,
            self.scan_mode,
            self.window,
            self.miss_penalty_us,
        )?;
        writeln!(
            out,
            "{:<24}{:>10}{:>10}{:>12}{:>10}{:>10}{:>10}{:>10}",
            "", "load MB/s", "success", "reads/s", "mean us", "p50 us", "p99 us", "p99.9 us"
        )?;
        self.parts.iter().try_for_each(|part| {
            writeln!(
                out,
                "{:<24}{:>10.0}{:>9.1}%{:>12.0}{:>10.1}{:>10.1}{:>10.1}{:>10.1}",
                part.name,
                part.load_megabytes_per_s,
                part.success_rate * 100.0,
                part.reads_per_s,
                part.latency_us.mean,
                part.latency_us.p50,
                part.latency_us.p99,
                part.latency_us.p999,
            )
        })
    }
}

impl Report {
    /// The latencies of all servers in one picture.
    pub fn picture(&self) -> Picture {
        let series = |part: &Part| Series {
            name: part.name.clone(),
            is_limit: false,
            points: part.slower.clone(),
        };
        Picture {
            heading: format!(
                "{:.2} times {} MB, values of {} bytes, {:?}",
                self.spill_factor,
                self.memory_bytes >> 20,
                self.value_bytes,
                self.scan_mode
            ),
            charts: vec![Chart {
                title: "latency of a GET, us, misses with their penalty".into(),
                x: XAxis::SlowerOneIn,
                y: YAxis::Log,
                series: self.parts.iter().map(series).collect(),
            }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let part = |name: &str, success_rate| Part {
            name: name.into(),
            keys: 10,
            load_seconds: 1.0,
            load_megabytes_per_s: 500.0,
            reads: 1000,
            success_rate,
            reads_per_s: 1e5,
            latency_us: LatencyUs::default(),
            hit_latency_us: LatencyUs::default(),
            slower: vec![(1.0, 5.0), (10.0, 50.0), (100.0, 90.0)],
        };
        Report {
            scan_mode: ScanMode::Uniform,
            spill_factor: 1.5,
            memory_bytes: 256 << 20,
            value_bytes: 4096,
            miss_penalty_us: 1000,
            window: 1,
            transport: "sockets".into(),
            parts: vec![part("memory", 0.6), part("memory and SSD", 1.0)],
        }
    }

    #[test]
    fn people_see_the_success_rate_of_each() {
        let text = report().to_string();
        assert!(
            text.contains("60.0%") && text.contains("100.0%") && text.contains("memory and SSD")
        );
    }

    #[test]
    fn the_picture_has_a_line_for_each() {
        let svg = report().picture().svg();
        assert_eq!(svg.matches("<polyline").count(), 4);
        assert!(svg.contains("memory and SSD") && svg.contains("one in so many"));
    }
}
