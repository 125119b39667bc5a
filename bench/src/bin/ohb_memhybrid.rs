//! `ohb_memhybrid`: more data than memory, with and without an SSD below it.
#![forbid(unsafe_code)]

use clap::Parser;
use clap::builder::{OsStringValueParser, TypedValueParser};
use farcache_bench::host_memory;
use farcache_bench::hybrid::device_limit::{self, DeviceLimit};
use farcache_bench::hybrid::{Part, Report, Scan, ScanMode, run};
use farcache_bench::load::keys::KeyId;
use farcache_bench::ohb::client::Transport;
use farcache_bench::sizes::size;
use farcache_client::{Client, ClientConfig};
use farcache_harness::pinning::pin_to_cpu;
use farcache_harness::server_process::{Launcher, Product, stop_servers_on_signals};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Bytes that an item takes beside its value, roughly: key, header, index.
const ITEM_OVERHEAD_BYTES: usize = 64;

/// How long the device is measured in each way.
const DEVICE_TIME: Duration = Duration::from_secs(1);

/// Stores more than the servers have memory for, reads it, and shows how much is found and how
/// fast: memory alone against memory with an SSD, and memcached with and without extstore beside
/// them.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Order of the keys that are read.
    #[arg(long, value_enum, default_value = "uniform")]
    scanmode: ScanMode,
    /// Exponent of the Zipf law.
    #[arg(long, default_value_t = 0.99)]
    theta: f64,
    /// Data over memory.
    #[arg(long, default_value_t = 1.5)]
    spillfactor: f64,
    /// Memory of each server.
    #[arg(long, value_parser = mebibytes, default_value = "256M")]
    maxmemory: usize,
    /// Size of each value.
    #[arg(long, value_parser = size, default_value = "4K")]
    valsize: usize,
    /// Microseconds that a miss costs beside the answer.
    #[arg(long, default_value_t = 1000)]
    misspenalty: u64,
    /// What carries the requests.
    #[arg(long, value_enum, default_value = "tcp")]
    transport: Transport,
    /// Reads under way together; 1 waits for each.
    #[arg(long, default_value_t = 1)]
    window: usize,
    /// Reads measured, at most.
    #[arg(long, default_value_t = 200_000)]
    reads: u64,
    /// Seconds after which the reads end.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Measure this server (host:port) instead of starting some.
    #[arg(long)]
    servers: Option<String>,
    /// Directory for the SSD's files; it should lie on the SSD.
    #[arg(long, default_value = ".")]
    ssd: PathBuf,
    /// Program of farcached; the one beside this program by default.
    #[arg(long)]
    farcached: Option<PathBuf>,
    /// Program of memcached; left out where it is empty.
    #[arg(long, default_value = "memcached", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    memcached: PathBuf,
    /// Core of the servers.
    #[arg(long)]
    server_cpu: Option<usize>,
    /// Core of the client.
    #[arg(long)]
    client_cpu: Option<usize>,
    /// Write every figure to this file, as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Write the picture to this file, as SVG.
    #[arg(long)]
    svg: Option<PathBuf>,
}

/// A server to measure.
struct Candidate {
    name: &'static str,
    product: Product,
    options: Vec<String>,
}

impl Options {
    fn keys(&self) -> KeyId {
        let item_bytes = (self.valsize + ITEM_OVERHEAD_BYTES) as f64;
        (self.maxmemory as f64 * self.spillfactor / item_bytes).max(1.0) as KeyId
    }

    fn scan(&self) -> Scan {
        Scan {
            mode: self.scanmode,
            theta: self.theta,
            keys: self.keys(),
            value_bytes: self.valsize,
            miss_penalty: Duration::from_micros(self.misspenalty),
            warmup: self.reads / 10,
            reads: self.reads,
            time_max: Duration::from_secs_f64(self.seconds),
            window: self.window.max(1),
            seed: 1,
        }
    }

    fn launcher(&self) -> io::Result<Launcher> {
        let beside = std::env::current_exe()?.with_file_name("farcached");
        Ok(Launcher {
            farcached: self.farcached.clone().unwrap_or(beside),
            memcached: self.memcached.clone(),
            cpu: self.server_cpu,
            user: "root".to_owned(),
        })
    }

    /// Room on the SSD: twice the data, so that cleaning has room as well.
    fn ssd_mebibytes(&self) -> usize {
        let data = self.maxmemory as f64 * self.spillfactor;
        ((2.0 * data) as usize >> 20).max(64)
    }

