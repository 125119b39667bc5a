//! One value at a time by every transport, from 1 B to 512 MB: shared memory, UCX over TCP, our
//! sockets, bare UCX over TCP and memcached; and the one that the client takes by itself where
//! UCX's TCP is all that leads to the server, beside the better of the two that it can choose from.

use super::programs::Programs;
use super::table::{Column, Row, Wanted};
use super::{Bench, Network, Results};
use crate::host_memory;
use crate::limits::Operation;
use crate::ohb::report::LatencyReport;
use crate::ohb::session::Benchmark;
use crate::picture::{Chart, Picture, Series, XAxis, YAxis};
use crate::sizes::size_text;
use farcache_harness::server_process::{Product, ServerProcess};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use std::collections::BTreeMap;
use std::io;

const KB: usize = 1 << 10;
const MB: usize = 1 << 20;
/// Sizes of the values that all servers hold beside each other.
const SIZES: [usize; 12] = [
    1,
    64,
    KB,
    4 * KB,
    8 * KB,
    16 * KB,
    64 * KB,
    256 * KB,
    MB,
    4 * MB,
    16 * MB,
    64 * MB,
];
const SIZES_SHORT: [usize; 4] = [64, 4 * KB, 64 * KB, MB];
/// Fetched and stored a few times only, into memory at hand.
const LARGEST: usize = 512 * MB;
const LARGEST_ITERATIONS: &str = "3";
/// Bare UCX gives up on longer ones where the machine is busy.
const BARE_BYTES_MAX: usize = 4 * MB;
const OPTIONS: [&str; 4] = ["-m", "3072", "-I", "1024m"];
/// What the servers and their clients touch for the first time while they are measured.
const HOST_MEMORY_BYTES: usize = 6 << 30;
/// How many times as long as the better path the chosen one may take.
const OF_BETTER_MAX: f64 = 1.1;
/// Share of the scope's seconds that each size is measured in each turn, for each of GET and SET.
const TURN_SHARE: f64 = 0.1;
/// The order of the turns is the same in each run.
const SEED: u64 = 1;

/// What carries the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Shared,
    UcxTcp,
    Sockets,
    Chosen,
    Bare,
    Memcached,
}

impl Way {
    const ALL: [Way; 6] = [
        Way::Shared,
        Way::UcxTcp,
        Way::Sockets,
        Way::Chosen,
        Way::Bare,
        Way::Memcached,
    ];

    /// For people.
    fn name(self) -> &'static str {
        match self {
            Way::Shared => "fabric, shared memory",
            Way::UcxTcp => "fabric, UCX tcp, demanded",
            Way::Sockets => "sockets, demanded",
            Way::Chosen => "as chosen, UCX tcp alone",
            Way::Bare => "bare UCX tcp",
            Way::Memcached => "memcached",
        }
    }

    /// The client library's transport; none of bare UCX.
    fn transport(self) -> Option<&'static str> {
        match self {
            Way::Shared | Way::UcxTcp => Some("fabric"),
            Way::Sockets | Way::Memcached => Some("tcp"),
            Way::Chosen => Some("auto"),
            Way::Bare => None,
        }
    }

    fn network(self) -> Network {
        match self {
            Way::Shared => Network::Chosen,
            _ => Network::Tcp,
        }
    }

    /// The row and the column of its figure.
    fn place(self, point: Point) -> (Row, Column) {
        let (row, column) = match self {
            Way::Shared => ("over shared memory", Column::Fabric),
            Way::UcxTcp => ("over UCX tcp, demanded", Column::Fabric),
            Way::Bare => ("over UCX tcp, demanded", Column::Limit),
            Way::Chosen => ("as chosen where UCX tcp is all", Column::Fabric),
            Way::Sockets => ("as chosen where UCX tcp is all", Column::Sockets),
            Way::Memcached => ("as chosen where UCX tcp is all", Column::Memcached),
        };
        (
            Row::new(format!("{} {row}, p50", point.title()), "us"),
            column,
        )
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    is_set: bool,
    value_bytes: usize,
}

impl Point {
    fn title(self) -> String {
        let name = if self.is_set { "SET" } else { "GET" };
        format!("{name} {}", size_text(self.value_bytes))
    }
}

/// Medians in microseconds.
type Latencies = BTreeMap<Point, f64>;

