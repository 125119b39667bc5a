//! What was found, for people, for programs and as pictures.

use super::client::{Latencies, Turn};
use super::subject::Subject;
use super::{Condition, Workload};
use crate::markdown;
use crate::picture::{Chart, Picture, Series, XAxis, YAxis};
use crate::statistics::{Ratio, median};
use serde::Serialize;
use std::fmt::Write;

/// What was measured of one server under one condition.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Which.
    pub subject: Subject,
    /// Its turns.
    pub turns: Vec<Turn>,
    /// Resident memory of the server after the last turn, if there is one.
    pub resident_bytes: Option<u64>,
}

impl Measured {
    /// Nothing yet.
    pub fn new(subject: Subject) -> Measured {
        Measured {
            subject,
            turns: Vec::new(),
            resident_bytes: None,
        }
    }

    fn figures(&self, figure: impl Fn(&Turn) -> f64) -> Vec<f64> {
        self.turns.iter().map(figure).collect()
    }

    fn median(&self, figure: impl Fn(&Turn) -> f64) -> f64 {
        median(self.figures(figure)).unwrap_or(f64::NAN)
    }

    /// Points of the median turn.
    fn slower(&self) -> Vec<(f64, f64)> {
        let mut turns: Vec<&Turn> = self.turns.iter().collect();
        turns.sort_by(|one, other| one.all.mean_us.total_cmp(&other.all.mean_us));
        let middle = turns.get(turns.len() / 2);
        middle.map_or(Vec::new(), |turn| turn.slower.clone())
    }
}

/// What was measured under one condition.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was asked for.
    pub condition: Condition,
    /// By server.
    pub measured: Vec<Measured>,
}

impl Row {
    fn of(&self, subject: Subject) -> Option<&Measured> {
        self.measured
            .iter()
            .find(|measured| measured.subject == subject)
    }

    /// One server's figures over another's, turn by turn.
    pub fn ratio(
        &self,
        ours: Subject,
        theirs: Subject,
        figure: impl Fn(&Turn) -> f64,
    ) -> Option<Ratio> {
        let (ours, theirs) = (self.of(ours)?, self.of(theirs)?);
        Ratio::of(&ours.figures(&figure), &theirs.figures(&figure))
    }
}

/// Everything that one run has found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Memory of each cache, in bytes.
    pub memory_bytes: usize,
    /// Memory of the database's buffer pool, in bytes.
    pub buffer_pool_bytes: usize,
    /// Turns of each server.
    pub turns: usize,
    /// Seconds of each turn.
    pub seconds: f64,
    /// Seconds before them, where the cache is preloaded.
    pub warm_up_seconds: f64,
    /// The options of the tuned extstore.
    pub extstore: String,
    /// What was found.
    pub rows: Vec<Row>,
}

/// The heads of the columns.
const HEADS: [&str; 12] = [
    "server",
    "mean us",
    "p50 us",
    "p99 us",
    "p99.9 us",
    "per s",
    "hit ratio",
    "queries/1,000",
    "mean / memcached",
    "p99 / memcached",
    "rate / memcached",
    "mean / extstore",
];

impl Row {
    fn cells(&self, one: &Measured) -> Vec<String> {
        let ratio = |to: Subject, figure: fn(&Turn) -> f64| {
            let ratio = self.ratio(one.subject, to, figure);
            ratio.map_or("-".to_owned(), |ratio| ratio.to_string())
        };
        vec![
            one.subject.name().to_owned(),
            format!("{:.1}", one.median(|turn| turn.all.mean_us)),
            format!("{:.1}", one.median(|turn| turn.all.p50_us)),
            format!("{:.1}", one.median(|turn| turn.all.p99_us)),
            format!("{:.1}", one.median(|turn| turn.all.p999_us)),
            format!("{:.0}", one.median(Turn::throughput)),
            format!("{:.3}", one.median(Turn::hit_ratio)),
            format!("{:.1}", one.median(Turn::queries_per_1000)),
            ratio(Subject::Memcached, |turn| turn.all.mean_us),
            ratio(Subject::Memcached, |turn| turn.all.p99_us),
            ratio(Subject::Memcached, Turn::throughput),
            ratio(Subject::Extstore, |turn| turn.all.mean_us),
        ]
    }

    /// The 90th percentile of each kind of operation, for workloads of several.
    fn operations(&self, one: &Measured) -> Option<String> {
        let names = one.turns.first()?.operations.iter();
        let names: Vec<&str> = names
            .filter(|operation| operation.count > 0)
            .map(|operation| operation.name.as_str())
            .collect();
        let p90 = |name: &str| {
            let of = |turn: &Turn| -> f64 {
                let named = |operation: &&Latencies| operation.name == name;
                turn.operations
                    .iter()
                    .find(named)
                    .map_or(f64::NAN, |found| found.p90_us)
            };
            format!("{name} {:.1}", one.median(of))
        };
        let told: Vec<String> = names.iter().map(|name| p90(name)).collect();
        (told.len() > 1).then(|| format!("p90 us: {}", told.join(", ")))
    }

