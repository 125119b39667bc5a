//! What values on several servers cost:
//! `cargo run --release -p farcache-bench --example redundancy -- target/release/farcached`, with
//! `tcp` behind it over sockets instead of the fabric, with `one-thread` with servers of one
//! process that share a thread (`farcache-fleet`, which is looked for beside `farcached`).
//!
//! Five servers on one core, the client on another. Ways of storing and reading a value take turns;
//! medians count. Bytes are those that the servers tell.

use farcache_bench::statistics::quantile_us;
use farcache_client::{
    Client, ClientConfig, Delivery, Operation, Request, Route, Store, Transport,
};
use farcache_harness::pinning::pin_to_cpu;
use farcache_harness::server_process::{
    Launcher, Product, ServerProcess, free_ports, stop_servers_on_signals,
};
use std::error::Error;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SERVERS: usize = 5;
const COPIES: usize = 3;
const SERVER_CPU: usize = 0;
const CLIENT_CPU: usize = 1;
const TURNS: usize = 301;
/// Values of each length that are read in turn, as many of each way: one alone would lie in caches.
const KEYS: usize = 16;
/// Values that are stored at a time where throughput counts.
const IN_FLIGHT: usize = 8;
const IN_FLIGHT_SIZES: [usize; 3] = [16 << 10, 64 << 10, 256 << 10];
const SIZES: [usize; 6] = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Values of which the servers' bytes are counted.
const STORED: usize = 200;
/// Memory of each server.
const SERVER_MEBIBYTES: usize = 128;
/// Servers that end before the last reads.
const LOST: std::ops::Range<usize> = 3..5;
/// Shards at every length, so that both ways are seen on both sides of the threshold.
const SHARDS: &str = "ec:3,2;threshold=0";
const SMALL_AS_COPIES: &str = "ec:3,2";
const REPLICAS: &str = "replicate:3";

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How the servers share their core.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// Each is a process.
    Processes,
    /// They take turns on one thread.
    OneThread,
}

struct Fleet {
    addresses: Vec<SocketAddr>,
    transport: Transport,
    /// Ends the servers when it goes.
    _processes: Vec<ServerProcess>,
}

impl Fleet {
    fn start(farcached: &str, transport: Transport, sharing: Sharing) -> Outcome<Fleet> {
        let farcached = PathBuf::from(farcached);
        let mut launcher = Launcher {
            farcached: farcached.clone(),
            memcached: PathBuf::from("memcached"),
            cpu: Some(SERVER_CPU),
            user: "root".into(),
        };
        let ports = free_ports(SERVERS)?;
        let memory = SERVER_MEBIBYTES.to_string();
        let options = ["-m", &memory, "-I", "8m", "-A", "--fabric", "auto"].map(String::from);
        let start = |launcher: &Launcher, port: u16, options: &[String]| {
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            launcher.start_on(port, Product::Farcached, &options, &[])
        };
        let processes = match sharing {
            Sharing::Processes => {
                let start = |port: &u16| start(&launcher, *port, &options);
                ports.iter().map(start).collect::<Result<_, _>>()?
            }
            Sharing::OneThread => {
                launcher.farcached = farcached.with_file_name("farcache-fleet");
                let mut all = options.to_vec();
                for port in &ports[1..] {
                    all.extend(["--", "-l", "127.0.0.1", "-t", "1", "-p"].map(String::from));
                    all.push(port.to_string());
                    all.extend(options.clone());
                }
                vec![start(&launcher, ports[0], &all)?]
            }
        };
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Ok(Fleet {
            addresses: ports.into_iter().map(local).collect(),
            transport,
            _processes: processes,
        })
    }

