//! What clients saw before, while and after servers came and went.

use super::Options;
use farcache_bench::markdown;
use farcache_bench::picture::{Chart, Picture, Series, XAxis, YAxis};
use farcache_harness::server_process::Product;
use serde::Serialize;

/// What a client did in a part of the time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Part {
    /// Keys asked for.
    pub reads: u64,
    /// Of these, how many were there.
    pub hits: u64,
    /// New versions stored that no miss had asked for.
    pub updates: u64,
    /// Values read that nobody had stored under that key.
    pub wrong: u64,
    /// Values older than one whose write had been acknowledged.
    pub stale: u64,
    /// Reads and writes that ended with an error.
    pub failed: u64,
    /// Of each read that was answered, how long it took from when it was due.
    pub latencies_us: Vec<u64>,
}

impl Part {
    fn add(&mut self, other: &Part) {
        self.reads += other.reads;
        self.hits += other.hits;
        self.updates += other.updates;
        self.wrong += other.wrong;
        self.stale += other.stale;
        self.failed += other.failed;
        self.latencies_us.extend(&other.latencies_us);
    }

    fn sum<'p>(parts: impl Iterator<Item = &'p Part>) -> Part {
        parts.fold(Part::default(), |mut sum, part| {
            sum.add(part);
            sum
        })
    }

    fn hit_percent(&self) -> f64 {
        100.0 * self.hits as f64 / self.reads as f64
    }

    /// The latency that so large a share of the reads did not exceed (the nearest rank).
    fn latency_us(&self, share: f64) -> f64 {
        let mut sorted = self.latencies_us.clone();
        sorted.sort_unstable();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        let latency = sorted.get(rank.saturating_sub(1));
        latency.map_or(f64::NAN, |latency| *latency as f64)
    }

    fn faults(&self) -> u64 {
        self.wrong + self.stale + self.failed
    }
}

/// From when on a client went by so many servers.
#[derive(Clone, Debug, Serialize)]
pub struct Seen {
    /// In seconds from the beginning; 0 where it was before.
    pub after_s: f64,
    /// Servers.
    pub servers: usize,
}

/// What came of a client.
#[derive(Clone, Debug, Serialize)]
pub struct ClientCourse {
    /// Its language.
    pub language: &'static str,
    /// Whom it went by.
    pub seen: Vec<Seen>,
    /// What it did.
    pub parts: Vec<Part>,
}

/// What was done to the servers, in seconds from the beginning.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Events {
    /// The fourth was started.
    pub joins_s: f64,
    /// It listened.
    pub joined_s: f64,
    /// It had all of its keys.
    pub settled_s: f64,
    /// Another one began to leave.
    pub leaves_s: f64,
    /// It owned nothing any more.
    pub left_s: f64,
    /// It was stopped.
    pub stopped_s: f64,
}

/// What was seen of one fleet.
#[derive(Clone, Debug, Serialize)]
pub struct Course {
    /// Which.
    pub fleet: &'static str,
    /// Length of a part.
    pub part_s: f64,
    /// What was done to it.
    pub events: Events,
    /// What came of the clients.
    pub clients: Vec<ClientCourse>,
}

/// A time of the course. Parts in which it changes belong to the later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Before,
    Joined,
    Left,
}

const PHASES: [Phase; 3] = [Phase::Before, Phase::Joined, Phase::Left];

impl Course {
    fn phase(&self, part: usize) -> Phase {
        let at = |seconds: f64| (seconds / self.part_s) as usize;
        if part < at(self.events.joins_s) {
            Phase::Before
        } else if part < at(self.events.leaves_s) {
            Phase::Joined
        } else {
            Phase::Left
        }
    }

    /// What these clients did, in each phase.
    fn phases(&self, clients: &[ClientCourse]) -> [Part; 3] {
        PHASES.map(|phase| {
            let parts = clients
                .iter()
                .flat_map(|client| client.parts.iter().enumerate());
            let of_phase = parts.filter(|(at, _)| self.phase(*at) == phase);
            Part::sum(of_phase.map(|(_, part)| part))
        })
    }

    /// What these clients did, part by part.
    fn over_time(&self, clients: &[ClientCourse], figure: fn(&Part) -> f64) -> Vec<(f64, f64)> {
        let counts = clients.iter().map(|client| client.parts.len());
        let points = (0..counts.max().unwrap_or(0)).map(|at| {
            let parts = clients.iter().filter_map(|client| client.parts.get(at));
            let seconds = (at as f64 + 0.5) * self.part_s;
            (seconds, figure(&Part::sum(parts)))
        });
        points.collect()
    }

    fn line(&self, name: &str, clients: &[ClientCourse]) -> Vec<String> {
        let phases = self.phases(clients);
        let all = Part::sum(phases.iter());
        let three = |figure: fn(&Part) -> String| phases.each_ref().map(figure).join(", ");
        let heard = |servers, since| heard(clients, servers, since);
        vec![
            self.fleet.to_owned(),
            name.to_owned(),
            all.reads.to_string(),
            three(|part| format!("{:.2}", part.hit_percent())),
            three(|part| {
                (part.reads - part.hits - part.failed.min(part.reads - part.hits)).to_string()
            }),
            three(|part| format!("{:.0}", part.latency_us(0.5))),
            three(|part| format!("{:.0}", part.latency_us(0.99))),
            format!("{:.1}", all.latency_us(1.0) / 1e3),
            format!("{}, {}, {}", all.wrong, all.stale, all.failed),
            heard(4, self.events.joins_s),
            heard(3, self.events.leaves_s),
        ]
    }

