//! `farcache-replay`: hit ratios by memory of a trace, on simulated policies, on the store, on
//! farcached and on memcached.
#![forbid(unsafe_code)]

use clap::{Parser, ValueEnum};
use farcache_bench::curves::report::{Curves, Point};
use farcache_bench::curves::{
    Figures, Ssd, footprint_bytes, memory_sizes, next_uses, replay_on_server, replay_on_store,
    simulate,
};
use farcache_bench::load::keys::KeyId;
use farcache_bench::load::values::ValueSizes;
use farcache_bench::policies::{PolicyName, SegmentRules};
use farcache_bench::sizes::Sizes as MemorySizes;
use farcache_bench::traces::synthetic::Kind;
use farcache_bench::traces::{self, Builder, Columns, Format, Sizes, Trace};
use farcache_harness::server_process::{
    Launcher, Product, UNPRIVILEGED_USER, stop_servers_on_signals,
};
use std::fs::File;
use std::io::{self, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a trace is replayed on beside the policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Real {
    /// The store, in this process.
    Store,
    /// The server, over a socket.
    Farcached,
    /// memcached, over a socket.
    Memcached,
}

/// Replays a trace as a cache is used, GET and SET of what was not there, at several sizes of
/// memory.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// File with the trace.
    #[arg(required_unless_present = "synthetic")]
    file: Option<PathBuf>,
    /// Format of the file.
    #[arg(long, value_enum, default_value = "oracle-general")]
    format: Format,
    /// With `--format csv`: the column that holds the key.
    #[arg(long, default_value_t = 2)]
    key_column: usize,
    /// With `--format csv`: the column that holds the size in bytes; 0 if none does.
    #[arg(long, default_value_t = 3)]
    size_column: usize,
    /// Instead of a file: traffic after published statistics.
    #[arg(long, value_enum, conflicts_with = "file")]
    synthetic: Option<Kind>,
    /// Popular objects of synthetic traffic.
    #[arg(long, default_value_t = 300_000)]
    objects: KeyId,
    /// Requests taken, at most.
    #[arg(long, default_value_t = 1_000_000)]
    requests: usize,
    /// Sizes of values where the trace tells none: 4096, or 32-1024.
    #[arg(long, default_value = "4096")]
    value_bytes: ValueSizes,
    /// Values are cut to so many bytes.
    #[arg(long, default_value_t = 1_000_000)]
    value_bytes_max: u32,
    /// Sizes of memory, instead of parts of the footprint: 64M,128M.
    #[arg(long)]
    memory: Option<MemorySizes>,
    /// Smallest memory, as a part of the bytes of all keys and values.
    #[arg(long, default_value_t = 0.001)]
    first: f64,
    /// Largest memory, as a part of the same.
    #[arg(long, default_value_t = 0.5)]
    last: f64,
    /// Number of sizes of memory, in equal ratios.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    points: u32,
    /// Policies to simulate.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "lru,s3-fifo,sieve,w-tiny-lfu,lhd,belady"
    )]
    policies: Vec<PolicyName>,
    /// What else to replay the trace on. With servers, sizes of memory are whole megabytes.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "store")]
    real: Vec<Real>,
    /// With `--real store`: give the store an SSD, a file in this folder.
    #[arg(long)]
    ssd: Option<PathBuf>,
    /// Size of the SSD, in multiples of the memory.
    #[arg(long, default_value_t = 4.0, requires = "ssd")]
    ssd_times: f64,
    /// The server under test.
    #[arg(long, default_value = "target/release/farcached")]
    farcached: PathBuf,
    /// The server to compare with.
    #[arg(long, default_value = "memcached")]
    memcached: PathBuf,
    /// Core for the servers.
    #[arg(long)]
    server_cpu: Option<usize>,
    /// Write the results to this file as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Write a picture of the results to this file.
    #[arg(long)]
    svg: Option<PathBuf>,
}

impl Options {
    fn load(&self) -> io::Result<Trace> {
        if let Some(kind) = self.synthetic {
            return Ok(kind.trace(self.objects, self.requests, self.value_bytes_max));
        }
        let path = self.file.as_deref().unwrap_or(Path::new(""));
        let named = |error| io::Error::other(format!("{}: {error}", path.display()));
        self.load_file(path).map_err(named)
    }