    /// Ends a server.
    fn stop(&self, server: usize) -> Outcome<()> {
        let mut connection = TcpStream::connect(self.addresses[server])?;
        connection.write_all(b"shutdown\r\n")?;
        while TcpStream::connect(self.addresses[server]).is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn client(&self, policy: Option<&str>) -> Outcome<Client> {
        let addresses: Vec<_> = self.addresses.iter().map(ToString::to_string).collect();
        let mut config = ClientConfig::new(&addresses.join(","))?;
        config.transport = self.transport;
        config.timeout = Duration::from_secs(30);
        config.connect_timeout = Duration::from_secs(30);
        config.redundancy = policy.map(str::parse).transpose()?;
        Ok(Client::new(&config)?)
    }

    /// Bytes of items on all servers.
    fn bytes(&self, client: &Client) -> Outcome<u64> {
        let mut sum = 0;
        for server in 0..SERVERS {
            let told = client.statistics(server, "")?;
            let bytes = told.iter().find(|(name, _)| name == "bytes");
            sum += bytes
                .ok_or("no bytes among the statistics")?
                .1
                .parse::<u64>()?;
        }
        Ok(sum)
    }
}

fn median_us(mut times: Vec<Duration>) -> f64 {
    quantile_us(&mut times, 0.5)
}

fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// Stores plain copies on several servers, all under way at once: what nothing that stores as many
/// can go below.
fn set_copies(client: &Client, key: &[u8], value: &Arc<Vec<u8>>, copies: usize) -> Outcome<()> {
    let requests = begin_copies(client, key, value, copies);
    client.flush();
    for request in requests {
        client.wait(request)?;
    }
    Ok(())
}

fn begin_copies(client: &Client, key: &[u8], value: &Arc<Vec<u8>>, copies: usize) -> Vec<Request> {
    let submit = |server| {
        let delivery = Delivery {
            route: Route::Server(server),
            timeout: None,
        };
        let store = Store::set(key, Arc::clone(value));
        client.submit_to(Operation::Store(store), delivery)
    };
    (0..copies).map(submit).collect()
}

/// Stores so many values that are all under way at once; the time that each takes of it.
fn set_many(flight: impl Fn(usize) -> Vec<Request>, client: &Client) -> Outcome<Duration> {
    let start = Instant::now();
    let requests: Vec<_> = (0..IN_FLIGHT).flat_map(flight).collect();
    client.flush();
    for request in requests {
        client.wait(request)?;
    }
    Ok(start.elapsed() / IN_FLIGHT as u32)
}

fn throughput(clients: &Clients) -> Outcome<()> {
    println!("\nSET, {IN_FLIGHT} in flight, median us of each; three copies over ec:3,2");
    println!("value B  3 copies    ec:3,2  ratio");
    for bytes in IN_FLIGHT_SIZES {
        let value = Arc::new(vec![0x5a; bytes]);
        let mut times: [Vec<Duration>; 2] = Default::default();
        for _ in 0..TURNS / IN_FLIGHT {
            let plain = &clients.plain;
            let copies = |number| {
                let key = format!("flight-{number}");
                begin_copies(plain, key.as_bytes(), &value, COPIES)
            };
            times[0].push(set_many(copies, plain)?);
            let shards = &clients.shards;
            let whole = |number| {
                let key = format!("flight-ec-{number}");
                let store = Store::set(key.as_bytes(), Arc::clone(&value));
                vec![shards.submit(Operation::Store(store))]
            };
            times[1].push(set_many(whole, shards)?);
        }
        let [copies, shards] = times.map(median_us);
        println!(
            "{bytes:7} {copies:9.1} {shards:9.1} {:6.2}",
            copies / shards
        );
    }
    Ok(())
}

fn got(client: &Client, key: &str, room: &mut Vec<u8>, bytes: usize) -> Outcome<()> {
    client.get_into(key, room)?.ok_or("a miss")?;
    (room.len() == bytes)
        .then_some(())
        .ok_or_else(|| "another length".into())
}

struct Clients {
    plain: Client,
    replicas: Client,
    shards: Client,
    mixed: Client,
}

fn stores(clients: &Clients) -> Outcome<()> {
    println!("\nSET, median us; ratios to three plain copies in flight");
    println!(
        "value B   one copy  3 copies  {REPLICAS}  ratio    ec:3,2  ratio  with threshold  ratio"
    );
    for bytes in SIZES {
        let value = Arc::new(vec![0x5a; bytes]);
        let mut times: [Vec<Duration>; 5] = Default::default();
        for _ in 0..TURNS {
            times[0].push(timed(|| set_copies(&clients.plain, b"one", &value, 1))?);
            times[1].push(timed(|| {
                set_copies(&clients.plain, b"three", &value, COPIES)
            })?);
            let set = |client: &Client, key: &str| {
                let value = Arc::clone(&value);
                timed(|| Ok(client.set(key, value, 0).map(drop)?))
            };
            times[2].push(set(&clients.replicas, "r")?);
            times[3].push(set(&clients.shards, "s")?);
            times[4].push(set(&clients.mixed, "m")?);
        }
        let [one, three, replicas, shards, mixed] = times.map(median_us);
        println!(
            "{bytes:7} {one:10.1} {three:9.1} {replicas:12.1} {:6.2} {shards:9.1} {:6.2} \
             {mixed:15.1} {:6.2}",
            replicas / three,
            shards / three,
            mixed / three,
        );
    }
    Ok(())
}

/// As many keys whose only server is not lost.
fn single_keys(plain: &Client, bytes: usize) -> Vec<String> {
    let keys = (0..).map(|number| format!("single-{bytes}-{number}"));
    let server = |key: &String| plain.server_of_key(key.as_bytes());
    let kept = keys.filter(|key| server(key).is_some_and(|server| !LOST.contains(&server)));
    kept.take(KEYS).collect()
}

/// Keys whose servers include, or not, those that are lost later, so several.
fn keys(bytes: usize) -> impl Iterator<Item = String> {
    (0..KEYS).map(move |number| format!("get-{bytes}-{number}"))
}

fn reads(clients: &Clients, when: &str) -> Outcome<Vec<f64>> {
    println!("\nGET {when}, median us; ratios to a single copy");
    println!("value B   one copy  {REPLICAS}  ratio    ec:3,2  ratio  with threshold  ratio");
    let mut all = Vec::new();
    for bytes in SIZES {
        let mut times: [Vec<Duration>; 4] = Default::default();
        let mut room = Vec::new();
        let singles = single_keys(&clients.plain, bytes);
        for _ in 0..TURNS / KEYS {
            for (key, single) in keys(bytes).zip(&singles) {
                times[0].push(timed(|| got(&clients.plain, single, &mut room, bytes))?);
                let [r, s, m] = ["r", "s", "m"].map(|policy| format!("{policy}-{key}"));
                times[1].push(timed(|| got(&clients.replicas, &r, &mut room, bytes))?);
                times[2].push(timed(|| got(&clients.shards, &s, &mut room, bytes))?);
                times[3].push(timed(|| got(&clients.mixed, &m, &mut room, bytes))?);
            }
        }
        let [one, replicas, shards, mixed] = times.map(median_us);
        println!(
            "{bytes:7} {one:10.1} {replicas:12.1} {:6.2} {shards:9.1} {:6.2} {mixed:15.1} {:6.2}",
            replicas / one,
            shards / one,
            mixed / one,
        );
        all.push(shards);
    }
    Ok(all)
}

/// Has every page of the servers' memory been touched: the system clears a page at its first touch,
/// which takes longer than anything that is measured here.
fn fill(plain: &Client) -> Outcome<()> {
    let value = Arc::new(vec![0x5a; 1 << 20]);
    for number in 0..SERVERS * SERVER_MEBIBYTES * 2 {
        plain.set(format!("fill-{number}"), Arc::clone(&value), 0)?;
    }
    Ok(plain.flush_all(0)?)
}

fn memory(fleet: &Fleet, clients: &Clients) -> Outcome<()> {
    println!("\nBytes of items on all servers for {STORED} values, over those of the values");
    println!("value B  {REPLICAS}    ec:3,2  ec over copies  with threshold");
    for bytes in [4 << 10, 64 << 10] {
        let mut grown = Vec::new();
        for client in [&clients.replicas, &clients.shards, &clients.mixed] {
            let before = fleet.bytes(&clients.plain)?;
            for number in 0..STORED {
                client.set(
                    format!("memory-{bytes}-{}-{number}", grown.len()),
                    vec![0x5a; bytes],
                    0,
                )?;
            }
            let after = fleet.bytes(&clients.plain)?;
            grown.push(after.saturating_sub(before) as f64 / (STORED * bytes) as f64);
        }
        let (copies, shards, mixed) = (grown[0], grown[1], grown[2]);
        println!(
            "{bytes:7} {copies:12.3} {shards:9.3} {:15.3} {mixed:15.3}",
            shards / copies
        );
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let usage = "usage: redundancy FARCACHED [tcp] [one-thread]";
    let farcached = std::env::args().nth(1).ok_or(usage)?;
    stop_servers_on_signals()?;
    let (mut transport, mut sharing) = (Transport::Fabric, Sharing::Processes);
    for word in std::env::args().skip(2) {
        match word.as_str() {
            "tcp" => transport = Transport::Tcp,
            "one-thread" => sharing = Sharing::OneThread,
            other => return Err(format!("{other}? {usage}").into()),
        }
    }
    let fleet = Fleet::start(&farcached, transport, sharing)?;
    pin_to_cpu(CLIENT_CPU)?;
    let clients = Clients {
        plain: fleet.client(None)?,
        replicas: fleet.client(Some(REPLICAS))?,
        shards: fleet.client(Some(SHARDS))?,
        mixed: fleet.client(Some(SMALL_AS_COPIES))?,
    };
    println!("over {}", {
        clients.plain.noop(0)?;
        clients.plain.lanes(0).unwrap_or_else(|| "a socket".into())
    });
    // Before anything is evicted, whose bytes would be taken off.
    memory(&fleet, &clients)?;
    clients.plain.flush_all(0)?;
    fill(&clients.plain)?;
    stores(&clients)?;
    clients.plain.flush_all(0)?;
    throughput(&clients)?;
    clients.plain.flush_all(0)?;
    for bytes in SIZES {
        for single in single_keys(&clients.plain, bytes) {
            clients.plain.set(single, vec![0x5a; bytes], 0)?;
        }
        for key in keys(bytes) {
            let Clients {
                replicas,
                shards,
                mixed,
                ..
            } = &clients;
            for (policy, client) in [("r", replicas), ("s", shards), ("m", mixed)] {
                client.set(format!("{policy}-{key}"), vec![0x5a; bytes], 0)?;
            }
        }
    }
    let healthy = reads(&clients, "with all servers")?;
    LOST.into_iter().try_for_each(|server| fleet.stop(server))?;
    let degraded = reads(&clients, "with two servers lost")?;
    println!("\nGET of ec:3,2 with two servers lost, over all there");
    for ((bytes, healthy), degraded) in SIZES.iter().zip(healthy).zip(degraded) {
        println!("{bytes:7} {:6.2}", degraded / healthy);
    }
    Ok(())
}
