//! What clients feel while a fourth server joins three and is given its share of what they hold.

use crate::fleet::{Fleet, Programs, wait_for};
use farcache_client::{Client, ClientConfig, Transport, parse_servers};
use farcache_cluster::map::{Epoch, Move, Phase, difference, plan_moves};
use farcache_cluster::{ClusterMap, MapContent};
use hdrhistogram::Histogram;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Servers before and after.
const BEFORE: usize = 3;
const AFTER: usize = 4;

/// Parts of the run: at rest, while keys move, afterwards.
const PARTS: usize = 3;

/// How much is measured.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Keys.
    #[arg(long, default_value_t = 100_000)]
    keys: usize,
    /// Bytes of a value.
    #[arg(long, default_value_t = 1000)]
    value_bytes: usize,
    /// Most bytes a second that the server takes (`--move-rate`).
    #[arg(long, default_value = "8m")]
    rate: String,
    /// Requests a second, due at fixed times; the time of each counts from then.
    #[arg(long, default_value_t = 2000)]
    requests_per_second: u64,
    /// How long to measure at rest, and afterwards, in seconds.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
}

/// What was measured in one part.
struct Part {
    latencies: Histogram<u64>,
    misses: u64,
}

impl Part {
    fn new() -> Part {
        Part {
            latencies: Histogram::new(3).expect("a histogram"),
            misses: 0,
        }
    }
}

/// Measures and prints.
///
/// # Errors
/// If servers cannot be started, or do not answer.
pub fn measure(programs: &Programs, options: &Options) -> io::Result<()> {
    let more = ["-m", "512", "--move-rate", &options.rate];
    let mut fleet = Fleet::start(programs, AFTER, BEFORE, &more)?;
    let [before, after] = [BEFORE, AFTER].map(|count| client(&fleet, count));
    let (before, after) = (before?, after?);
    let value = vec![b'v'; options.value_bytes];
    for number in 0..options.keys {
        let stored = before.set(key(number), &value[..], 0);
        stored.map_err(io::Error::other)?;
    }
    let part = AtomicUsize::new(0);
    let rest = Duration::from_secs(options.seconds);
    let (parts, moved) = std::thread::scope(|scope| {
        let load = scope.spawn(|| read([&before, &after, &after], options, &part));
        std::thread::sleep(rest);
        part.store(1, SeqCst);
        let began = Instant::now();
        let moved = fleet.grow().map(|()| began.elapsed());
        part.store(2, SeqCst);
        std::thread::sleep(rest);
        part.store(PARTS, SeqCst);
        let parts = load.join().expect("the load does not panic");
        (parts, moved)
    });
    let (parts, moved) = (parts?, moved?);
    println!("Keys moved for {:.1} s.\n", moved.as_secs_f64());
    println!("| | reads | p50 us | p99 us | p99, over that at rest | misses |");
    println!("|---|--:|--:|--:|--:|--:|");
    let us = |part: &Part, quantile| part.latencies.value_at_quantile(quantile) as f64 / 1e3;
    for (name, part) in ["at rest", "while keys move", "afterwards"]
        .iter()
        .zip(&parts)
    {
        let (reads, p50, p99) = (part.latencies.len(), us(part, 0.5), us(part, 0.99));
        let ratio = p99 / us(&parts[0], 0.99);
        let misses = part.misses;
        println!("| {name} | {reads} | {p50:.1} | {p99:.1} | {ratio:.2} | {misses} |");
    }
    Ok(())
}

fn key(number: usize) -> String {
    format!("key:{number:012}")
}

/// A client of the first so many servers.
fn client(fleet: &Fleet<'_>, count: usize) -> io::Result<Client> {
    let places = fleet.places[..count].iter().map(ToString::to_string);
    let places = places.collect::<Vec<_>>().join(",");
    let config = ClientConfig {
        servers: parse_servers(&places).map_err(io::Error::other)?,
        transport: Transport::Tcp,
        ..ClientConfig::default()
    };
    Client::new(&config).map_err(io::Error::other)
}

/// Reads one key after another, at the times at which they are due, until all parts are over.
fn read(clients: [&Client; PARTS], options: &Options, part: &AtomicUsize) -> io::Result<Vec<Part>> {
    let mut parts: Vec<Part> = (0..PARTS).map(|_| Part::new()).collect();
    let period = Duration::from_secs_f64(1.0 / options.requests_per_second as f64);
    let mut due = Instant::now();
    for number in (0..options.keys).cycle().map(|number| number * 7919) {
        let now = part.load(SeqCst);
        let Some(into) = parts.get_mut(now) else {
            break;
        };
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let got = clients[now].get(key(number % options.keys));
        into.misses += u64::from(got.map_err(io::Error::other)?.is_none());
        let took_ns = due.elapsed().as_nanos() as u64;
        into.latencies.record(took_ns).map_err(io::Error::other)?;
        due += period;
    }
    Ok(parts)
}

impl Fleet<'_> {
    /// Has the last server join, from the first map of the moves until they are done.
    fn grow(&mut self) -> io::Result<()> {
        let read = |text: String| text.parse::<ClusterMap>().map_err(io::Error::other);
        let (before, after) = (read(self.map(BEFORE))?, read(self.map(AFTER))?);
        let changes = difference(&before, &after).map_err(io::Error::other)?;
        let moves = plan_moves(&changes);
        for (phase, word, end, is_it) in [
            (
                Phase::HandingOver,
                "handing-over",
                "acknowledged_epoch",
                "0",
            ),
            (Phase::Streaming, "streaming", "done", "no"),
        ] {
            let text = self.moving(&moves, phase)?;
            self.publish_text(&text)?;
            for moved in &moves {
                let (from, to) = (moved.from.0, moved.to.0);
                let who = match phase {
                    Phase::HandingOver => from,
                    Phase::Streaming => to,
                };
                let name = format!("move:{from}:{to}:{word}:{end}");
                let epoch = self.epoch().to_string();
                let mut control = self.control(who as usize - 1)?;
                wait_for(&name, || {
                    let stats = control.stats("cluster")?;
                    let is_there = stats.get("epoch") == Some(&epoch);
                    let told = stats.get(&name).map(String::as_str);
                    let is_over = told.is_some_and(|told| told != is_it);
                    Ok(
                        is_there
                            && is_over
                            && (end != "acknowledged_epoch" || told == Some(&epoch)),
                    )
                })?;
            }
        }
        self.publish(AFTER)
    }

    fn moving(&self, moves: &[Move], phase: Phase) -> io::Result<String> {
        let map: ClusterMap = self.map(AFTER).parse().map_err(io::Error::other)?;
        let of_phase = |moved: &Move| Move {
            phase,
            ..moved.clone()
        };
        let content = MapContent {
            epoch: Epoch(map.epoch().0),
            moves: moves.iter().map(of_phase).collect(),
            ..map.into_content()
        };
        let map = ClusterMap::new(content).map_err(io::Error::other)?;
        Ok(map.to_string())
    }
}
