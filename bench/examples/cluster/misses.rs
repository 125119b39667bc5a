//! Extra misses while three servers become four: clients that read and delete by a zipf law, with
//! items that move and with a fourth server that begins empty.

use crate::fleet::{Fleet, Programs, wait_for};
use crate::row::{Row, print};
use farcache_bench::verdict::Verdict;
use farcache_client::{Client, ClientConfig, Error, Transport, parse_servers};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Zipf};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

const BEFORE: usize = 3;
const AFTER: usize = 4;

/// The law's exponent, as YCSB has it.
const SKEW: f64 = 0.99;

/// The most extra misses, in points.
const POINTS_MAX: f64 = 0.1;

/// How much is measured.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Keys of each client.
    #[arg(long, default_value_t = 20_000)]
    keys: usize,
    /// Clients. Each has keys of its own, so that it knows what it must find.
    #[arg(long, default_value_t = 3)]
    clients: u64,
    /// Reads from the first change of the map on, of all clients.
    #[arg(long, default_value_t = 200_000)]
    reads: u64,
    /// Most bytes a second that the new server takes (`--move-rate`).
    #[arg(long, default_value = "1m")]
    rate: String,
}

/// What clients have seen.
#[derive(Default)]
struct Counts {
    reads: AtomicU64,
    /// Reads that did not find what was stored and not deleted.
    misses: AtomicU64,
    stale: AtomicU64,
    is_over: AtomicBool,
}

/// What came of one run.
struct Outcome {
    reads: u64,
    misses: u64,
    stale: u64,
    /// Reads until all had moved.
    reads_moving: u64,
}

/// Measures and prints.
///
/// # Errors
/// If servers cannot be started, or do not answer.
pub fn measure(programs: &Programs, options: &Options) -> io::Result<()> {
    let moved = run(programs, options, |fleet| fleet.change(BEFORE, AFTER))?;
    let cold = run(programs, options, |fleet| fleet.publish(AFTER))?;
    println!("| | reads | until all had moved | extra misses | points | stale |");
    println!("|---|--:|--:|--:|--:|--:|");
    for (name, run) in [("items move", &moved), ("the fourth begins empty", &cold)] {
        let (points, stale) = (run.points(), run.stale);
        let (reads, moving, misses) = (run.reads, run.reads_moving, run.misses);
        println!("| {name} | {reads} | {moving} | {misses} | {points:.3} | {stale} |");
    }
    println!();
    let (points, stale) = (moved.points(), moved.stale + cold.stale);
    let row = |what: &str, wanted: &str, measured: String, verdict| Row {
        what: what.to_owned(),
        wanted: wanted.to_owned(),
        measured,
        verdict,
    };
    print(&[
        row(
            "extra misses while 3 become 4, zipf, 10 % deletes",
            "at most 0.1 points",
            format!("{points:.3} points (begins empty: {:.1})", cold.points()),
            Verdict::of([points; 2], |points| points <= POINTS_MAX),
        ),
        row(
            "stale reads meanwhile",
            "0",
            format!("{stale} of {}", moved.reads + cold.reads),
            Verdict::of([stale as f64; 2], |stale| stale == 0.0),
        ),
    ]);
    Ok(())
}

impl Outcome {
    fn points(&self) -> f64 {
        100.0 * self.misses as f64 / self.reads as f64
    }
}