    /// The row as a heading and a Markdown table.
    fn markdown(&self) -> String {
        let rows = self.measured.iter().map(|one| self.cells(one));
        let table = markdown::table(&HEADS, rows);
        let mut text = format!("### {}\n\n{table}", self.condition.title());
        for one in &self.measured {
            if let Some(operations) = self.operations(one) {
                let _ = write!(text, "\n- {}: {operations}", one.subject.name());
            }
        }
        text + "\n"
    }
}

impl Report {
    /// Stale, wrong and failed reads of all turns.
    pub fn faults(&self) -> u64 {
        let measured = self.rows.iter().flat_map(|row| &row.measured);
        measured.flat_map(|one| &one.turns).map(Turn::faults).sum()
    }

    /// Reads that were checked: all lookups.
    fn lookups(&self) -> u64 {
        let measured = self.rows.iter().flat_map(|row| &row.measured);
        measured
            .flat_map(|one| &one.turns)
            .map(|turn| turn.lookups)
            .sum()
    }

    /// The conditions and all tables, as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "Caches of {} MB, a buffer pool of {} MB, {} turns of {} s each (after {} s where \
             preloaded); medians of the turns, ratios with their quartiles. Tuned extstore: `{}`. \
             {} lookups, {} stale, wrong or failed.\n\n",
            self.memory_bytes >> 20,
            self.buffer_pool_bytes >> 20,
            self.turns,
            self.seconds,
            self.warm_up_seconds,
            self.extstore,
            self.lookups(),
            self.faults(),
        );
        for row in &self.rows {
            text += &row.markdown();
            text.push('\n');
        }
        text
    }

    /// The latencies of all servers under each condition of a workload, in one picture; none where
    /// it was not measured.
    pub fn picture(&self, workload: Workload) -> Option<Picture> {
        let rows = self
            .rows
            .iter()
            .filter(|row| row.condition.workload == workload);
        let charts: Vec<Chart> = rows.map(Row::chart).collect();
        (!charts.is_empty()).then(|| Picture {
            heading: format!(
                "{}: caches of {} MB in front of MariaDB",
                workload.name(),
                self.memory_bytes >> 20
            ),
            charts,
        })
    }
}

impl Row {
    fn chart(&self) -> Chart {
        let series = |measured: &Measured| Series {
            name: measured.subject.name().to_owned(),
            is_limit: measured.subject == Subject::Database,
            points: measured.slower(),
        };
        let title = self.condition.title();
        let shorter = title
            .split_once(", ")
            .map_or(title.as_str(), |(_, rest)| rest);
        Chart {
            title: format!("{shorter}: latency, us"),
            x: XAxis::SlowerOneIn,
            y: YAxis::Log,
            series: self.measured.iter().map(series).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(mean_us: f64) -> Turn {
        let latencies = |name: &str| Latencies {
            name: name.to_owned(),
            count: 10,
            mean_us,
            p90_us: 2.0 * mean_us,
            ..Latencies::default()
        };
        Turn {
            seconds: 1.0,
            operations: vec![latencies("lookup"), latencies("update")],
            all: latencies("all"),
            slower: vec![(1.0, mean_us), (10.0, 2.0 * mean_us)],
            lookups: 10,
            hits: 9,
            queries: 1,
            ..Turn::default()
        }
    }

    fn report() -> Report {
        let measured = |subject, means: [f64; 5]| Measured {
            subject,
            turns: means.map(turn).to_vec(),
            resident_bytes: None,
        };
        Report {
            memory_bytes: 64 << 20,
            buffer_pool_bytes: 64 << 20,
            turns: 5,
            seconds: 1.0,
            warm_up_seconds: 0.5,
            extstore: "-o x".into(),
            rows: vec![Row {
                condition: Condition::query_cache(64 << 20, 4096, 4.0),
                measured: vec![
                    measured(Subject::Memcached, [10.0, 20.0, 10.0, 20.0, 10.0]),
                    measured(Subject::Fabric, [5.0, 10.0, 4.0, 12.0, 5.0]),
                ],
            }],
        }
    }

    #[test]
    fn ratios_are_those_of_the_turns() {
        let row = &report().rows[0];
        let mean = |turn: &Turn| turn.all.mean_us;
        let ratio = row.ratio(Subject::Fabric, Subject::Memcached, mean);
        let expected = Ratio {
            median: 0.5,
            quartiles: Some([0.5, 0.5]),
        };
        assert_eq!(ratio, Some(expected));
        assert_eq!(row.ratio(Subject::Fabric, Subject::Extstore, mean), None);
    }

    #[test]
    fn the_table_has_a_line_for_each_server_and_tells_faults() {
        let mut report = report();
        let text = report.markdown();
        assert!(text.contains("| memcached | 10.0 |") && text.contains("| fabric | 5.0 |"));
        assert!(text.contains("fabric: p90 us: lookup 10.0, update 10.0"));
        assert!(text.contains("100 lookups, 0 stale"));
        report.rows[0].measured[1].turns[2].stale = 3;
        assert_eq!(report.faults(), 3);
    }

    #[test]
    fn each_workload_that_was_measured_has_a_picture() {
        let report = report();
        assert!(report.picture(Workload::Tatp).is_none());
        let svg = report
            .picture(Workload::QueryCache)
            .map(|picture| picture.svg());
        let svg = svg.expect("it was measured");
        assert!(svg.contains("fabric") && svg.contains("4 x memory, preloaded"));
    }
}
