//! Servers are killed in the middle of a load, return empty and are repaired; then others are
//! killed. Is everything there, how fast was the repair, and what did readers feel meanwhile?
//!
//! ```text
//! cargo run --release -p farcache-bench --example repair -- target/release/farcached 1024 4g
//! ```
//!
//! Arguments: the server's program, MiB of values to load, `--repair-rate`. Five servers with
//! `ec:3,2` and values of 64 KiB, over TCP on this machine. Prints what it has measured; ends with
//! status 1 if a value is lost or wrong.
#![forbid(unsafe_code)]

use farcache_bench::coding_fleet::map_text;
use farcache_bench::host_memory;
use farcache_bench::statistics::quantile_us;
use farcache_client::distribution::Distribution;
use farcache_client::hash::HashAlgorithm;
use farcache_client::{Client, ClientConfig, Transport};
use farcache_harness::server_process::free_ports;
use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

const SERVERS: usize = 5;
const VALUE_BYTES: usize = 64 << 10;
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long readers are measured without a repair.
const QUIET: Duration = Duration::from_secs(5);

struct Fleet {
    program: PathBuf,
    rate: String,
    memory_mebibytes: u64,
    directory: PathBuf,
    ports: Vec<u16>,
    children: Vec<Child>,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

impl Fleet {
    fn start(program: PathBuf, rate: String, load_mebibytes: u64) -> Fleet {
        let directory =
            std::env::temp_dir().join(format!("farcache-repair-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let ports = free_ports(SERVERS).expect("free ports");
        std::fs::write(directory.join("map"), map_text(&ports)).expect("written");
        std::fs::write(directory.join("secret"), "a secret of the benchmark").expect("written");
        let mut fleet = Fleet {
            program,
            rate,
            // A shard is a third, and a half more than that is free.
            memory_mebibytes: (load_mebibytes / 2).max(128),
            directory,
            ports,
            children: Vec::new(),
        };
        for number in 0..SERVERS {
            let child = fleet.spawn(number);
            fleet.children.push(child);
        }
        (0..SERVERS).for_each(|number| fleet.await_repair(number));
        fleet
    }

    fn spawn(&self, number: usize) -> Child {
        let (port, id) = (self.ports[number].to_string(), (number + 1).to_string());
        let child = Command::new(&self.program)
            .args([
                "-l",
                "127.0.0.1",
                "-U",
                "0",
                "-t",
                "1",
                "-u",
                "root",
                "-p",
                &port,
            ])
            .args(["-m", &self.memory_mebibytes.to_string()])
            .args(["--cluster-self", &id, "--repair-rate", &self.rate])
            .arg("--cluster-file")
            .arg(self.directory.join("map"))
            .arg("--cluster-secret-file")
            .arg(self.directory.join("secret"))
            .stderr(Stdio::null())
            .spawn();
        let child = child.expect("the server starts");
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.ports[number])).is_err() {
            assert!(Instant::now() < until, "the server does not listen");
            std::thread::sleep(Duration::from_millis(2));
        }
        child
    }

    fn kill(&mut self, number: usize) {
        self.children[number].kill().expect("it runs");
        self.children[number].wait().expect("it ends");
    }

    fn start_again(&mut self, number: usize) {
        self.children[number] = self.spawn(number);
    }