    fn candidates(&self) -> Vec<Candidate> {
        let memory = || vec!["-m".to_owned(), (self.maxmemory >> 20).to_string()];
        let with = |more: [String; 2]| memory().into_iter().chain(more).collect();
        let file = |name: &str| self.ssd.join(name).display().to_string();
        let mebibytes = self.ssd_mebibytes();
        let ssd = format!("{}:{mebibytes}m", file("memhybrid-farcached"));
        let external = format!(
            "ext_page_size=8,ext_path={}:{mebibytes}m",
            file("memhybrid-memcached")
        );
        let candidate = |name, product, options| Candidate {
            name,
            product,
            options,
        };
        let mut all = vec![
            candidate("farcached, memory", Product::Farcached, memory()),
            candidate(
                "farcached, SSD",
                Product::Farcached,
                with(["--ssd".into(), ssd]),
            ),
        ];
        if !self.memcached.as_os_str().is_empty() {
            all.push(candidate("memcached, memory", Product::Memcached, memory()));
            let options = with(["-o".into(), external]);
            all.push(candidate(
                "memcached, extstore",
                Product::Memcached,
                options,
            ));
        }
        all
    }

    fn connect(&self, server: &str) -> io::Result<Client> {
        let mut config = ClientConfig::new(server).map_err(io::Error::other)?;
        config.transport = self.transport.name().parse().map_err(io::Error::other)?;
        config.timeout = Duration::from_secs(30);
        Client::new(&config).map_err(io::Error::other)
    }

    fn measure(&self, launcher: &Launcher, candidate: &Candidate) -> io::Result<Part> {
        let options: Vec<&str> = candidate.options.iter().map(String::as_str).collect();
        // What is beyond the memory may get into the page cache.
        host_memory::take_and_give_back(
            (self.maxmemory as f64 * (1.0 + self.spillfactor)) as usize,
        );
        let server = launcher.start(candidate.product, &options)?;
        let client = self.connect(&server.address().to_string())?;
        let part = run(&client, candidate.name, &self.scan())?;
        drop(client);
        server.stop()?;
        Ok(part)
    }

    fn remove_files(&self) {
        for name in ["memhybrid-farcached", "memhybrid-memcached"] {
            // It need not have been made.
            let _ = std::fs::remove_file(self.ssd.join(name));
        }
    }

    fn measure_all(&self) -> io::Result<Vec<Part>> {
        if let Some(servers) = &self.servers {
            let client = self.connect(servers)?;
            return Ok(vec![run(&client, servers, &self.scan())?]);
        }
        let launcher = self.launcher()?;
        let mut parts = Vec::new();
        for candidate in self.candidates() {
            self.remove_files();
            let part = self.measure(&launcher, &candidate);
            self.remove_files();
            parts.push(part?);
        }
        Ok(parts)
    }
}

/// What the JSON file holds.
#[derive(serde::Serialize)]
struct Results {
    device: Option<DeviceLimit>,
    report: Report,
}

fn run_all(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    stop_servers_on_signals()?;
    options.client_cpu.map_or(Ok(()), pin_to_cpu)?;
    let device = match options.servers {
        Some(_) => None,
        None => Some(device_limit::measure(&options.ssd, 512 << 20, DEVICE_TIME)?),
    };
    let report = Report {
        scan_mode: options.scanmode,
        spill_factor: options.spillfactor,
        memory_bytes: options.maxmemory,
        value_bytes: options.valsize,
        miss_penalty_us: options.misspenalty,
        window: options.window.max(1),
        transport: options.transport.name().to_owned(),
        parts: options.measure_all()?,
    };
    print!("{report}");
    if let Some(device) = &device {
        println!("{device}");
    }
    if let Some(path) = &options.svg {
        std::fs::write(path, report.picture().svg())?;
    }
    if let Some(path) = &options.json {
        let results = Results { device, report };
        std::fs::write(path, serde_json::to_string_pretty(&results)?)?;
    }
    Ok(())
}

/// A size that servers can be told with `-m`.
fn mebibytes(text: &str) -> Result<usize, String> {
    match size(text)? {
        bytes if bytes < 1 << 20 => Err(format!(
            "{bytes} bytes are less than 1M; 256M, for example, says mebibytes"
        )),
        bytes => Ok(bytes),
    }
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    match run_all(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ohb_memhybrid: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
#[path = "../../tests/man_page/mod.rs"]
mod man_page;

#[test]
fn memory_without_a_unit_is_refused() {
    assert!(mebibytes("256").is_err_and(|said| said.contains("256M")));
    assert_eq!(mebibytes("256M"), Ok(256 << 20));
}

#[test]
fn the_manual_page_is_up_to_date() {
    let more = man_page::More {
        examples: "ohb_memhybrid --ssd /mnt/ssd\n\
             ohb_memhybrid --ssd /mnt/ssd --scanmode zipf --spillfactor 4 --valsize 16K --svg hybrid.svg --json hybrid.json\n\
             ohb_memhybrid --ssd /mnt/ssd --window 32\n\
             ohb_memhybrid --servers 10.0.0.1:11211 --transport fabric",
        failure: None,
        see_also: &[
            "farcached",
            "memcached",
            "farcache-compare",
            "farcache-reopen",
        ],
    };
    man_page::check::<Options>("ohb_memhybrid", &more);
}
