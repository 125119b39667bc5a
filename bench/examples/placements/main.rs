//! What it costs where a value on several servers is coded, and what late binding saves:
//! `cargo run --release -p farcache-bench --example placements -- target/release/farcached`, with a
//! file for the picture behind it.
//!
//! Five servers of one cluster, each a process with one worker, on one core; the client on another,
//! over the fabric and then over sockets. All ways take turns; medians count. The servers talk over
//! sockets in both cases, until their sessions on the fabric stand.
#![forbid(unsafe_code)]

mod late;

use farcache_bench::coding_fleet::Fleet;
use farcache_bench::markdown;
use farcache_bench::picture::{Chart, Picture, Series, XAxis, YAxis};
use farcache_bench::sizes::size_text;
use farcache_bench::statistics::quantile_us;
use farcache_client::{Client, Operation, Store, Transport};
use farcache_harness::pinning::pin_to_cpu;
use farcache_harness::server_process::stop_servers_on_signals;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

const COPIES: usize = 3;
const CLIENT_CPU: usize = 1;
const TURNS: usize = 201;
const SIZES: [usize; 6] = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Shards at every length, so that both ways are seen on both sides of the threshold.
const SHARDS: &str = "ec:3,2;threshold=0";
const REPLICAS: &str = "replicate:3";
/// One copy, three plain ones under way at once, a policy's copies, and the placements.
const WAYS: [&str; 7] = [
    "one copy", "3 copies", REPLICAS, "CE-CD", "SE-CD", "CE-SD", "SE-SD",
];
const PLACEMENTS: [&str; 4] = [
    "encode=client;decode=client",
    "encode=server;decode=client",
    "encode=client;decode=server",
    "encode=server;decode=server",
];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// For each of the first servers a key that it owns.
fn owned_keys(plain: &Client) -> Vec<String> {
    let of = |server| {
        let mut keys = (0..).map(|number| format!("owned-{number}"));
        keys.find(|key| plain.server_of_key(key.as_bytes()) == Some(server))
    };
    (0..COPIES).filter_map(of).collect()
}

/// Stores plain values on several servers, all under way at once.
fn set_plain(client: &Client, keys: &[String], value: &Arc<Vec<u8>>) -> Outcome<()> {
    let submit = |key: &String| {
        let store = Store::set(key.as_bytes(), Arc::clone(value));
        client.submit(Operation::Store(store))
    };
    let requests: Vec<_> = keys.iter().map(submit).collect();
    client.flush();
    requests
        .into_iter()
        .try_for_each(|request| Ok(client.wait(request).map(drop)?))
}

fn got(client: &Client, key: &str, room: &mut Vec<u8>, bytes: usize) -> Outcome<()> {
    client.get_into(key, room)?.ok_or("a miss")?;
    let is_it = room.len() == bytes && room.iter().all(|byte| *byte == 0x5a);
    is_it.then_some(()).ok_or_else(|| "another value".into())
}

/// How long it takes to get a value, without a look at it, which would cost more than small ones
/// do.
fn got_timed(client: &Client, key: &str, room: &mut Vec<u8>) -> Outcome<Duration> {
    timed(|| Ok(client.get_into(key, room).map(drop)?))
}

/// Times of one way to store and read values of one length.
#[derive(Default)]
struct Times {
    set: Vec<Duration>,
    get: Vec<Duration>,
}

/// Who takes turns at storing and reading.
struct Turns {
    plain: Client,
    /// Keys of different servers, of the plain client's.
    owned: Vec<String>,
    /// Those whose values lie on several servers.
    coding: Vec<Client>,
}

impl Turns {
    fn new(fleet: &Fleet) -> Outcome<Turns> {
        let plain = fleet.client(None)?;
        let owned = owned_keys(&plain);
        let placements = PLACEMENTS.map(|sides| format!("{SHARDS};{sides}"));
        let policies = std::iter::once(REPLICAS.to_owned()).chain(placements);
        let coding = policies.map(|policy| fleet.client(Some(&policy)));
        let coding = coding.collect::<Outcome<_>>()?;
        plain.noop(0)?;
        Ok(Turns {
            plain,
            owned,
            coding,
        })
    }

