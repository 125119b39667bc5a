//! How long requests wait at the moment when servers on etcd take over a new map: one of four gives
//! its keys away, and gets them back.

use crate::fleet::Programs;
use crate::languages::{Fleet as _, farcached::Farcached, rust};
use crate::row::{Row, print};
use farcache_bench::statistics::median;
use farcache_bench::verdict::{Verdict, median_interval};
use farcache_client::Client;
use farcache_cluster::ClusterMap;
use farcache_cluster::map::{Epoch, MemberState, planned};
use hdrhistogram::Histogram;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest wait that is wanted, in milliseconds.
const LIMIT_MS: f64 = 10.0;

/// What is worth telling of.
const SLOW: Duration = Duration::from_millis(2);

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much is measured.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Keys.
    #[arg(long, default_value_t = 20_000)]
    keys: usize,
    /// Bytes of a value.
    #[arg(long, default_value_t = 500)]
    value_bytes: usize,
    /// Most bytes a second that a server takes (`--move-rate`).
    #[arg(long, default_value = "8")]
    move_rate: String,
    /// Requests a second, due at fixed times; the time of each counts from then.
    #[arg(long, default_value_t = 2000)]
    requests_per_second: u64,
    /// How long to measure at rest before each change, in milliseconds.
    #[arg(long, default_value_t = 1000)]
    rest_ms: u64,
    /// How often the server gives its keys away and gets them back.
    #[arg(long, default_value_t = 10)]
    turns: usize,
    /// Prints when each request that took longer than 2 ms was due, in seconds since 1970, and what
    /// it took: to be laid beside the servers' logs (`-v`).
    #[arg(long)]
    slow: bool,
}

/// What is done in one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Rest,
    Leave,
    RestWithout,
    Join,
}

impl Doing {
    const ALL: [Doing; 4] = [Doing::Rest, Doing::Leave, Doing::RestWithout, Doing::Join];
}

/// Measures and prints.
///
/// # Errors
/// If servers cannot be started, or do not answer.
pub fn measure(programs: &Programs, options: &Options) -> io::Result<()> {
    let mut fleet = Farcached::start(programs, Some(&options.move_rate))?;
    fleet.grow()?;
    fleet.settle()?;
    let client = client(&fleet)?;
    let value = vec![b'v'; options.value_bytes];
    for number in 0..options.keys {
        let stored = client.set(key(number), &value[..], 0);
        stored.map_err(io::Error::other)?;
    }
    let part = AtomicUsize::new(0);
    let parts = std::thread::scope(|scope| {
        let load = scope.spawn(|| read(&client, options, &part));
        let changed = turns(&fleet, options, &part);
        part.store(usize::MAX, SeqCst);
        let parts = load.join().expect("the load does not panic");
        changed.and(parts)
    })?;
    tell(&parts, options);
    Ok(())
}

fn turns(fleet: &Farcached<'_>, options: &Options, part: &AtomicUsize) -> io::Result<()> {
    for number in 0..options.turns * Doing::ALL.len() {
        part.store(number, SeqCst);
        match Doing::ALL[number % Doing::ALL.len()] {
            Doing::Rest | Doing::RestWithout => {
                std::thread::sleep(Duration::from_millis(options.rest_ms));
            }
            Doing::Leave => change(fleet, MemberState::Draining)?,
            Doing::Join => change(fleet, MemberState::Joining)?,
        }
    }
    Ok(())
}