    fn lines(&self) -> impl Iterator<Item = Vec<String>> {
        let each = self.clients.iter();
        let each = each.map(|one| self.line(one.language, std::slice::from_ref(one)));
        std::iter::once(self.line("all", &self.clients)).chain(each)
    }

    fn chart_of_clients(&self) -> Chart {
        let line_of = |client: &ClientCourse| {
            let points = self.over_time(std::slice::from_ref(client), Part::hit_percent);
            line(client.language, points)
        };
        Chart {
            title: format!("{}: hit ratio of each client, %", self.fleet),
            x: XAxis::Seconds,
            y: YAxis::Percent,
            series: self.clients.iter().map(line_of).collect(),
        }
    }

    fn happened(&self) -> String {
        let events = &self.events;
        format!(
            "{}: the fourth server started at {:.2} s, listened {:.2} s later and had its keys after {:.2} s; \
             one began to leave at {:.2} s, owned nothing after {:.2} s and was stopped after {:.2} s.\n",
            self.fleet,
            events.joins_s,
            events.joined_s - events.joins_s,
            events.settled_s - events.joins_s,
            events.leaves_s,
            events.left_s - events.leaves_s,
            events.stopped_s - events.leaves_s,
        )
    }
}

/// How long after that all of these clients went by so many servers.
fn heard(clients: &[ClientCourse], servers: usize, since_s: f64) -> String {
    let each = clients.iter().map(|client| {
        let later = |one: &&Seen| one.servers == servers && one.after_s >= since_s;
        let first = client.seen.iter().find(later);
        first.map_or(f64::NAN, |one| one.after_s - since_s)
    });
    format!("{:.2}", each.fold(0.0, f64::max))
}

/// The heads of the columns. Three figures: before a server joins, from then on, and from when one
/// leaves.
const HEADS: [&str; 11] = [
    "fleet",
    "client",
    "reads",
    "hits %",
    "misses",
    "p50 us",
    "p99 us",
    "max ms",
    "wrong, stale, failed",
    "s to hear of the joining",
    "of the leaving",
];

/// Everything that a run has found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Keys of each client, and bytes of a value.
    keys: (usize, usize),
    /// Operations a second of each client.
    rate: u64,
    /// How often clients asked for the servers.
    poll_ms: u64,
    /// What was found.
    pub courses: Vec<Course>,
}

impl Report {
    /// Nothing yet.
    pub fn of(options: &Options) -> Report {
        Report {
            keys: (options.keys, options.value_bytes),
            rate: options.rate,
            poll_ms: options.poll_ms,
            courses: Vec::new(),
        }
    }

    /// What clients of farcached must not meet.
    pub fn faults_of_farcached(&self) -> u64 {
        let ours = self.courses.iter();
        let ours = ours.filter(|course| course.fleet == Product::Farcached.name());
        let clients = ours.flat_map(|course| &course.clients);
        let parts = clients.flat_map(|client| &client.parts);
        parts.map(Part::faults).sum()
    }

    /// Conditions and figures.
    pub fn markdown(&self) -> String {
        let (keys, bytes) = self.keys;
        let happened: String = self.courses.iter().map(Course::happened).collect();
        format!(
            "Clients of six languages, each with {keys} keys of {bytes} bytes and {} operations a \
             second, asking for the servers every {} ms. Three figures: before the fourth server \
             joins, from then on, and from when one leaves.\n\n{happened}\n{}",
            self.rate,
            self.poll_ms,
            markdown::table(&HEADS, self.courses.iter().flat_map(Course::lines))
        )
    }

    /// Hit ratio and 99th percentile over time.
    pub fn picture(&self) -> Picture {
        let of_fleets = |title: &str, y, figure| Chart {
            title: title.into(),
            x: XAxis::Seconds,
            y,
            series: self
                .courses
                .iter()
                .map(|course| line(course.fleet, course.over_time(&course.clients, figure)))
                .collect(),
        };
        let mut charts = vec![
            of_fleets("hit ratio, %", YAxis::Percent, Part::hit_percent),
            of_fleets("99th percentile of reads, us", YAxis::Log, |part| {
                part.latency_us(0.99)
            }),
        ];
        // One line for all says enough where no client misses anything.
        let theirs = self.courses.iter();
        let theirs = theirs.filter(|course| course.fleet == Product::Memcached.name());
        charts.extend(theirs.map(Course::chart_of_clients));
        let times = self.courses.first().map(|course| &course.events);
        let (joins_s, leaves_s) = times.map_or((0.0, 0.0), |one| (one.joins_s, one.leaves_s));
        Picture {
            heading: format!(
                "Clients of six languages and three servers; a fourth joins at {joins_s:.0} s, one \
                 leaves at {leaves_s:.0} s"
            ),
            charts,
        }
    }
}

fn line(name: &str, points: Vec<(f64, f64)>) -> Series {
    Series {
        name: name.into(),
        is_limit: false,
        points,
    }
}