    fn stat(&self, number: usize, name: &str) -> u64 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports[number])).expect("it accepts");
        stream
            .write_all(b"stats redundancy\r\nquit\r\n")
            .expect("sent");
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let head = format!("STAT repair_{name} ");
        let value = lines.filter_map(|line| line.strip_prefix(&head)?.trim().parse().ok());
        value.last().unwrap_or_default()
    }

    fn await_repair(&self, number: usize) {
        let until = Instant::now() + PATIENCE;
        while self.stat(number, "catching_up") > 0 || self.stat(number, "passes") == 0 {
            assert!(Instant::now() < until, "a server is not repaired");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Until a server that returned empty has all of its parts.
    fn await_parts(&self, number: usize, keys: usize) {
        let until = Instant::now() + PATIENCE;
        while self.stat(number, "parts_rebuilt") < keys as u64 {
            assert!(Instant::now() < until, "a server is not repaired");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn client(&self) -> Client {
        let addresses = self.ports.iter().map(|port| format!("127.0.0.1:{port}"));
        let addresses: Vec<String> = addresses.collect();
        let mut config = ClientConfig::new(&addresses.join(",")).expect("addresses");
        config.placement.distribution = Distribution::KetamaWeighted;
        config.placement.key_hash = HashAlgorithm::Md5;
        config.transport = Transport::Tcp;
        config.timeout = Duration::from_secs(20);
        config.redundancy = Some("ec:3,2".parse().expect("a policy"));
        Client::new(&config).expect("a client")
    }
}

fn name(key: usize) -> String {
    format!("value-{key}")
}

fn value(key: usize) -> Vec<u8> {
    let word = |at: usize| ((key * VALUE_BYTES + at) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..VALUE_BYTES / 8)
        .flat_map(|at| word(at).to_le_bytes())
        .collect()
}

/// Reads one key after the other until told to stop; returns how long each took.
fn read_until(client: &Client, keys: usize, is_over: impl Fn() -> bool) -> Vec<Duration> {
    let (mut times, mut key) = (Vec::new(), 0);
    while !is_over() {
        key = (key + 7919) % keys;
        let began = Instant::now();
        let item = client.get(name(key));
        times.push(began.elapsed());
        assert!(matches!(item, Ok(Some(_))), "{key}: {:?}", item.err());
    }
    times
}

fn tell_times(what: &str, times: &mut [Duration]) -> f64 {
    let (p50, p99) = (quantile_us(times, 0.5), quantile_us(times, 0.99));
    println!(
        "{what}: {} reads, p50 {p50:.0} us, p99 {p99:.0} us",
        times.len()
    );
    p99
}

/// How many values are not there, or wrong.
fn lost(client: &Client, keys: usize) -> usize {
    let is_lost = |key: &usize| {
        let item = client.get(name(*key)).ok().flatten();
        item.is_none_or(|item| item.value != value(*key))
    };
    (0..keys).filter(is_lost).count()
}

fn load(fleet: &mut Fleet, keys: usize) {
    let began = Instant::now();
    let client = fleet.client();
    for key in 0..keys {
        if key == keys / 2 {
            [0, 1].into_iter().for_each(|server| fleet.kill(server));
        }
        client.set(name(key), value(key), 0).expect("acknowledged");
    }
    println!(
        "{keys} values of 64 KiB stored in {:.1} s, two servers killed halfway",
        began.elapsed().as_secs_f64()
    );
}

fn repair(fleet: &mut Fleet, keys: usize) {
    let client = fleet.client();
    // Both without the two servers: what returns is compared with the same degraded reads.
    let until = Instant::now() + QUIET;
    let mut before = read_until(&client, keys, || Instant::now() >= until);
    let p99_before = tell_times("degraded, no repair", &mut before);
    // What comes back fills memory that nobody has touched for some time.
    host_memory::take_most_and_give_back();
    [0, 1]
        .into_iter()
        .for_each(|server| fleet.start_again(server));
    let began = Instant::now();
    let is_over = AtomicBool::new(false);
    let (repaired_in, mut during) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_until(&client, keys, || is_over.load(SeqCst)));
        [0, 1]
            .into_iter()
            .for_each(|server| fleet.await_parts(server, keys));
        let repaired_in = began.elapsed().as_secs_f64();
        is_over.store(true, SeqCst);
        (repaired_in, reader.join().expect("a reader"))
    });
    let p99_during = tell_times("while two are repaired", &mut during);
    println!(
        "p99 meanwhile over p99 before: {:.2}",
        p99_during / p99_before
    );
    for server in [0, 1] {
        let parts = fleet.stat(server, "parts_rebuilt");
        let fetched = fleet.stat(server, "bytes_fetched") as f64;
        let values = parts as f64 * VALUE_BYTES as f64;
        println!(
            "server {server}: {parts} shards, {:.0} MB fetched for {:.0} MB of values, {} errors",
            fetched / 1e6,
            values / 1e6,
            fleet.stat(server, "errors")
        );
    }
    let all = (keys * VALUE_BYTES * 2) as f64;
    println!(
        "all parts there after {repaired_in:.2} s: {:.2} GB/s of values",
        all / repaired_in / 1e9
    );
    [0, 1]
        .into_iter()
        .for_each(|server| fleet.await_repair(server));
    let caught_up_in = began.elapsed().as_secs_f64();
    println!("caught up after {caught_up_in:.2} s");
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().expect("the server's program");
    let mebibytes = arguments
        .next()
        .map_or(1024, |text| text.parse().expect("MiB"));
    let rate = arguments.next().unwrap_or_else(|| "128m".to_owned());
    let keys = ((mebibytes << 20) / VALUE_BYTES as u64) as usize;
    let mut fleet = Fleet::start(program.into(), rate, mebibytes);
    load(&mut fleet, keys);
    repair(&mut fleet, keys);
    [2, 3].into_iter().for_each(|server| fleet.kill(server));
    let lost = lost(&fleet.client(), keys);
    println!("two others killed: {lost} of {keys} values lost or wrong");
    if lost > 0 {
        drop(fleet);
        std::process::exit(1);
    }
}
