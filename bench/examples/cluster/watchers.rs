//! How soon all who follow a cluster's map on etcd have the next one.

use crate::etcd::Etcd;
use crate::row::{Row, print};
use farcache_bench::statistics::median;
use farcache_bench::verdict::{Verdict, median_interval};
use farcache_cluster::ClusterMap;
use farcache_cluster::map::Name;
use farcache_membership::etcd::{Endpoint, FollowedMap, MapInEtcd};
use rustix::time::{ClockId, clock_gettime};
use std::fmt::Write as _;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// The longest that the last of them may wait, in milliseconds.
const LIMIT_MS: f64 = 100.0;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much is measured.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Who follows the map, each by a connection of its own.
    #[arg(long, default_value_t = 1000)]
    watchers: usize,
    /// Servers in the map.
    #[arg(long, default_value_t = 3)]
    servers: usize,
    /// Maps.
    #[arg(long, default_value_t = 41)]
    maps: u64,
    /// Nodes of etcd.
    #[arg(long, default_value_t = 1)]
    etcd_nodes: usize,
}

/// A map has come.
struct Seen {
    epoch: u64,
    at: Instant,
}

/// Measures and prints.
///
/// # Errors
/// If etcd cannot be started, or does not answer.
pub fn measure(options: &Options) -> io::Result<()> {
    let etcd = Etcd::start(options.etcd_nodes)?;
    let mut publisher = open(&etcd)?;
    publish(&mut publisher, options, 1)?;
    let (sender, seen) = channel();
    for _ in 0..options.watchers {
        let followed = open(&etcd)?.follow().map_err(io::Error::other)?;
        let (sender, last) = (sender.clone(), 1 + options.maps);
        let watch = move || watch(followed, last, &sender);
        std::thread::Builder::new()
            .stack_size(256 << 10)
            .spawn(watch)?;
    }
    let mut all = Vec::new();
    let mut last_ms = Vec::new();
    let before = Spent::now(&etcd)?;
    for epoch in 2..=1 + options.maps {
        let began = Instant::now();
        publish(&mut publisher, options, epoch)?;
        let of_map = collect(&seen, epoch, began, options.watchers)?;
        last_ms.push(of_map.iter().copied().fold(0.0, f64::max));
        all.extend(of_map);
    }
    let spent = Spent::now(&etcd)?.since(&before);
    tell(all, &last_ms, options);
    println!();
    spent.tell(options);
    Ok(())
}

/// Time of processors that was taken: the watchers share the machine with etcd, which they would
/// not where they are servers.
struct Spent {
    etcd: Duration,
    watchers: Duration,
}

impl Spent {
    fn now(etcd: &Etcd) -> io::Result<Spent> {
        let own = clock_gettime(ClockId::ProcessCPUTime);
        Ok(Spent {
            etcd: etcd.processor_time()?,
            watchers: own.try_into().map_err(io::Error::other)?,
        })
    }

    fn since(&self, before: &Spent) -> Spent {
        Spent {
            etcd: self.etcd - before.etcd,
            watchers: self.watchers - before.watchers,
        }
    }

    fn tell(&self, options: &Options) {
        let of_map = |time: Duration| time.as_secs_f64() * 1e3 / options.maps as f64;
        println!(
            "Processor time for a map: etcd {:.1} ms, the watchers' process {:.1} ms.",
            of_map(self.etcd),
            of_map(self.watchers)
        );
    }
}

fn open(etcd: &Etcd) -> io::Result<MapInEtcd> {
    let endpoints = etcd.endpoints();
    let endpoints = endpoints.split(',').map(|place| place.parse::<Endpoint>());
    let endpoints = endpoints.collect::<Result<Vec<_>, _>>();
    let endpoints = endpoints.map_err(|error| io::Error::other(error.to_string()))?;
    MapInEtcd::new(endpoints, name(), PATIENCE)
}

fn name() -> Name {
    "bench".parse().expect("a name")
}

/// Writes the map with this epoch.
fn publish(publisher: &mut MapInEtcd, options: &Options, epoch: u64) -> io::Result<()> {
    let found = publisher.read().map_err(io::Error::other)?;
    let map: ClusterMap = text(options.servers, epoch)
        .parse()
        .map_err(io::Error::other)?;
    let written = publisher.replace(found.revision, &map);
    match written.map_err(io::Error::other)? {
        true => Ok(()),
        false => Err(io::Error::other("somebody else has changed the map")),
    }
}

fn text(servers: usize, epoch: u64) -> String {
    let head = "farcache-cluster-map 1\ncluster bench\nepoch";
    let mut text = format!("{head} {epoch}\nplacement ketama\n");
    for id in 1..=servers {
        let rest = "incarnation=1 weight=1 zone=- state=serving addresses=cache";
        writeln!(text, "server {id} {rest}-{id}.example:11211").expect("text");
    }
    text + "end\n"
}

/// Tells of each map that comes.
fn watch(mut followed: FollowedMap, last: u64, seen: &Sender<Seen>) {
    loop {
        let map = followed.next(Instant::now() + PATIENCE);
        let Ok(Some(map)) = map else { return };
        let (epoch, at) = (map.epoch().0, Instant::now());
        // Nobody listens any more where the measurement has failed.
        if seen.send(Seen { epoch, at }).is_err() || epoch == last {
            return;
        }
    }
}

/// How long it took until each had the map, in milliseconds.
fn collect(
    seen: &Receiver<Seen>,
    epoch: u64,
    began: Instant,
    watchers: usize,
) -> io::Result<Vec<f64>> {
    let each = (0..watchers).map(|_| {
        let seen = seen.recv_timeout(PATIENCE).map_err(io::Error::other)?;
        if seen.epoch != epoch {
            return Err(io::Error::other("a map was left out"));
        }
        Ok(seen.at.duration_since(began).as_secs_f64() * 1e3)
    });
    each.collect()
}

fn tell(mut all: Vec<f64>, last_ms: &[f64], options: &Options) {
    all.sort_by(f64::total_cmp);
    let quantile = |share: f64| all[((all.len() - 1) as f64 * share) as usize];
    let interval = median_interval(last_ms.to_vec()).expect("maps");
    print(&[Row {
        what: format!(
            "map of {} servers to {} watchers, {} maps",
            options.servers, options.watchers, options.maps
        ),
        wanted: format!("at most {LIMIT_MS} ms"),
        measured: format!(
            "p50 {:.1}, p99 {:.1} ms; the last one {:.1} ms (median; {:.1} to {:.1})",
            quantile(0.5),
            quantile(0.99),
            median(last_ms.to_vec()).expect("maps"),
            interval[0],
            interval[1]
        ),
        verdict: Verdict::of(interval, |figure| figure <= LIMIT_MS),
    }]);
}
