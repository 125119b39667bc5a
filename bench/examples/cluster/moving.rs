//! What clients feel while a fourth server joins three and is given its share of what they hold,
//! and while it leaves again.

use crate::fleet::{Fleet, Programs};
use crate::row::{Row, print};
use farcache_bench::statistics::{Ratio, turn_ratios};
use farcache_bench::verdict::{Verdict, median_interval};
use farcache_client::{Client, ClientConfig, Transport, parse_servers};
use hdrhistogram::Histogram;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Servers that own keys, before the first turn and after it; a turn back follows.
const OWNERS: [usize; 2] = [3, 4];

/// The most that the 99th percentile may grow.
const RATIO_MAX: f64 = 1.5;

/// How much is measured.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Keys.
    #[arg(long, default_value_t = 300_000)]
    keys: usize,
    /// Bytes of a value.
    #[arg(long, default_value_t = 1000)]
    value_bytes: usize,
    /// Most bytes a second that a server takes (`--move-rate`): a fifth of the link.
    #[arg(long, default_value = "25m")]
    rate: String,
    /// Requests a second, due at fixed times; the time of each counts from then.
    #[arg(long, default_value_t = 2000)]
    requests_per_second: u64,
    /// How long to measure at rest before each turn, in seconds.
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Turns, to four servers and to three.
    #[arg(long, default_value_t = 8)]
    turns: usize,
}

/// What was measured in one part of a turn.
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

    fn us(&self, quantile: f64) -> f64 {
        self.latencies.value_at_quantile(quantile) as f64 / 1e3
    }
}

/// Measures and prints.
///
/// # Errors
/// If servers cannot be started, or do not answer.
pub fn measure(programs: &Programs, options: &Options) -> io::Result<()> {
    let more = [
        "-m",
        "1024",
        "--fabric",
        "off",
        "--move-rate",
        &options.rate,
    ];
    let mut fleet = Fleet::start(programs, OWNERS[1], OWNERS[0], &more)?;
    let clients = [client(&fleet, OWNERS[0])?, client(&fleet, OWNERS[1])?];
    let value = vec![b'v'; options.value_bytes];
    for number in 0..options.keys {
        let stored = clients[0].set(key(number), &value[..], 0);
        stored.map_err(io::Error::other)?;
    }
    let part = AtomicUsize::new(0);
    let (parts, moved) = std::thread::scope(|scope| {
        let load = scope.spawn(|| read(&clients, options, &part));
        let moved = turns(&mut fleet, options, &part);
        part.store(2 * options.turns, SeqCst);
        let parts = load.join().expect("the load does not panic");
        (parts, moved)
    });
    tell(&parts?, &moved?, options);
    Ok(())
}

/// At rest and moving in turns; how long each move took.
fn turns(
    fleet: &mut Fleet<'_>,
    options: &Options,
    part: &AtomicUsize,
) -> io::Result<Vec<Duration>> {
    let turns = (0..options.turns).map(|turn| {
        part.store(2 * turn, SeqCst);
        std::thread::sleep(Duration::from_secs(options.seconds));
        part.store(2 * turn + 1, SeqCst);
        let began = Instant::now();
        fleet.change(OWNERS[turn % 2], OWNERS[(turn + 1) % 2])?;
        Ok(began.elapsed())
    });
    turns.collect()
}

fn tell(parts: &[Part], moved: &[Duration], options: &Options) {
    println!("| turn | moved for | reads | p50, p99 us at rest | p50, p99 us moving | misses |");
    println!("|---|--:|--:|--:|--:|--:|");
    for (turn, (pair, time)) in parts.chunks(2).zip(moved).enumerate() {
        let ([rest_p50, rest], [p50, p99]) = (quantiles(&pair[0]), quantiles(&pair[1]));
        println!(
            "| {turn} | {:.1} s | {} | {rest_p50:.0}, {rest:.0} | {p50:.0}, {p99:.0} | {} |",
            time.as_secs_f64(),
            pair[1].latencies.len(),
            pair[1].misses
        );
    }
    let p99s = |which| {
        let parts = parts.iter().skip(which).step_by(2);
        parts.map(|part| part.us(0.99)).collect::<Vec<f64>>()
    };
    let (rest, moving) = (p99s(0), p99s(1));
    let ratio = Ratio::of(&moving, &rest).expect("turns");
    let interval = median_interval(turn_ratios(&moving, &rest)).expect("turns");
    println!();
    print(&[Row {
        what: format!(
            "p99 while keys move at {}B/s, over p99 at rest",
            options.rate
        ),
        wanted: format!("at most {RATIO_MAX}"),
        measured: format!("{ratio}, {} turns", options.turns),
        verdict: Verdict::of(interval, |figure| figure <= RATIO_MAX),
    }]);
}

fn quantiles(part: &Part) -> [f64; 2] {
    [part.us(0.5), part.us(0.99)]
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
        follows_map: false,
        ..ClientConfig::default()
    };
    Client::new(&config).map_err(io::Error::other)
}

/// Reads one key after another, at the times at which they are due, until all parts are over.
fn read(clients: &[Client; 2], options: &Options, part: &AtomicUsize) -> io::Result<Vec<Part>> {
    let mut parts: Vec<Part> = (0..2 * options.turns).map(|_| Part::new()).collect();
    let period = Duration::from_secs_f64(1.0 / options.requests_per_second as f64);
    let mut due = Instant::now();
    for number in (0..options.keys).cycle().map(|number| number * 7919) {
        let now = part.load(SeqCst);
        let Some(into) = parts.get_mut(now) else {
            break;
        };
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        // Clients hear of the owners when the move begins.
        let got = clients[now.div_ceil(2) % 2].get(key(number % options.keys));
        into.misses += u64::from(got.map_err(io::Error::other)?.is_none());
        let took_ns = due.elapsed().as_nanos() as u64;
        into.latencies.record(took_ns).map_err(io::Error::other)?;
        due += period;
    }
    Ok(parts)
}