    fn load_file(&self, path: &Path) -> io::Result<Trace> {
        let sizes = Sizes {
            untold: self.value_bytes,
            bytes_max: self.value_bytes_max,
        };
        let columns = Columns {
            key: self.key_column,
            value_bytes: (self.size_column > 0).then_some(self.size_column),
        };
        let mut builder = Builder::new(sizes, self.requests);
        let mut input = BufReader::new(File::open(path)?);
        traces::read(self.format, columns, &mut input, &mut |record| {
            builder.add(record);
            match builder.is_full() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok(builder.finish())
    }

    fn name(&self) -> String {
        let stem = self.file.as_deref().and_then(Path::file_stem);
        match self.synthetic {
            Some(kind) => kind.name().into(),
            None => stem.unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    fn memory_sizes(&self, footprint_bytes: u64) -> Vec<u64> {
        let sizes: Vec<u64> = match &self.memory {
            Some(sizes) => sizes.0.iter().map(|&bytes| bytes as u64).collect(),
            None => memory_sizes(footprint_bytes, self.first, self.last, self.points),
        };
        if self.real.iter().all(|real| *real == Real::Store) {
            return sizes;
        }
        let whole = |bytes: u64| bytes.next_multiple_of(1 << 20);
        let mut sizes: Vec<u64> = sizes.into_iter().map(whole).collect();
        sizes.dedup();
        sizes
    }

    fn ssd(&self) -> Option<Ssd> {
        let folder = self.ssd.clone()?;
        Some(Ssd {
            folder,
            times: self.ssd_times,
        })
    }

    fn launcher(&self) -> Launcher {
        Launcher {
            farcached: self.farcached.clone(),
            memcached: self.memcached.clone(),
            cpu: self.server_cpu,
            user: UNPRIVILEGED_USER.into(),
        }
    }

    fn measure(&self, trace: &Trace) -> io::Result<Vec<Point>> {
        let next_uses = next_uses(trace);
        let mut points = Vec::new();
        for memory_bytes in self.memory_sizes(footprint_bytes(trace)) {
            for &policy in &self.policies {
                let rules = SegmentRules::default();
                let figures = simulate(policy, rules, trace, &next_uses, memory_bytes);
                points.push(Point {
                    name: policy.title().into(),
                    is_simulated: true,
                    memory_bytes,
                    resident_bytes: None,
                    figures,
                });
            }
            for &real in &self.real {
                points.push(self.replay(trace, real, memory_bytes)?);
            }
        }
        Ok(points)
    }

    fn replay(&self, trace: &Trace, real: Real, memory_bytes: u64) -> io::Result<Point> {
        let (name, (figures, resident_bytes)) = match real {
            Real::Store => (
                "store",
                (
                    replay_on_store(trace, memory_bytes, self.ssd().as_ref())?,
                    None,
                ),
            ),
            Real::Farcached => (
                "farcached",
                self.replay_on(Product::Farcached, trace, memory_bytes)?,
            ),
            Real::Memcached => (
                "memcached",
                self.replay_on(Product::Memcached, trace, memory_bytes)?,
            ),
        };
        Ok(Point {
            name: name.into(),
            is_simulated: false,
            memory_bytes,
            resident_bytes,
            figures,
        })
    }

    fn replay_on(
        &self,
        product: Product,
        trace: &Trace,
        memory_bytes: u64,
    ) -> io::Result<(Figures, Option<u64>)> {
        let megabytes = (memory_bytes >> 20).to_string();
        let server = self.launcher().start(product, &["-m", &megabytes])?;
        let figures = replay_on_server(trace, server.address())?;
        Ok((figures, Some(server.resident_bytes()?)))
    }
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    stop_servers_on_signals()?;
    let trace = options.load()?;
    let curves = Curves {
        trace: options.name(),
        requests: trace.requests.len(),
        objects: trace.objects,
        footprint_bytes: footprint_bytes(&trace),
        points: options.measure(&trace)?,
    };
    print!("{curves}");
    if let Some(path) = &options.svg {
        std::fs::write(path, curves.picture().svg())?;
    }
    if let Some(path) = &options.json {
        std::fs::write(path, serde_json::to_string_pretty(&curves)?)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("farcache-replay: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
#[path = "../../tests/man_page/mod.rs"]
mod man_page;

#[test]
fn the_manual_page_is_up_to_date() {
    let more = man_page::More {
        examples: "farcache-replay --format oracle-general cloudphysics.oracleGeneral\n\
             farcache-replay --format csv --real farcached,memcached --svg hits.svg twitter52.csv\n\
             farcache-replay --format arc --value-bytes 512 --memory 64M,128M,256M P1.lis\n\
             farcache-replay --synthetic etc --real store --json hits.json",
        failure: Some(
            "A trace that does not fit its format, or a server that did not start or broke off.",
        ),
        see_also: &["farcached", "memcached", "farcache-compare"],
    };
    man_page::check::<Options>("farcache-replay", &more);
}