struct Servers {
    shared: ServerProcess,
    tcp: ServerProcess,
    memcached: ServerProcess,
}

impl Servers {
    fn of(&self, way: Way) -> &ServerProcess {
        match way {
            Way::Shared => &self.shared,
            Way::Memcached => &self.memcached,
            _ => &self.tcp,
        }
    }
}

/// Measures every way in short turns, in random order.
///
/// # Errors
/// If a server or a program cannot be started or breaks off.
pub fn measure(bench: &Bench, results: &mut Results) -> io::Result<()> {
    host_memory::take_and_give_back(HOST_MEMORY_BYTES);
    let servers = Servers {
        shared: bench.fabric_server(Network::Chosen, &OPTIONS)?,
        tcp: bench.fabric_server(Network::Tcp, &OPTIONS)?,
        memcached: bench.launcher.start(Product::Memcached, &OPTIONS)?,
    };
    let mut random = SmallRng::seed_from_u64(SEED);
    let mut all: Vec<BTreeMap<Way, Latencies>> = Vec::new();
    for turn in 0..bench.scope.turns {
        eprintln!("transports, turn {} of {}", turn + 1, bench.scope.turns);
        let mut ways = Way::ALL;
        ways.shuffle(&mut random);
        let one = |way| Ok((way, latencies(bench, &servers, way)?));
        all.push(ways.into_iter().map(one).collect::<io::Result<_>>()?);
    }
    for turn in &all {
        add(turn, results);
    }
    results.transports = Some(picture(&all));
    Ok(())
}

fn latencies(bench: &Bench, servers: &Servers, way: Way) -> io::Result<Latencies> {
    let sizes: &[usize] = if bench.scope.short {
        &SIZES_SHORT
    } else {
        &SIZES
    };
    let up_to = |bytes_max: usize| {
        let sizes = sizes.iter().filter(|bytes| **bytes <= bytes_max);
        sizes.map(usize::to_string).collect::<Vec<_>>().join(",")
    };
    let seconds = (bench.scope.seconds * TURN_SHARE).to_string();
    let Some(transport) = way.transport() else {
        return bare(&bench.programs, &up_to(BARE_BYTES_MAX), &seconds);
    };
    let run = |sizes: &str, extent: &[&str]| {
        let what = ["--benchmarks", "set,get", "--sizes", sizes];
        let arguments = [&what[..], extent].concat();
        let address = servers.of(way).address();
        bench
            .programs
            .memlat_by(transport, way.network(), address, &arguments)
    };
    let extent = ["--seconds", &seconds, "--iterations", "1000000000"];
    let mut latencies = read(&run(&up_to(usize::MAX), &extent)?);
    if !bench.scope.short {
        let extent = [
            "--iterations",
            LARGEST_ITERATIONS,
            "--warmup",
            "1",
            "--keys",
            "1",
        ];
        latencies.extend(read(&run(&LARGEST.to_string(), &extent)?));
    }
    Ok(latencies)
}

fn read(report: &LatencyReport) -> Latencies {
    let rows = report.rows.iter();
    rows.map(|row| {
        let point = Point {
            is_set: row.benchmark == Benchmark::Set,
            value_bytes: row.value_bytes,
        };
        (point, row.latency_us.p50)
    })
    .collect()
}

fn bare(programs: &Programs, sizes: &str, seconds: &str) -> io::Result<Latencies> {
    let what = ["--get-sizes", sizes, "--set-sizes", sizes, "--no-rates"];
    let arguments = [&what[..], &["--no-large", "--seconds", seconds]].concat();
    let limits = programs.limits(Network::Tcp, &arguments)?;
    let figures = limits.figures.iter();
    Ok(figures
        .filter_map(|one| {
            let point = Point {
                is_set: one.scenario.operation == Operation::Set,
                value_bytes: one.scenario.value_bytes,
            };
            Some((point, one.latency_us?.p50))
        })
        .collect())
}

/// The better of the two ways between which the client has to choose.
fn better(turn: &BTreeMap<Way, Latencies>, point: Point) -> Option<f64> {
    let of = |way| turn.get(&way)?.get(&point).copied();
    Some(of(Way::UcxTcp)?.min(of(Way::Sockets)?))
}

