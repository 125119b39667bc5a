//! What was found, for people, for programs and as a picture.

use super::outcome::Sum;
use super::subject::Subject;
use super::{Bench, Condition};
use crate::markdown;
use crate::picture::{Chart, Picture, Series, XAxis, YAxis};
use crate::statistics::{Ratio, median};
use serde::Serialize;

/// What was measured in one turn.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Turn {
    /// What the clients did.
    pub sum: Sum,
    /// Processor time of all servers over the time.
    pub server_share: f64,
    /// Processor time of all client processes over the time.
    pub client_share: f64,
    /// How often a second servers gave up their processor or lost it.
    pub server_switches_per_s: f64,
}

impl Turn {
    fn throughput(&self) -> f64 {
        self.sum.operations_per_s
    }

    /// Task switches of the servers for so many operations.
    fn switches_per_1000(&self) -> f64 {
        1000.0 * self.server_switches_per_s / self.sum.operations_per_s
    }
}

/// What was measured of one subject under one condition.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Which.
    pub subject: Subject,
    /// Its turns.
    pub turns: Vec<Turn>,
}

impl Measured {
    /// Nothing yet.
    pub fn new(subject: Subject) -> Measured {
        Measured {
            subject,
            turns: Vec::new(),
        }
    }

    fn figures(&self, figure: impl Fn(&Turn) -> f64) -> Vec<f64> {
        self.turns.iter().map(figure).collect()
    }

    fn median(&self, figure: impl Fn(&Turn) -> f64) -> f64 {
        median(self.figures(figure)).unwrap_or(f64::NAN)
    }
}

/// What was measured under one condition.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was asked for.
    pub condition: Condition,
    /// By subject.
    pub measured: Vec<Measured>,
}

impl Row {
    /// The throughput of one over another's, turn by turn.
    pub fn ratio(&self, ours: Subject, theirs: Subject) -> Option<Ratio> {
        let of = |subject| self.measured.iter().find(|one| one.subject == subject);
        let (ours, theirs) = (of(ours)?, of(theirs)?);
        let figures = |one: &Measured| one.figures(Turn::throughput);
        Ratio::of(&figures(ours), &figures(theirs))
    }

    fn cells(&self, one: &Measured) -> Vec<String> {
        let ratio = |to| {
            let ratio = self.ratio(one.subject, to);
            ratio.map_or("-".to_owned(), |ratio| ratio.to_string())
        };
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        vec![
            self.condition.clients.to_string(),
            one.subject.name().to_owned(),
            format!("{:.0}", one.median(Turn::throughput) / 1e3),
            ratio(Subject::Memcached),
            ratio(Subject::MemcachedLibrary),
            format!("{:.1}", one.median(|turn| turn.sum.latency_us.p50)),
            format!("{:.1}", one.median(|turn| turn.sum.latency_us.p99)),
            percent(one.median(|turn| turn.server_share)),
            percent(one.median(|turn| turn.client_share)),
            format!("{:.1}", one.median(Turn::switches_per_1000)),
        ]
    }
}

/// The heads of the columns.
const HEADS: [&str; 10] = [
    "clients",
    "servers, way",
    "1,000/s",
    "/ memcached",
    "/ memcached-library",
    "p50 us",
    "p99 us",
    "servers' core",
    "clients' core",
    "switches/1,000",
];

/// Everything that one run has found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Servers of each kind.
    pub servers: usize,
    /// Client processes at most.
    pub processes: usize,
    /// Memory of each server, in bytes.
    pub memory_bytes: usize,
    /// Records.
    pub records: u64,
    /// Size of each.
    pub record_bytes: usize,
    /// On how many servers a record lies, and how.
    pub redundancy: String,
    /// Turns of each subject.
    pub turns: usize,
    /// Seconds of each turn.
    pub seconds: f64,
    /// Seconds before them.
    pub warm_up_seconds: f64,
    /// What was found.
    pub rows: Vec<Row>,
}

