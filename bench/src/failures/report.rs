//! What clients saw before, while and after a server was away.

use super::{Bench, Subject};
use crate::markdown;
use crate::picture::{Chart, Picture, Series, XAxis, YAxis};
use crate::ycsb::outcome::{Bucket, Sum};
use serde::Serialize;

/// Throughput is back where it is so much of what it was.
const BACK_SHARE: f64 = 0.9;

/// What was seen of one subject.
#[derive(Clone, Debug, Serialize)]
pub struct Course {
    /// Who.
    pub subject: Subject,
    /// When the server was killed, in seconds from the beginning.
    pub killed_s: f64,
    /// When it listened again.
    pub returned_s: f64,
    /// Length of each part, in seconds.
    pub part_s: f64,
    /// What the clients did.
    #[serde(serialize_with = "whole")]
    pub sum: Sum,
}

/// A sum with its parts, of which the courses are made.
fn whole<S: serde::Serializer>(sum: &Sum, serializer: S) -> Result<S::Ok, S::Error> {
    (sum, &sum.buckets).serialize(serializer)
}

/// A time of the course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Before,
    Away,
    Back,
}

impl Course {
    /// The parts of a phase; those in which it changes belong to the later one.
    fn parts(&self, phase: Phase) -> &[Bucket] {
        let at = |seconds: f64| ((seconds / self.part_s) as usize).min(self.whole_parts().len());
        let (killed, returned) = (at(self.killed_s), at(self.returned_s));
        match phase {
            Phase::Before => &self.whole_parts()[..killed],
            Phase::Away => &self.whole_parts()[killed..returned],
            Phase::Back => &self.whole_parts()[returned..],
        }
    }

    /// All but the last, which is cut off.
    fn whole_parts(&self) -> &[Bucket] {
        let parts = &self.sum.buckets;
        &parts[..parts.len().saturating_sub(1)]
    }

    fn per_s(&self, phase: Phase, figure: impl Fn(&Bucket) -> u64) -> f64 {
        let parts = self.parts(phase);
        let sum: u64 = parts.iter().map(figure).sum();
        sum as f64 / (parts.len() as f64 * self.part_s)
    }

    fn p99_us(&self, phase: Phase) -> f64 {
        let mut all = Bucket::default();
        self.parts(phase).iter().for_each(|part| all.add(part));
        all.latency_us(0.99).unwrap_or(f64::NAN)
    }

    /// Seconds from the loss until throughput was back for good while the server was away; none
    /// where it was not.
    fn seconds_until_back(&self) -> Option<f64> {
        let wanted = BACK_SHARE * self.per_s(Phase::Before, |part| part.operations);
        let is_back = |part: &Bucket| part.operations as f64 / self.part_s >= wanted;
        let parts = self.parts(Phase::Away);
        let first = parts.iter().position(is_back)?;
        Some(first as f64 * self.part_s)
    }

    /// Parts in which nothing was done, in seconds.
    fn seconds_without_any(&self) -> f64 {
        let idle = self
            .whole_parts()
            .iter()
            .filter(|part| part.operations == 0);
        idle.count() as f64 * self.part_s
    }

    fn cells(&self) -> Vec<String> {
        let rates = |figure: fn(&Bucket) -> u64| {
            let phases = [Phase::Before, Phase::Away, Phase::Back];
            let rates = phases.map(|phase| format!("{:.0}", self.per_s(phase, figure)));
            rates.join(", ")
        };
        let p99 = [Phase::Before, Phase::Away, Phase::Back].map(|phase| self.p99_us(phase));
        let back = self.seconds_until_back();
        vec![
            self.subject.servers.to_string(),
            self.subject.name(),
            rates(|part| part.operations),
            p99.map(|us| format!("{us:.0}")).join(", "),
            rates(Bucket::database_reads),
            rates(|part| part.failed_reads + part.failed_writes),
            format!("{:.1}", self.seconds_without_any()),
            back.map_or("-".into(), |seconds| format!("{seconds:.1}")),
            format!("{}, {}", self.sum.wrong, self.sum.stale),
        ]
    }

    fn points(&self, figure: impl Fn(&Bucket) -> f64) -> Vec<(f64, f64)> {
        let parts = self.whole_parts().iter().enumerate();
        parts
            .map(|(at, part)| ((at as f64 + 0.5) * self.part_s, figure(part)))
            .collect()
    }
}

/// The heads of the columns.
const HEADS: [&str; 9] = [
    "servers",
    "who",
    "operations/s",
    "p99 us",
    "database reads/s",
    "failed/s",
    "s without any",
    "s until back",
    "wrong, stale",
];

/// Everything that one run has found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What carried the requests to farcached.
    pub transport: String,
    /// Which workload.
    pub workload: &'static str,
    /// Clients, and operations that each kept under way.
    pub clients: (usize, usize),
    /// Records, and the size of each.
    pub records: (u64, usize),
    /// Memory of each server, in bytes.
    pub memory_bytes: usize,
    /// How long a request could take, in seconds.
    pub timeout_s: f64,
    /// What was found.
    pub courses: Vec<Course>,
}

