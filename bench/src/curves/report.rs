//! Hit ratios for people, for programs and as a picture.

use super::Figures;
use crate::picture::{Chart, Picture, Series, XAxis, YAxis};
use serde::Serialize;
use std::fmt;

/// One replay.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// What was asked.
    pub name: String,
    /// Whether it is a simulation.
    pub is_simulated: bool,
    /// Memory for items, in bytes.
    pub memory_bytes: u64,
    /// Resident memory of a server at the end, in bytes.
    pub resident_bytes: Option<u64>,
    /// What it counted.
    pub figures: Figures,
}

/// All replays of one trace.
#[derive(Clone, Debug, Serialize)]
pub struct Curves {
    /// The trace.
    pub trace: String,
    /// Its requests.
    pub requests: usize,
    /// Its objects.
    pub objects: u32,
    /// Bytes of all its keys and values.
    pub footprint_bytes: u64,
    /// The replays, by memory.
    pub points: Vec<Point>,
}

/// Width of a column.
const WIDTH: usize = 11;

impl Curves {
    /// What was asked, in the order of first appearance.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for point in &self.points {
            if !names.contains(&point.name.as_str()) {
                names.push(&point.name);
            }
        }
        names
    }

    fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.points.iter().map(|point| point.memory_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    fn find(&self, name: &str, memory_bytes: u64) -> Option<&Point> {
        let mut points = self.points.iter();
        points.find(|point| point.name == name && point.memory_bytes == memory_bytes)
    }

    fn write_table(
        &self,
        out: &mut fmt::Formatter<'_>,
        title: &str,
        ratio: fn(&Figures) -> f64,
    ) -> fmt::Result {
        write!(out, "{title:<20}")?;
        let names = self.names();
        for name in &names {
            write!(out, "{name:>WIDTH$}")?;
        }
        writeln!(out)?;
        for bytes in self.sizes() {
            let percent = bytes as f64 * 100.0 / self.footprint_bytes.max(1) as f64;
            write!(
                out,
                "{:>10.2} MB {percent:>4.1} %",
                bytes as f64 / f64::from(1 << 20)
            )?;
            for name in &names {
                match self.find(name, bytes) {
                    Some(point) => write!(out, "{:>WIDTH$.4}", ratio(&point.figures))?,
                    None => write!(out, "{:>WIDTH$}", "")?,
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn write_notes(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for point in &self.points {
            let megabytes = point.memory_bytes as f64 / f64::from(1 << 20);
            if point.figures.refused > 0 {
                let (refused, sets) = (
                    point.figures.refused,
                    point.figures.requests - point.figures.hits,
                );
                writeln!(
                    out,
                    "{}, {megabytes:.2} MB: {refused} of {sets} values refused",
                    point.name
                )?;
            }
            if let (Some(ssd), Some(per_hit)) =
                (&point.figures.ssd, point.figures.bytes_written_per_hit())
            {
                writeln!(
                    out,
                    "{}, {megabytes:.2} MB: {} MB of SSD, {} MB written, {per_hit:.0} bytes \
                     written per hit, {} values read",
                    point.name,
                    ssd.bytes >> 20,
                    ssd.bytes_written >> 20,
                    ssd.reads
                )?;
            }
            if let Some(resident) = point.resident_bytes {
                writeln!(
                    out,
                    "{}, {megabytes:.2} MB: {} MB resident",
                    point.name,
                    resident >> 20
                )?;
            }
        }
        Ok(())
    }

    /// Hit ratio and byte hit ratio by memory.
    pub fn picture(&self) -> Picture {
        let chart = |title: &str, ratio: fn(&Figures) -> f64| Chart {
            title: title.into(),
            x: XAxis::MemoryBytes,
            y: YAxis::Percent,
            series: self.series(ratio),
        };
        Picture {
            heading: format!(
                "{}: {} requests for {} objects of {:.1} MB",
                self.trace,
                self.requests,
                self.objects,
                self.footprint_bytes as f64 / f64::from(1 << 20)
            ),
            charts: vec![
                chart("hit ratio, %", Figures::hit_ratio),
                chart("byte hit ratio, %", Figures::byte_hit_ratio),
            ],
        }
    }

    fn series(&self, ratio: fn(&Figures) -> f64) -> Vec<Series> {
        let series = |name: &str| {
            let points = self.points.iter().filter(|point| point.name == name);
            let place = |point: &Point| (point.memory_bytes as f64, ratio(&point.figures) * 100.0);
            Series {
                name: name.into(),
                is_limit: points.clone().all(|point| point.is_simulated),
                points: points.map(place).collect(),
            }
        };
        self.names().into_iter().map(series).collect()
    }
}

impl fmt::Display for Curves {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{}: {} requests for {} objects, {:.1} MB of keys and values",
            self.trace,
            self.requests,
            self.objects,
            self.footprint_bytes as f64 / f64::from(1 << 20)
        )?;
        self.write_table(out, "hit ratio", Figures::hit_ratio)?;
        self.write_table(out, "byte hit ratio", Figures::byte_hit_ratio)?;
        self.write_notes(out)
    }
}