/// Has clients go on while the owners change.
fn run(
    programs: &Programs,
    options: &Options,
    change: impl FnOnce(&mut Fleet<'_>) -> io::Result<()>,
) -> io::Result<Outcome> {
    let more = ["-m", "256", "--fabric", "off", "--move-rate", &options.rate];
    let mut fleet = Fleet::start(programs, AFTER, BEFORE, &more)?;
    let places = fleet.places.clone();
    let counts = Counts::default();
    std::thread::scope(|scope| {
        let users = (0..options.clients).map(|number| User::start(number, options, &places));
        let users = users.collect::<io::Result<Vec<User>>>()?;
        let users = users.into_iter();
        let users: Vec<_> = users
            .map(|user| scope.spawn(|| user.run(&counts)))
            .collect();
        let outcome = observe(&counts, options, || change(&mut fleet));
        counts.is_over.store(true, SeqCst);
        for user in users {
            user.join().expect("a client does not panic")?;
        }
        outcome
    })
}

fn observe(
    counts: &Counts,
    options: &Options,
    change: impl FnOnce() -> io::Result<()>,
) -> io::Result<Outcome> {
    let read = |count: &AtomicU64| count.load(SeqCst);
    let (reads, misses) = (read(&counts.reads), read(&counts.misses));
    change()?;
    let reads_moving = read(&counts.reads) - reads;
    wait_for("reads", || Ok(read(&counts.reads) - reads >= options.reads))?;
    Ok(Outcome {
        reads: read(&counts.reads) - reads,
        misses: read(&counts.misses) - misses,
        stale: read(&counts.stale),
        reads_moving,
    })
}

/// A client.
struct User {
    number: u64,
    /// One for each server: any is asked for any key.
    servers: Vec<Client>,
    /// What must be found, by key; none where it was deleted.
    versions: Vec<Option<u64>>,
    law: Zipf<f64>,
    random: SmallRng,
    version: u64,
}

impl User {
    /// With every key stored once.
    fn start(number: u64, options: &Options, places: &[SocketAddr]) -> io::Result<User> {
        let servers = places.iter().map(|place| {
            let config = ClientConfig {
                servers: parse_servers(&place.to_string()).map_err(io::Error::other)?,
                transport: Transport::Tcp,
                follows_map: false,
                timeout: Duration::from_secs(30),
                ..ClientConfig::default()
            };
            Client::new(&config).map_err(io::Error::other)
        });
        let mut user = User {
            number,
            servers: servers.collect::<io::Result<Vec<Client>>>()?,
            versions: vec![None; options.keys],
            law: Zipf::new(options.keys as f64, SKEW).map_err(io::Error::other)?,
            random: SmallRng::seed_from_u64(number),
            version: 0,
        };
        (0..options.keys).try_for_each(|index| user.store(index))?;
        Ok(user)
    }

    fn run(mut self, counts: &Counts) -> io::Result<()> {
        while !counts.is_over.load(SeqCst) {
            let index = self.law.sample(&mut self.random) as usize - 1;
            if self.random.random_ratio(1, 10) {
                self.delete(index)?;
            } else {
                self.read(index, counts)?;
            }
        }
        Ok(())
    }

    fn key(&self, index: usize) -> String {
        format!("user{}:{index}", self.number)
    }

    fn any(&mut self) -> &Client {
        let index = self.random.random_range(0..self.servers.len());
        &self.servers[index]
    }

    fn store(&mut self, index: usize) -> io::Result<()> {
        self.version += 1;
        let (key, version) = (self.key(index), self.version);
        let stored = self.any().set(key, version.to_string().as_bytes(), 0);
        stored.map_err(io::Error::other)?;
        self.versions[index] = Some(version);
        Ok(())
    }

    fn delete(&mut self, index: usize) -> io::Result<()> {
        let key = self.key(index);
        self.versions[index] = None;
        match self.any().delete(key) {
            Ok(()) | Err(Error::NotFound) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn read(&mut self, index: usize, counts: &Counts) -> io::Result<()> {
        let key = self.key(index);
        let got = self.any().get(key).map_err(io::Error::other)?;
        counts.reads.fetch_add(1, SeqCst);
        let Some(got) = got else {
            let is_lost = self.versions[index].is_some();
            counts.misses.fetch_add(u64::from(is_lost), SeqCst);
            return self.store(index);
        };
        let expected = self.versions[index].map(|version| version.to_string());
        let is_it = expected.is_some_and(|expected| got.value[..] == *expected.as_bytes());
        counts.stale.fetch_add(u64::from(!is_it), SeqCst);
        Ok(())
    }
}