    /// Times of each of [`WAYS`].
    fn take(&self, bytes: usize) -> Outcome<Vec<Times>> {
        let (plain, value) = (&self.plain, Arc::new(vec![0x5a; bytes]));
        let mut room = Vec::new();
        let mut ways: Vec<Times> = WAYS.iter().map(|_| Times::default()).collect();
        for turn in 0..TURNS {
            let (floors, coded) = ways.split_at_mut(2);
            for (floor, keys) in floors.iter_mut().zip([&self.owned[..1], &self.owned]) {
                floor.set.push(timed(|| set_plain(plain, keys, &value))?);
            }
            let first = got_timed(plain, &self.owned[0], &mut room)?;
            floors[0].get.push(first);
            for ((times, client), way) in coded.iter_mut().zip(&self.coding).zip(0..) {
                // Keys of all first owners.
                let key = format!("{way}-{bytes}-{}", turn % 16);
                let set = || Ok(client.set(&key, Arc::clone(&value), 0).map(drop)?);
                times.set.push(timed(set)?);
                times.get.push(got_timed(client, &key, &mut room)?);
                if turn < 16 {
                    got(client, &key, &mut room, bytes)?;
                }
            }
        }
        Ok(ways)
    }
}

/// Medians in us of SET and GET of each of [`WAYS`]; NaN where a way has none.
struct Row {
    bytes: usize,
    set: Vec<f64>,
    get: Vec<f64>,
}

fn by_size(fleet: &Fleet) -> Outcome<Vec<Row>> {
    let turns = Turns::new(fleet)?;
    let row = |bytes| {
        let ways = turns.take(bytes)?;
        let median = |mut times: Vec<Duration>| match times.is_empty() {
            true => f64::NAN,
            false => quantile_us(&mut times, 0.5),
        };
        let ways = ways.into_iter();
        let (set, get) = ways.map(|it| (median(it.set), median(it.get))).unzip();
        Ok(Row { bytes, set, get })
    };
    SIZES.into_iter().map(row).collect()
}

fn table(rows: &[Row]) -> String {
    let heads: Vec<_> = ["value", ""].into_iter().chain(WAYS).collect();
    let cells = |row: &Row, name: &str, medians: &[f64]| {
        let median = |us: &f64| match us.is_nan() {
            true => "-".into(),
            false => format!("{us:.1}"),
        };
        let names = [size_text(row.bytes), name.to_owned()];
        names
            .into_iter()
            .chain(medians.iter().map(median))
            .collect()
    };
    let lines = rows.iter().flat_map(|row| {
        let (set, get) = (cells(row, "SET", &row.set), cells(row, "GET", &row.get));
        [set, get]
    });
    markdown::table(&heads, lines)
}

fn chart(title: String, rows: &[Row], medians: impl Fn(&Row) -> &[f64]) -> Chart {
    let series = WAYS.iter().enumerate().map(|(way, name)| Series {
        name: (*name).to_owned(),
        is_limit: way < 2,
        points: rows
            .iter()
            .map(|row| (row.bytes as f64, medians(row)[way]))
            .collect(),
    });
    Chart {
        title,
        x: XAxis::SizeBytes,
        y: YAxis::Log,
        series: series.collect(),
    }
}

fn main() -> Outcome<()> {
    let usage = "usage: placements FARCACHED [SVG]";
    let farcached = std::env::args().nth(1).ok_or(usage)?;
    let svg = std::env::args().nth(2);
    stop_servers_on_signals()?;
    let mut charts = Vec::new();
    for (transport, name) in [
        (Transport::Fabric, "shared memory"),
        (Transport::Tcp, "TCP"),
    ] {
        let fleet = Fleet::start(&farcached, transport)?;
        pin_to_cpu(CLIENT_CPU)?;
        let rows = by_size(&fleet)?;
        println!("\nClients over {name}; median us\n\n{}", table(&rows));
        charts.push(chart(format!("SET over {name}, us"), &rows, |row| &row.set));
        charts.push(chart(format!("GET over {name}, us"), &rows, |row| &row.get));
        late::late_binding(&fleet)?;
    }
    if let Some(path) = svg {
        let heading =
            "ec:3,2 by who encodes and decodes (C client, S server), by size of the value";
        let heading = heading.to_owned();
        std::fs::write(path, Picture { heading, charts }.svg())?;
    }
    Ok(())
}