/// Publishes the map in which the last server has this state, and waits until nothing moves.
fn change(fleet: &Farcached<'_>, state: MemberState) -> io::Result<()> {
    let mut followed = fleet.map_in_etcd()?.follow().map_err(io::Error::other)?;
    let mut place = fleet.map_in_etcd()?;
    let found = place.read().map_err(io::Error::other)?;
    let map = found.map.ok_or_else(|| io::Error::other("no map"))?;
    let mut content = map.content().clone();
    content.epoch = Epoch(content.epoch.0 + 1);
    let last = content.servers.last_mut();
    last.ok_or_else(|| io::Error::other("no servers"))?.state = state;
    let next = planned(&map, content).map_err(|invalid| io::Error::other(invalid.to_string()))?;
    let written = place.replace(found.revision, &next.map);
    if !written.map_err(io::Error::other)? {
        return Err(io::Error::other("somebody else has changed the map"));
    }
    let until = Instant::now() + PATIENCE;
    let settled = |map: &ClusterMap| {
        let content = map.content();
        let has_joined = content
            .servers
            .iter()
            .all(|it| it.state != MemberState::Joining);
        content.moves.is_empty() && has_joined
    };
    while let Some(map) = followed.next(until).map_err(io::Error::other)? {
        if settled(&map) {
            return Ok(());
        }
    }
    Err(io::Error::other("keys do not come to rest"))
}

/// A client of the servers that stay.
fn client(fleet: &Farcached<'_>) -> io::Result<Client> {
    let config = rust::config(&fleet.first_servers())?;
    Client::new(&config).map_err(io::Error::other)
}

fn key(number: usize) -> String {
    format!("key:{number:012}")
}

/// Reads one key after another, at the times at which they are due, until all is over.
fn read(client: &Client, options: &Options, part: &AtomicUsize) -> io::Result<Vec<Histogram<u64>>> {
    let new = || Histogram::<u64>::new(3).expect("a histogram");
    let count = options.turns * Doing::ALL.len();
    let mut parts: Vec<Histogram<u64>> = (0..count).map(|_| new()).collect();
    let period = Duration::from_secs_f64(1.0 / options.requests_per_second as f64);
    let mut due = Instant::now();
    for number in (0..options.keys).cycle().map(|number| number * 7919) {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        // A request that was due before a change and waits for it belongs to the change.
        let got = client.get(key(number % options.keys));
        let now = part.load(SeqCst);
        let Some(into) = parts.get_mut(now) else {
            break;
        };
        if got.map_err(io::Error::other)?.is_none() {
            return Err(io::Error::other("a key is missing"));
        }
        let took = due.elapsed();
        if options.slow && took > SLOW {
            tell_of_slow(Doing::ALL[now % Doing::ALL.len()], took);
        }
        into.record(took.as_nanos() as u64)
            .map_err(io::Error::other)?;
        due += period;
    }
    Ok(parts)
}

/// By the clock of the servers' logs.
fn tell_of_slow(doing: Doing, took: Duration) {
    let due = SystemTime::now() - took;
    let due = due.duration_since(UNIX_EPOCH).unwrap_or_default();
    println!("{:.6} {doing:?} {took:?}", due.as_secs_f64());
}

fn tell(parts: &[Histogram<u64>], options: &Options) {
    let longest = |wanted: Doing| {
        let each = parts.iter().zip(Doing::ALL.iter().cycle());
        let of_it = each.filter(|(_, doing)| **doing == wanted);
        of_it.map(|(part, _)| part.max() as f64 / 1e6).collect()
    };
    let row = |what: &str, doing: Doing| {
        let each: Vec<f64> = longest(doing);
        let interval = median_interval(each.clone()).expect("turns");
        Row {
            what: format!("longest request {what}, {} turns", options.turns),
            wanted: format!("at most {LIMIT_MS} ms"),
            measured: format!(
                "{:.1} ms (median; {:.1} to {:.1}), longest of all {:.1} ms",
                median(each.clone()).expect("turns"),
                interval[0],
                interval[1],
                each.iter().copied().fold(0.0, f64::max)
            ),
            verdict: Verdict::of(interval, |figure| figure <= LIMIT_MS),
        }
    };
    print(&[
        row("at rest", Doing::Rest),
        row("while a server gives its keys away", Doing::Leave),
        row("while it gets them back", Doing::Join),
    ]);
}
