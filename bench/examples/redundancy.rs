//! What values on several servers cost:
//! `cargo run --release -p farcache-bench --example redundancy -- target/release/farcached`, with
//! `tcp` behind it over sockets instead of the fabric.
//!
//! Five servers on one core, the client on another. Ways of storing and reading a value take turns;
//! medians count. Bytes are those that the servers tell.

use farcache_client::{
    Client, ClientConfig, Delivery, Operation, Request, Route, Store, Transport,
};
use farcache_harness::pinning::pin_to_cpu;
use farcache_harness::server_process::{Launcher, Product, ServerProcess, stop_servers_on_signals};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SERVERS: usize = 5;
const COPIES: usize = 3;
const SERVER_CPU: usize = 0;
const CLIENT_CPU: usize = 1;
const TURNS: usize = 301;
/// Values that are stored at a time where throughput counts.
const IN_FLIGHT: usize = 8;
const IN_FLIGHT_SIZES: [usize; 3] = [16 << 10, 64 << 10, 256 << 10];
const SIZES: [usize; 6] = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Values of which the servers' bytes are counted.
const STORED: usize = 200;
/// Servers that end before the last reads.
const LOST: std::ops::Range<usize> = 3..5;
/// Shards at every length, so that both ways are seen on both sides of the threshold.
const SHARDS: &str = "ec:3,2;threshold=0";
const SMALL_AS_COPIES: &str = "ec:3,2";
const REPLICAS: &str = "replicate:3";

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Fleet {
    servers: Vec<ServerProcess>,
    transport: Transport,
}

impl Fleet {
    fn start(farcached: &str, transport: Transport) -> Outcome<Fleet> {
        let launcher = Launcher {
            farcached: PathBuf::from(farcached),
            memcached: PathBuf::from("memcached"),
            cpu: Some(SERVER_CPU),
            user: "root".into(),
        };
        let options = ["-m", "512", "-I", "8m", "--fabric", "auto"];
        let start = |_| launcher.start(Product::Farcached, &options);
        let servers = (0..SERVERS).map(start).collect::<Result<_, _>>()?;
        Ok(Fleet { servers, transport })
    }

    fn client(&self, policy: Option<&str>) -> Outcome<Client> {
        let addresses: Vec<_> = self
            .servers
            .iter()
            .map(|one| one.address().to_string())
            .collect();
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
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
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

/// A key whose only server is not lost.
fn single_key(plain: &Client, bytes: usize) -> String {
    let mut keys = (0..).map(|number| format!("single-{bytes}-{number}"));
    let is_kept = |key: &String| plain.server_of_key(key.as_bytes()) == Some(0);
    keys.find(is_kept).expect("every server has keys")
}

/// Keys whose servers include, or not, those that are lost later, so several.
fn keys(bytes: usize) -> impl Iterator<Item = String> {
    (0..16).map(move |number| format!("get-{bytes}-{number}"))
}

fn reads(clients: &Clients, when: &str) -> Outcome<Vec<f64>> {
    println!("\nGET {when}, median us; ratios to a single copy");
    println!("value B   one copy  {REPLICAS}  ratio    ec:3,2  ratio");
    let mut all = Vec::new();
    for bytes in SIZES {
        let mut times: [Vec<Duration>; 3] = Default::default();
        let mut room = Vec::new();
        for _ in 0..TURNS / 16 {
            for key in keys(bytes) {
                let single = single_key(&clients.plain, bytes);
                times[0].push(timed(|| got(&clients.plain, &single, &mut room, bytes))?);
                let (r, s) = (format!("r-{key}"), format!("s-{key}"));
                times[1].push(timed(|| got(&clients.replicas, &r, &mut room, bytes))?);
                times[2].push(timed(|| got(&clients.shards, &s, &mut room, bytes))?);
            }
        }
        let [one, replicas, shards] = times.map(median_us);
        println!(
            "{bytes:7} {one:10.1} {replicas:12.1} {:6.2} {shards:9.1} {:6.2}",
            replicas / one,
            shards / one,
        );
        all.push(shards);
    }
    Ok(all)
}

fn memory(fleet: &Fleet, clients: &Clients) -> Outcome<()> {
    println!("\nBytes of items on all servers for {STORED} values, over those of the values");
    println!("value B  {REPLICAS}    ec:3,2  ec over copies");
    for bytes in [4 << 10, 64 << 10] {
        let mut grown = Vec::new();
        for client in [&clients.replicas, &clients.shards] {
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
        let (copies, shards) = (grown[0], grown[1]);
        println!(
            "{bytes:7} {copies:12.3} {shards:9.3} {:15.3}",
            shards / copies
        );
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let farcached = std::env::args()
        .nth(1)
        .ok_or("usage: redundancy FARCACHED [tcp]")?;
    stop_servers_on_signals()?;
    let transport = match std::env::args().nth(2).as_deref() {
        None => Transport::Fabric,
        Some("tcp") => Transport::Tcp,
        Some(other) => return Err(format!("{other}: tcp or nothing").into()),
    };
    let mut fleet = Fleet::start(&farcached, transport)?;
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
    memory(&fleet, &clients)?;
    clients.plain.flush_all(0)?;
    stores(&clients)?;
    clients.plain.flush_all(0)?;
    throughput(&clients)?;
    clients.plain.flush_all(0)?;
    for bytes in SIZES {
        let single = single_key(&clients.plain, bytes);
        clients.plain.set(single, vec![0x5a; bytes], 0)?;
        for key in keys(bytes) {
            clients
                .replicas
                .set(format!("r-{key}"), vec![0x5a; bytes], 0)?;
            clients
                .shards
                .set(format!("s-{key}"), vec![0x5a; bytes], 0)?;
        }
    }
    let healthy = reads(&clients, "with all servers")?;
    for server in fleet.servers.drain(LOST) {
        server.stop()?;
    }
    let degraded = reads(&clients, "with two servers lost")?;
    println!("\nGET of ec:3,2 with two servers lost, over all there");
    for ((bytes, healthy), degraded) in SIZES.iter().zip(healthy).zip(degraded) {
        println!("{bytes:7} {:6.2}", degraded / healthy);
    }
    Ok(())
}