impl Report {
    /// Nothing yet.
    pub fn of(bench: &Bench) -> Report {
        Report {
            transport: bench.transport.clone(),
            workload: bench.workload.name(),
            clients: (bench.clients, bench.depth),
            records: (bench.records, bench.record_bytes),
            memory_bytes: bench.memory_bytes,
            timeout_s: bench.timeout_s,
            courses: Vec::new(),
        }
    }

    /// Reads that showed what nobody has stored. What is stale is told only: caches whose clients
    /// give up a server each at a time of its own show that by their nature.
    pub fn wrong(&self) -> u64 {
        self.courses.iter().map(|course| course.sum.wrong).sum()
    }

    /// The conditions and the table, as Markdown.
    pub fn markdown(&self) -> String {
        let (clients, depth) = self.clients;
        let (records, bytes) = self.records;
        let rows = self.courses.iter().map(Course::cells);
        format!(
            "YCSB {}, {clients} clients with {depth} under way each, {records} records of {bytes} \
             B, servers of {} MB; farcached over {}, memcached over sockets, both by our library; \
             a request may take {} s. Three figures: before a server is killed, while it is away, \
             after it is back, empty. Database reads are misses and failed reads.\n\n{}",
            self.workload,
            self.memory_bytes >> 20,
            self.transport,
            self.timeout_s,
            markdown::table(&HEADS, rows)
        )
    }

    /// Throughput, percentile and database reads over time, with so many servers.
    pub fn picture(&self, servers: usize) -> Option<Picture> {
        let courses = self.courses.iter();
        let courses: Vec<_> = courses
            .filter(|one| one.subject.servers == servers)
            .collect();
        let first = courses.first()?;
        let chart = |title: &str, y, figure: &dyn Fn(&Course, &Bucket) -> f64| Chart {
            title: title.into(),
            x: XAxis::Seconds,
            y,
            series: courses
                .iter()
                .map(|course| Series {
                    name: course.subject.name(),
                    is_limit: false,
                    points: course.points(|part| figure(course, part)),
                })
                .collect(),
        };
        Some(Picture {
            heading: format!(
                "{servers} servers; one is killed at {:.0} s and back, empty, at {:.0} s",
                first.killed_s, first.returned_s
            ),
            charts: vec![
                chart("1,000 operations/s", YAxis::Even, &|course, part| {
                    part.operations as f64 / course.part_s / 1e3
                }),
                chart("99th percentile, us", YAxis::Log, &|_, part| {
                    part.latency_us(0.99).unwrap_or(f64::NAN)
                }),
                chart("1,000 database reads/s", YAxis::Even, &|course, part| {
                    part.database_reads() as f64 / course.part_s / 1e3
                }),
            ],
        })
    }

    /// The numbers of servers that were watched, each once.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.courses.iter().map(|one| one.subject.servers).collect();
        sizes.dedup();
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_harness::server_process::Product;

    fn part(operations: u64, misses: u64) -> Bucket {
        let mut part = Bucket {
            operations,
            reads: operations,
            misses,
            ..Bucket::default()
        };
        (0..operations).for_each(|_| part.add_latency(10_000));
        part
    }

    fn course() -> Course {
        let counts = [
            (100, 0),
            (100, 0),
            (0, 0),
            (50, 40),
            (95, 5),
            (100, 1),
            (100, 30),
            (7, 0),
        ];
        Course {
            subject: Subject {
                product: Product::Farcached,
                servers: 3,
                redundancy: "replicate:3".into(),
            },
            killed_s: 1.1,
            returned_s: 3.0,
            part_s: 0.5,
            sum: Sum {
                buckets: counts
                    .map(|(operations, misses)| part(operations, misses))
                    .into(),
                ..Sum::default()
            },
        }
    }

    #[test]
    fn a_course_is_told_in_three_phases() {
        let course = course();
        let rates = [Phase::Before, Phase::Away, Phase::Back]
            .map(|phase| course.per_s(phase, |part| part.operations));
        // Two parts, four parts, one part; the last is cut off.
        assert_eq!(rates, [200.0, 245.0 / 2.0, 200.0]);
        assert_eq!(
            course.per_s(Phase::Away, Bucket::database_reads),
            46.0 / 2.0
        );
        assert_eq!(course.seconds_until_back(), Some(1.0));
        assert_eq!(course.seconds_without_any(), 0.5);
    }

    #[test]
    fn each_number_of_servers_has_a_line_and_a_picture() {
        let report = Report {
            transport: "fabric".into(),
            workload: "B",
            clients: (8, 1),
            records: (10, 100),
            memory_bytes: 1 << 20,
            timeout_s: 1.0,
            courses: vec![course()],
        };
        assert!(
            report
                .markdown()
                .contains("| 3 | replicate:3 | 200, 122, 200 |")
        );
        assert_eq!(report.sizes(), [3]);
        let svg = report.picture(3).expect("it was watched").svg();
        assert!(svg.contains("killed at 1 s") && svg.contains("database reads"));
        assert!(report.picture(5).is_none());
    }
}
