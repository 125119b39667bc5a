//! What it costs where a value on several servers is coded, and what late binding saves:
//! `cargo run --release -p farcache-bench --example placements -- target/release/farcached`, with
//! `tcp` behind it over sockets instead of the fabric.
//!
//! Five servers of one cluster, each a process with one worker, on one core; the client on another.
//! All ways take turns; medians count. The servers talk over sockets in both cases.
#![forbid(unsafe_code)]

use farcache_bench::coding_fleet::Fleet;
use farcache_bench::statistics::quantile_us;
use farcache_client::{Client, Operation, Store, Transport};
use farcache_harness::pinning::pin_to_cpu;
use farcache_harness::server_process::{ServerProcess, stop_servers_on_signals};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

const COPIES: usize = 3;
const CLIENT_CPU: usize = 1;
const TURNS: usize = 201;
const SIZES: [usize; 6] = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Shards at every length, so that both ways are seen on both sides of the threshold.
const SHARDS: &str = "ec:3,2;threshold=0";
const REPLICAS: &str = "replicate:3";
const PLACEMENTS: [(&str, &str); 4] = [
    ("CE-CD", "encode=client;decode=client"),
    ("SE-CD", "encode=server;decode=client"),
    ("CE-SD", "encode=client;decode=server"),
    ("SE-SD", "encode=server;decode=server"),
];
/// Of the reads while servers stand still.
const LATE_BYTES: usize = 64 << 10;
const LATE_KEYS: usize = 64;
const LATE_TIME: Duration = Duration::from_secs(6);
const STALL: Duration = Duration::from_millis(5);
const BETWEEN_STALLS: Duration = Duration::from_millis(45);

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

/// Times of one way to store and read.
#[derive(Default)]
struct Times {
    set: Vec<Duration>,
    get: Vec<Duration>,
}

fn by_size(fleet: &Fleet) -> Outcome<()> {
    let plain = fleet.client(None)?;
    let owned = owned_keys(&plain);
    let replicas = fleet.client(Some(REPLICAS))?;
    let placements = PLACEMENTS.map(|(name, sides)| (name, format!("{SHARDS};{sides}")));
    let mut clients = Vec::new();
    for (name, policy) in &placements {
        clients.push((*name, fleet.client(Some(policy))?));
    }
    plain.noop(0)?;
    let lanes = plain.lanes(0).unwrap_or_else(|| "a socket".into());
    println!("clients over {lanes}, servers among themselves over sockets; ec:3,2; median us");
    print!("value B          one copy   3 copies  {REPLICAS}");
    clients.iter().for_each(|(name, _)| print!("{name:>11}"));
    println!();
    for bytes in SIZES {
        let value = Arc::new(vec![0x5a; bytes]);
        let mut room = Vec::new();
        let mut floors: [Times; 2] = Default::default();
        let mut coded: Vec<Times> = (0..=clients.len()).map(|_| Times::default()).collect();
        for turn in 0..TURNS {
            floors[0]
                .set
                .push(timed(|| set_plain(&plain, &owned[..1], &value))?);
            floors[1]
                .set
                .push(timed(|| set_plain(&plain, &owned, &value))?);
            floors[0].get.push(got_timed(&plain, &owned[0], &mut room)?);
            let all = std::iter::once(&replicas).chain(clients.iter().map(|(_, one)| one));
            for ((times, client), way) in coded.iter_mut().zip(all).zip(0..) {
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
        let p50 = |times: &mut Vec<Duration>| match times.is_empty() {
            true => "-".to_owned(),
            false => format!("{:.1}", quantile_us(times, 0.5)),
        };
        let mut all: Vec<Times> = floors.into_iter().chain(coded).collect();
        print!("{bytes:7} SET  ");
        all.iter_mut()
            .for_each(|times| print!("{:>11}", p50(&mut times.set)));
        print!("\n{bytes:7} GET  ");
        all.iter_mut()
            .for_each(|times| print!("{:>11}", p50(&mut times.get)));
        println!();
    }
    Ok(())
}

/// Has one server after the other, drawn at random, stand still for a moment, until it is told to
/// stop.
fn stall(servers: &[ServerProcess], stop: &AtomicBool) -> std::io::Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    while !stop.load(SeqCst) {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        servers[(state >> 33) as usize % servers.len()].stall(STALL)?;
        std::thread::sleep(BETWEEN_STALLS);
    }
    Ok(())
}

fn late_binding(fleet: &Fleet) -> Outcome<()> {
    println!(
        "\nGET of {LATE_BYTES} B, ec:3,2, us; a server drawn at random stands still for {STALL:?} \
         every {:?}",
        STALL + BETWEEN_STALLS
    );
    println!("                             p50       p99     p99.9   reads");
    for decode in ["client", "server"] {
        for delta in [0, 1] {
            for stalls in [false, true] {
                let policy = format!("{SHARDS};decode={decode};delta={delta}");
                let mut times = late_reads(&fleet.client(Some(&policy))?, &fleet.servers, stalls)?;
                let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|part| quantile_us(&mut times, part));
                let how = if stalls { "one stalls" } else { "healthy" };
                println!(
                    "decode={decode} delta={delta} {how:10} {p50:8.1} {p99:9.1} {p999:9.1} {:7}",
                    times.len()
                );
            }
        }
    }
    Ok(())
}

fn late_reads(client: &Client, servers: &[ServerProcess], stalls: bool) -> Outcome<Vec<Duration>> {
    let keys: Vec<_> = (0..LATE_KEYS)
        .map(|number| format!("late-{number}"))
        .collect();
    let mut room = Vec::new();
    for key in &keys {
        client.set(key, vec![0x5a; LATE_BYTES], 0)?;
        got(client, key, &mut room, LATE_BYTES)?;
    }
    let stop = AtomicBool::new(!stalls);
    std::thread::scope(|scope| {
        let stalling = scope.spawn(|| stall(servers, &stop));
        let end = Instant::now() + LATE_TIME;
        let mut times = Vec::new();
        let mut read = || -> Outcome<()> {
            for key in keys.iter().cycle() {
                if Instant::now() >= end {
                    break;
                }
                times.push(got_timed(client, key, &mut room)?);
            }
            Ok(())
        };
        let outcome = read();
        stop.store(true, SeqCst);
        stalling.join().expect("it ends")?;
        outcome.map(|()| times)
    })
}

fn main() -> Outcome<()> {
    let usage = "usage: placements FARCACHED [tcp]";
    let farcached = std::env::args().nth(1).ok_or(usage)?;
    stop_servers_on_signals()?;
    let transport = match std::env::args().nth(2).as_deref() {
        None => Transport::Fabric,
        Some("tcp") => Transport::Tcp,
        Some(other) => return Err(format!("{other}: tcp or nothing").into()),
    };
    let fleet = Fleet::start(&farcached, transport)?;
    pin_to_cpu(CLIENT_CPU)?;
    by_size(&fleet)?;
    late_binding(&fleet)
}
