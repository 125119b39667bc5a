//! The client in Rust: this project's library over sockets, with weighted ketama. It knows no
//! discovery, so a thread asks for the servers, and a change makes a new client.

use super::report::Part;
use farcache_client::distribution::{Distribution, PlacementSettings};
use farcache_client::hash::HashAlgorithm;
use farcache_client::{Client, ClientConfig, Transport};
use farcache_harness::control::Control;
use farcache_harness::target::Target;
use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What it is called.
pub const NAME: &str = "rust";

/// How this program is told to be the client.
pub const COMMAND: &str = "language-client";

/// What all clients are told, in this order.
#[derive(Debug, clap::Args)]
pub struct Options {
    name: String,
    endpoint: SocketAddr,
    operations: PathBuf,
    keys: usize,
    value_bytes: usize,
    rate: u64,
    part_ms: u64,
    poll_ms: u64,
}

/// What is known of a key.
#[derive(Clone, Copy, Debug, Default)]
struct Versions {
    /// The one given to it last.
    given: u64,
    /// The last one whose write was acknowledged.
    acknowledged: u64,
}

/// Servers as `host:port` with commas between.
type Told = Arc<Mutex<String>>;

struct Reader<'o> {
    options: &'o Options,
    told: Told,
    servers: String,
    client: Client,
    versions: Vec<Versions>,
}

/// Is the client.
///
/// # Errors
/// The endpoint tells of no servers, or not all keys can be stored.
pub fn run(options: &Options) -> io::Result<()> {
    let servers = discover(options.endpoint)?;
    let mut reader = Reader {
        options,
        client: connect(&servers)?,
        told: Arc::new(Mutex::new(servers)),
        servers: String::new(),
        versions: vec![Versions::default(); options.keys],
    };
    reader.adopt_servers()?;
    if !(0..options.keys).all(|number| reader.store(number)) {
        return Err(io::Error::other("not all keys could be stored"));
    }
    keep_asking(options, &reader.told);
    println!("ready");
    io::stdin().lock().read_line(&mut String::new())?;
    let operations = std::fs::read_to_string(&options.operations)?;
    let parts = reader.run(&operations)?;
    let mut to = io::stdout().lock();
    parts.iter().try_for_each(|part| tell(part, &mut to))?;
    writeln!(to, "end")
}

/// The servers that the endpoint tells: in the reply's third line `host|ip|port` for each.
fn discover(endpoint: SocketAddr) -> io::Result<String> {
    let mut control = Control::connect(&Target::Tcp(endpoint))?;
    control.ask("config get cluster")?;
    control.line()?;
    let nodes = control.line()?;
    let server = |node: &str| {
        let mut words = node.split('|');
        let (host, port) = (words.next()?, words.nth(1)?);
        Some(format!("{host}:{port}"))
    };
    let servers: Option<Vec<String>> = nodes.split(' ').map(server).collect();
    let servers = servers.ok_or_else(|| io::Error::other(format!("no servers: {nodes}")))?;
    Ok(servers.join(","))
}

fn keep_asking(options: &Options, told: &Told) {
    let (endpoint, told) = (options.endpoint, Arc::clone(told));
    let every = Duration::from_millis(options.poll_ms);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(every);
            match discover(endpoint) {
                Ok(servers) => *told.lock().unwrap_or_else(PoisonError::into_inner) = servers,
                Err(error) => eprintln!("{NAME}: discovery: {error}"),
            }
        }
    });
}

/// Of a client that places keys as the cluster's map does, over sockets.
///
/// # Errors
/// No addresses.
pub fn config(servers: &str) -> io::Result<ClientConfig> {
    let config = ClientConfig::new(servers).map_err(io::Error::other)?;
    Ok(ClientConfig {
        placement: PlacementSettings {
            distribution: Distribution::KetamaWeighted,
            key_hash: HashAlgorithm::Md5,
            ..PlacementSettings::default()
        },
        transport: Transport::Tcp,
        ..config
    })
}

fn connect(servers: &str) -> io::Result<Client> {
    let config = config(servers)?;
    let config = ClientConfig {
        // Six clients share a core.
        spin: Duration::ZERO,
        ..config
    };
    Client::new(&config).map_err(io::Error::other)
}