/// What distinguishes a condition, for people.
pub fn title(condition: &Condition) -> String {
    format!(
        "{}, {} clients, {} under way each",
        condition.workload.name(),
        condition.clients,
        condition.depth
    )
}

impl Report {
    /// Nothing yet.
    pub fn of(bench: &Bench) -> Report {
        Report {
            servers: bench.servers,
            processes: bench.processes,
            memory_bytes: bench.memory_bytes,
            records: bench.records,
            record_bytes: bench.record_bytes,
            redundancy: bench.redundancy.clone(),
            turns: bench.turns,
            seconds: bench.seconds,
            warm_up_seconds: bench.warm_up_seconds,
            rows: Vec::new(),
        }
    }

    fn turns(&self) -> impl Iterator<Item = &Turn> {
        let measured = self.rows.iter().flat_map(|row| &row.measured);
        measured.flat_map(|one| &one.turns)
    }

    /// Requests that ended otherwise than they should, of all turns.
    pub fn faults(&self) -> u64 {
        self.turns().map(|turn| turn.sum.faults()).sum()
    }

    /// The first error that a request ended with.
    pub fn first_error(&self) -> Option<&str> {
        self.turns()
            .find_map(|turn| turn.sum.first_error.as_deref())
    }

    /// The workloads and numbers of operations under way that were measured, each once.
    fn parts(&self) -> Vec<Condition> {
        let mut parts: Vec<Condition> = Vec::new();
        for row in &self.rows {
            let part = Condition {
                clients: 0,
                ..row.condition.clone()
            };
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts
    }

    fn rows_of<'r>(&'r self, part: &Condition) -> impl Iterator<Item = &'r Row> {
        let (workload, depth) = (part.workload, part.depth);
        let is_of =
            move |row: &&Row| row.condition.workload == workload && row.condition.depth == depth;
        self.rows.iter().filter(is_of)
    }

    /// The conditions and all tables, as Markdown.
    pub fn markdown(&self) -> String {
        let reads: u64 = self.turns().map(|turn| turn.sum.reads).sum();
        let mut text = format!(
            "{} servers of {} MB each, filled and emptied before, {} records of {} B, redundancy \
             `{}`; up to {} client processes; {} turns of {} s each, after {} s; medians of the \
             turns, ratios with their quartiles. {reads} reads, {} absent, failed, wrong or \
             stale.\n",
            self.servers,
            self.memory_bytes >> 20,
            self.records,
            self.record_bytes,
            self.redundancy,
            self.processes,
            self.turns,
            self.seconds,
            self.warm_up_seconds,
            self.faults(),
        );
        for part in self.parts() {
            let (workload, depth) = (part.workload, part.depth);
            let rows = self.rows_of(&part);
            let lines = rows.flat_map(|row| row.measured.iter().map(|one| row.cells(one)));
            text += &format!(
                "\n### {}: {}, {depth} under way per client\n\n{}",
                workload.name(),
                workload.mix(),
                markdown::table(&HEADS, lines)
            );
        }
        text
    }

    /// Throughput by clients, a chart for each workload.
    pub fn picture(&self) -> Picture {
        let charts = self.parts().into_iter().map(|part| self.chart(&part));
        Picture {
            heading: format!(
                "YCSB, {} servers on one core, clients on another",
                self.servers
            ),
            charts: charts.collect(),
        }
    }

    fn chart(&self, part: &Condition) -> Chart {
        let mut series: Vec<Series> = Vec::new();
        for row in self.rows_of(part) {
            for one in &row.measured {
                let point = (
                    row.condition.clients as f64,
                    one.median(Turn::throughput) / 1e3,
                );
                let name = one.subject.name();
                match series.iter_mut().find(|series| series.name == name) {
                    Some(series) => series.points.push(point),
                    None => series.push(Series {
                        name: name.into(),
                        is_limit: false,
                        points: vec![point],
                    }),
                }
            }
        }
        Chart {
            title: format!(
                "{}, {} under way: 1,000/s",
                part.workload.name(),
                part.depth
            ),
            x: XAxis::Clients,
            y: YAxis::Log,
            series,
        }
    }
}
