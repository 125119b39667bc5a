//! What clients that change one key at the same time do to one another, under redundancy:
//! `cargo run --release -p farcache-bench --example contention -- target/release/farcached`, with
//! `tcp` behind it over sockets instead of the fabric.
//!
//! Five servers, a process each, on one core, all clients on another. Each client counts as fast as
//! it can; its waits and its share of all counts are told. Then one client stores while others
//! append, touch and read: how many of its SETs nobody knows the end of.

use farcache_bench::coding_fleet::Fleet;
use farcache_bench::statistics::quantile_us;
use farcache_client::{Client, Transport};
use farcache_harness::pinning::pin_to_cpu;
use farcache_harness::server_process::stop_servers_on_signals;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const CLIENT_CPU: usize = 1;
const CLIENTS: [usize; 4] = [1, 2, 4, 8];
const POLICIES: [&str; 2] = ["replicate:3", "ec:3,2"];
const KEY: &str = "count";
/// How long clients count together.
const TIME: Duration = Duration::from_millis(1500);
/// How long an operation may take where SETs are made beside changes. A server that codes relies on
/// a peer only once it has been connected to it for as long.
const TIMEOUT: Duration = Duration::from_secs(2);
const SIDES: [&str; 2] = ["client", "server"];
const SIZES: [usize; 2] = [100, 100_000];

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How long each count took of one client, until this time.
fn count(client: &Client, until: Instant) -> Result<Vec<Duration>, farcache_client::Error> {
    let mut times = Vec::new();
    while Instant::now() < until {
        let start = Instant::now();
        client.increment(KEY, 1, None)?;
        times.push(start.elapsed());
    }
    Ok(times)
}

fn row(clients: &[Client]) -> Outcome<String> {
    // The first operation connects.
    for client in clients {
        client.set(KEY, "0", 0)?;
    }
    let until = Instant::now() + TIME;
    let times: Result<Vec<Vec<Duration>>, _> = std::thread::scope(|scope| {
        let begin = |client| scope.spawn(move || count(client, until));
        let threads: Vec<_> = clients.iter().map(begin).collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended.map(|times| times.expect("no panic")).collect()
    });
    let times = times?;
    let shares: Vec<usize> = times.iter().map(Vec::len).collect();
    let mut all: Vec<Duration> = times.into_iter().flatten().collect();
    let (rate, least) = (all.len() as f64 / TIME.as_secs_f64(), shares.iter().min());
    let least = 100.0 * *least.unwrap_or(&0) as f64 * shares.len() as f64 / all.len() as f64;
    let [p50, p99, longest] = [0.5, 0.99, 1.0].map(|part| quantile_us(&mut all, part));
    Ok(format!(
        "{rate:9.0} {p50:7.0} {p99:7.0} {longest:9.0} {least:7.0} %"
    ))
}

/// How often a client stored a value in this time, and how many of its SETs have no known end.
fn store(client: &Client, bytes: usize, time: Duration) -> (usize, usize) {
    let value = vec![b'1'; bytes];
    let (start, mut all, mut unknown) = (Instant::now(), 0, 0);
    while start.elapsed() < time {
        unknown += usize::from(client.set(KEY, &value[..], 0).is_err());
        all += 1;
    }
    (all, unknown)
}

fn stores_beside_changes(fleet: &Fleet, policy: &str, side: &str, bytes: usize) -> Outcome<String> {
    let policy = format!("{policy};encode={side}");
    let client = || fleet.client_for(TIMEOUT, Some(&policy));
    let (setter, appender, toucher, reader) = (client()?, client()?, client()?, client()?);
    store(&setter, bytes, TIMEOUT + TIMEOUT / 10);
    let stop = AtomicBool::new(false);
    let until_told = |work: &dyn Fn()| {
        while !stop.load(Relaxed) {
            work();
        }
    };
    let (all, unknown) = std::thread::scope(|scope| {
        scope.spawn(|| until_told(&|| drop(appender.append(KEY, "1"))));
        scope.spawn(|| until_told(&|| drop(toucher.touch(KEY, 1000))));
        scope.spawn(|| until_told(&|| drop(reader.get(KEY))));
        let ends = store(&setter, bytes, TIME);
        stop.store(true, Relaxed);
        ends
    });
    let part = 100.0 * unknown as f64 / all as f64;
    Ok(format!("{all:9} {unknown:8} {part:7.2} %"))
}

fn main() -> Outcome<()> {
    let usage = "usage: contention FARCACHED [tcp]";
    let farcached = std::env::args().nth(1).ok_or(usage)?;
    let transport = match std::env::args().nth(2).as_deref() {
        None => Transport::Fabric,
        Some("tcp") => Transport::Tcp,
        Some(other) => return Err(format!("{other}? {usage}").into()),
    };
    stop_servers_on_signals()?;
    let fleet = Fleet::start(&farcached, transport)?;
    pin_to_cpu(CLIENT_CPU)?;
    println!("INCR of one key; us; the least that a client did, of its equal share");
    println!("policy       clients     1/s     p50     p99   longest     least");
    for policy in POLICIES {
        for clients in CLIENTS {
            let client = || fleet.client(Some(policy));
            let clients: Vec<_> = (0..clients).map(|_| client()).collect::<Result<_, _>>()?;
            println!("{policy:12} {:7} {}", clients.len(), row(&clients)?);
        }
    }
    println!("SETs beside APPEND, TOUCH and GET of the same key");
    println!("policy       encode  bytes       SETs in doubt    part");
    for (policy, side, bytes) in POLICIES.iter().flat_map(|policy| {
        let sides = SIDES
            .iter()
            .flat_map(|side| SIZES.map(|bytes| (side, bytes)));
        sides.map(move |(side, bytes)| (policy, side, bytes))
    }) {
        let row = stores_beside_changes(&fleet, policy, side, bytes)?;
        println!("{policy:12} {side:6} {bytes:6} {row}");
    }
    Ok(())
}
