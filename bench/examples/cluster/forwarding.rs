//! One hop: GETs of a key that the asked server owns and of one that another owns, in turns.

use crate::fleet::{Fleet, Programs, keys_of, wait_for};
use crate::row::{Row, print};
use farcache_bench::statistics::{Ratio, median, turn_ratios};
use farcache_bench::verdict::{Verdict, median_interval};
use farcache_client::{Client, ClientConfig, Transport, parse_servers};
use hdrhistogram::Histogram;
use std::io;
use std::time::{Duration, Instant};

/// The most that a forwarded GET may take, in direct ones.
const RATIO_MAX: f64 = 2.2;

/// How much is measured.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Turns of each.
    #[arg(long, default_value_t = 21)]
    turns: usize,
    /// GETs in a turn.
    #[arg(long, default_value_t = 5000)]
    gets: usize,
    /// How long the client polls for an answer before it sleeps, in microseconds. Where there are
    /// fewer than three cores, 0 leaves its core to a server while it waits.
    #[arg(long, default_value_t = 50)]
    client_poll_us: u64,
    /// Bytes of a value.
    #[arg(long, default_value_t = 64)]
    value_bytes: usize,
}

/// What reaches what.
struct Case {
    /// How the client asks.
    client: Transport,
    /// Whether the servers have a fabric.
    fabric: &'static str,
}

const CASES: [Case; 3] = [
    Case {
        client: Transport::Fabric,
        fabric: "require",
    },
    Case {
        client: Transport::Tcp,
        fabric: "require",
    },
    Case {
        client: Transport::Tcp,
        fabric: "off",
    },
];

/// Measures and prints.
///
/// # Errors
/// If servers cannot be started, or do not answer.
pub fn measure(programs: &Programs, options: &Options) -> io::Result<()> {
    println!(
        "| client | between servers | direct p50, p99 us | forwarded p50, p99 us | p50 ratio |"
    );
    println!("|---|---|--:|--:|--:|");
    let mut rows = Vec::new();
    for case in &CASES {
        rows.extend(case.measure(programs, options)?);
    }
    println!();
    print(&rows);
    Ok(())
}

impl Case {
    /// Prints a line, and returns the row of what is wanted, where that is this case.
    fn measure(&self, programs: &Programs, options: &Options) -> io::Result<Option<Row>> {
        let fleet = Fleet::start(programs, 2, 2, &["--fabric", self.fabric])?;
        let config = ClientConfig {
            servers: parse_servers(&fleet.places[0].to_string()).map_err(io::Error::other)?,
            transport: self.client,
            follows_map: false,
            spin: Duration::from_micros(options.client_poll_us),
            ..ClientConfig::default()
        };
        let client = Client::new(&config).map_err(io::Error::other)?;
        let map = fleet.map(2);
        let key = |id| keys_of(&map, id).next().expect("each owns keys");
        let keys = [key(1), key(2)];
        let value = vec![b'v'; options.value_bytes];
        for key in &keys {
            client
                .set(key.as_bytes(), &value[..], 0)
                .map_err(io::Error::other)?;
        }
        self.warm_up(&fleet, &client, &keys[1])?;
        let mut p50s = [Vec::new(), Vec::new()];
        let mut all = [(); 2].map(|()| Histogram::<u64>::new(3).expect("a histogram"));
        for _ in 0..options.turns {
            for (index, key) in keys.iter().enumerate() {
                let turn = gets(&client, key, &value, options.gets)?;
                p50s[index].push(turn.value_at_quantile(0.5) as f64);
                all[index].add(turn).map_err(io::Error::other)?;
            }
        }
        let ratio = Ratio::of(&p50s[1], &p50s[0]).expect("pairs of turns");
        let interval = median_interval(turn_ratios(&p50s[1], &p50s[0])).expect("turns");
        let p50 = p50s.map(|p50s| median(p50s).expect("turns") / 1e3);
        let p99 = all.map(|all| all.value_at_quantile(0.99) as f64 / 1e3);
        let between = match self.fabric {
            "off" => "TCP",
            _ => "fabric",
        };
        println!(
            "| {:?} | {between} | {:.2}, {:.2} | {:.2}, {:.2} | {ratio} |",
            self.client, p50[0], p99[0], p50[1], p99[1]
        );
        let is_wanted = self.client == Transport::Fabric;
        Ok(is_wanted.then(|| Row {
            what: format!("forwarding over the fabric, {} B", options.value_bytes),
            wanted: format!("at most {RATIO_MAX} of a direct GET"),
            measured: format!("{ratio}, {} turns", options.turns),
            verdict: Verdict::of(interval, |figure| figure <= RATIO_MAX),
        }))
    }

    /// Asks until requests go between the servers as they will.
    fn warm_up(&self, fleet: &Fleet<'_>, client: &Client, foreign: &str) -> io::Result<()> {
        let mut control = fleet.control(0)?;
        wait_for("the way between the servers", || {
            client.get(foreign.as_bytes()).map_err(io::Error::other)?;
            let over_fabric = control.stat("forwarded_over_fabric")?;
            Ok((over_fabric > 0) == (self.fabric != "off"))
        })
    }
}

fn gets(client: &Client, key: &str, value: &[u8], count: usize) -> io::Result<Histogram<u64>> {
    let mut turn = Histogram::new(3).map_err(io::Error::other)?;
    for _ in 0..count {
        let began = Instant::now();
        let got = client.get(key.as_bytes()).map_err(io::Error::other)?;
        let took_ns = began.elapsed().as_nanos() as u64;
        turn.record(took_ns).map_err(io::Error::other)?;
        if got.is_none_or(|got| got.value != value) {
            return Err(io::Error::other("another value than was stored"));
        }
    }
    Ok(turn)
}