fn add(turn: &BTreeMap<Way, Latencies>, results: &mut Results) {
    for (way, latencies) in turn {
        for (point, latency_us) in latencies {
            let (row, column) = way.place(*point);
            results.table.add(&row, column, *latency_us);
        }
    }
    for (&point, chosen) in turn.get(&Way::Chosen).into_iter().flatten() {
        if let Some(better) = better(turn, point) {
            let title = format!("{}, chosen over the better of both", point.title());
            let row = Row::new(title, "x").wants(Wanted::AtMost(OF_BETTER_MAX));
            results.table.add(&row, Column::Fabric, chosen / better);
        }
    }
}

fn picture(turns: &[BTreeMap<Way, Latencies>]) -> Picture {
    let chart = |is_set: bool, title: &str| Chart {
        title: title.into(),
        x: XAxis::SizeBytes,
        y: YAxis::Log,
        series: Way::ALL.map(|way| series(turns, way, is_set)).into(),
    };
    Picture {
        heading: "One value at a time: one client, one server core, one host".into(),
        charts: vec![
            chart(false, "GET, median of latencies, us"),
            chart(true, "SET, median of latencies, us"),
        ],
    }
}

fn series(turns: &[BTreeMap<Way, Latencies>], way: Way, is_set: bool) -> Series {
    let mut samples: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    let latencies = turns.iter().filter_map(|turn| turn.get(&way)).flatten();
    for (point, latency_us) in latencies.filter(|(point, _)| point.is_set == is_set) {
        samples
            .entry(point.value_bytes)
            .or_default()
            .push(*latency_us);
    }
    Series {
        name: way.name().into(),
        is_limit: way == Way::Bare,
        points: samples
            .into_iter()
            .filter_map(|(bytes, samples)| Some((bytes as f64, median(samples)?)))
            .collect(),
    }
}

fn median(mut samples: Vec<f64>) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: Point = Point {
        is_set: false,
        value_bytes: 64,
    };

    fn turn(us: [f64; 6]) -> BTreeMap<Way, Latencies> {
        let one = |(way, us)| (way, BTreeMap::from([(GET, us)]));
        Way::ALL.into_iter().zip(us).map(one).collect()
    }

    #[test]
    fn the_path_chosen_is_judged_by_the_better_of_the_two_that_there_are() {
        let mut results = Results::default();
        // Shared memory, bare UCX and memcached are not for it to choose.
        add(&turn([1.0, 7.0, 6.0, 6.3, 2.0, 3.0]), &mut results);
        let lines = results.table.lines();
        let judged = lines.iter().find(|line| line.unit == "x").expect("a ratio");
        assert_eq!(judged.title, "GET 64 B, chosen over the better of both");
        let ratio = judged.fabric.expect("a figure");
        assert!((ratio - 1.05).abs() < 1e-9, "{ratio}");
        assert_eq!(judged.judgements.len(), 1);
        add(&turn([1.0, 5.0, 6.0, 6.0, 2.0, 3.0]), &mut results);
        let ratios = &results.table.lines()[3].samples[&Column::Fabric];
        assert!((ratios[1] - 1.2).abs() < 1e-9, "{ratios:?}");
    }

    #[test]
    fn figures_of_one_size_stand_in_three_rows() {
        let mut results = Results::default();
        add(&turn([1.0, 7.0, 6.0, 6.3, 2.0, 3.0]), &mut results);
        let lines = results.table.lines();
        let line = |part: &str| lines.iter().find(|line| line.title.contains(part)).unwrap();
        assert_eq!(line("shared memory").fabric, Some(1.0));
        let demanded = line("demanded");
        assert_eq!((demanded.limit, demanded.fabric), (Some(2.0), Some(7.0)));
        let chosen = line("as chosen");
        let figures = (chosen.fabric, chosen.sockets, chosen.memcached);
        assert_eq!(figures, (Some(6.3), Some(6.0), Some(3.0)));
    }

    #[test]
    fn the_picture_shows_the_medians_of_all_ways() {
        let turns = [turn([1.0; 6]), turn([3.0; 6]), turn([2.0; 6])];
        let picture = picture(&turns);
        assert_eq!(picture.charts.len(), 2);
        let series = &picture.charts[0].series;
        assert_eq!(series.len(), Way::ALL.len());
        assert!(series.iter().all(|one| one.points == [(64.0, 2.0)]));
        assert!(picture.charts[1].series[0].points.is_empty());
    }
}
