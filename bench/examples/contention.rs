//! What clients that count with one key at the same time do to one another, under redundancy:
//! `cargo run --release -p farcache-bench --example contention -- target/release/farcached`, with
//! `tcp` behind it over sockets instead of the fabric.
//!
//! Five servers, a process each, on one core, all clients on another. Each client counts as fast as
//! it can; its waits and its share of all counts are told.

use farcache_bench::statistics::quantile_us;
use farcache_client::{Client, ClientConfig, Transport};
use farcache_harness::pinning::pin_to_cpu;
use farcache_harness::server_process::{
    Launcher, Product, ServerProcess, free_ports, stop_servers_on_signals,
};
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const SERVERS: usize = 5;
const SERVER_CPU: usize = 0;
const CLIENT_CPU: usize = 1;
const CLIENTS: [usize; 4] = [1, 2, 4, 8];
const POLICIES: [&str; 2] = ["replicate:3", "ec:3,2"];
const KEY: &str = "count";
/// How long clients count together.
const TIME: Duration = Duration::from_millis(1500);

type Outcome<T> = Result<T, Box<dyn Error>>;

fn start(farcached: &str) -> Outcome<(Vec<SocketAddr>, Vec<ServerProcess>)> {
    let launcher = Launcher {
        farcached: PathBuf::from(farcached),
        memcached: PathBuf::from("memcached"),
        cpu: Some(SERVER_CPU),
        user: "root".into(),
    };
    let options = ["-m", "64", "-t", "1", "--fabric", "auto"];
    let ports = free_ports(SERVERS)?;
    let start = |port: &u16| launcher.start_on(*port, Product::Farcached, &options, &[]);
    let processes = ports.iter().map(start).collect::<Result<_, _>>()?;
    let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
    Ok((ports.into_iter().map(address).collect(), processes))
}

fn client(servers: &[SocketAddr], policy: &str, transport: Transport) -> Outcome<Client> {
    let servers: Vec<_> = servers.iter().map(ToString::to_string).collect();
    let mut config = ClientConfig::new(&servers.join(","))?;
    config.transport = transport;
    config.timeout = Duration::from_secs(10);
    config.redundancy = Some(policy.parse()?);
    Ok(Client::new(&config)?)
}

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

fn main() -> Outcome<()> {
    let usage = "usage: contention FARCACHED [tcp]";
    let farcached = std::env::args().nth(1).ok_or(usage)?;
    let transport = match std::env::args().nth(2).as_deref() {
        None => Transport::Fabric,
        Some("tcp") => Transport::Tcp,
        Some(other) => return Err(format!("{other}? {usage}").into()),
    };
    stop_servers_on_signals()?;
    let (servers, _processes) = start(&farcached)?;
    pin_to_cpu(CLIENT_CPU)?;
    println!("INCR of one key; us; the least that a client did, of its equal share");
    println!("policy       clients     1/s     p50     p99   longest     least");
    for policy in POLICIES {
        for clients in CLIENTS {
            let client = || client(&servers, policy, transport);
            let clients: Vec<_> = (0..clients).map(|_| client()).collect::<Result<_, _>>()?;
            println!("{policy:12} {:7} {}", clients.len(), row(&clients)?);
        }
    }
    Ok(())
}