impl Reader<'_> {
    /// Goes by the servers that were told last.
    fn adopt_servers(&mut self) -> io::Result<()> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if *told == self.servers {
            return Ok(());
        }
        self.servers.clone_from(&told);
        self.client = connect(&self.servers)?;
        println!("servers {}", self.servers.split(',').count());
        Ok(())
    }

    fn key(&self, number: usize) -> String {
        format!("{}:{number}", self.options.name)
    }

    /// Stores the key's next version; whether that was acknowledged.
    fn store(&mut self, number: usize) -> bool {
        let key = self.key(number);
        let versions = &mut self.versions[number];
        versions.given += 1;
        let head = format!("{key} {} ", versions.given);
        let value = format!("{head:.<0$}", self.options.value_bytes);
        match self.client.set(&key, value.as_bytes(), 0) {
            Ok(_) => versions.acknowledged = versions.given,
            Err(error) => eprintln!("{NAME}: set: {error}"),
        }
        versions.acknowledged == versions.given
    }

    fn read(&mut self, part: &mut Part, number: usize, from: Instant) {
        part.reads += 1;
        let got = match self.client.get(self.key(number)) {
            Ok(got) => got,
            Err(error) => {
                eprintln!("{NAME}: get: {error}");
                part.failed += 1;
                return;
            }
        };
        part.latencies_us.push(from.elapsed().as_micros() as u64);
        if let Some(item) = got {
            part.hits += 1;
            self.judge(part, number, &item.value);
        } else {
            part.failed += u64::from(!self.store(number));
        }
    }

    /// Counts a value that nobody has stored under this key, and one that is older than what was
    /// acknowledged.
    fn judge(&self, part: &mut Part, number: usize, value: &[u8]) {
        let versions = self.versions[number];
        match self.version_of(number, value) {
            Some(version) if version <= versions.given => {
                part.stale += u64::from(version < versions.acknowledged);
            }
            _ => part.wrong += 1,
        }
    }

    fn version_of(&self, number: usize, value: &[u8]) -> Option<u64> {
        let text = std::str::from_utf8(value).ok()?;
        let rest = text.strip_prefix(&self.key(number))?.strip_prefix(' ')?;
        let (version, dots) = rest.split_once(' ')?;
        let is_whole =
            value.len() == self.options.value_bytes && dots.bytes().all(|byte| byte == b'.');
        version.parse().ok().filter(|_| is_whole)
    }

    fn run(&mut self, operations: &str) -> io::Result<Vec<Part>> {
        let Options { rate, part_ms, .. } = *self.options;
        let mut parts = Vec::new();
        let start = Instant::now();
        for (index, operation) in operations.lines().enumerate() {
            let index = index as u64;
            let due = start + Duration::from_nanos(index * 1_000_000_000 / rate);
            let from = sleep_until(due).unwrap_or(due);
            let at = (index * 1_000 / rate / part_ms) as usize;
            if at == parts.len() {
                parts.push(Part::default());
            }
            self.adopt_servers()?;
            let (kind, number) = operation.split_once(' ').unwrap_or_default();
            let number = number.parse().map_err(io::Error::other)?;
            if kind == "r" {
                self.read(&mut parts[at], number, from);
            } else {
                parts[at].updates += 1;
                parts[at].failed += u64::from(!self.store(number));
            }
        }
        Ok(parts)
    }
}

/// Waits until then, and tells when it woke; nothing where there was nothing to wait for. Who had
/// time to sleep is not charged with a timer that was late.
fn sleep_until(then: Instant) -> Option<Instant> {
    let left = then.checked_duration_since(Instant::now())?;
    std::thread::sleep(left);
    Some(Instant::now())
}

/// Says what was done in a part of the time.
fn tell(part: &Part, to: &mut impl Write) -> io::Result<()> {
    let counts = [
        part.reads,
        part.hits,
        part.updates,
        part.wrong,
        part.stale,
        part.failed,
    ];
    let mut line = String::from("part");
    for number in counts.iter().chain(&part.latencies_us) {
        write!(line, " {number}").expect("text");
    }
    writeln!(to, "{line}")
}
