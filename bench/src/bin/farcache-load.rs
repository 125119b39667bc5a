//! `farcache-load`: a load generator for anything that speaks memcached's protocols.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::load::keys::KEY_BYTES_MIN;
use farcache_bench::load::measurement::advice;
use farcache_bench::load::protocol::Protocol;
use farcache_bench::load::run_limits::RunLimits;
use farcache_bench::load::runner::{Pace, Plan};
use farcache_bench::load::values::ValueSizes;
use farcache_bench::load::workload::Mix;
use farcache_harness::target::Target;
use std::process::ExitCode;

/// How requests are paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    /// Each connection sends its next batch when the last one is answered.
    Closed,
    /// One connection with a blocking socket.
    Blocking,
    /// Requests are due at the rate of `--rate`; latency counts from then.
    Open,
}

/// Drives a memcached server and measures its answers.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Address (host:port) or path of a unix socket.
    #[arg(long, alias = "servers", default_value = "127.0.0.1:11211")]
    server: Target,
    /// Pacing of the requests.
    #[arg(long, value_enum, default_value = "closed")]
    mode: Mode,
    /// Requests a second of the open loop.
    #[arg(long, required_if_eq("mode", "open"))]
    rate: Option<f64>,
    /// Open loop with random gaps (Poisson) instead of even ones.
    #[arg(long)]
    poisson: bool,
    /// Protocol to speak.
    #[arg(long, value_enum, default_value = "text")]
    protocol: Protocol,
    /// Connections over all threads.
    #[arg(long, default_value_t = 1)]
    connections: usize,
    /// Requests sent together on one connection.
    #[arg(long, default_value_t = 1)]
    depth: usize,
    /// Keys of each fetch.
    #[arg(long, default_value_t = 1)]
    multi_get: usize,
    /// Share of sets, from 0 to 1.
    #[arg(long, default_value_t = 0.0)]
    set_ratio: f64,
    /// Number of keys.
    #[arg(long, default_value_t = 1_000_000)]
    keys: u32,
    /// Size of each key in bytes.
    #[arg(long, default_value_t = 16)]
    key_bytes: usize,
    /// Popularity of the keys by a Zipf law with this exponent, instead of uniform.
    #[arg(long)]
    zipf: Option<f64>,
    /// Size of the values in bytes, or a range: 64-1024.
    #[arg(long, default_value = "64")]
    value_bytes: ValueSizes,
    /// Store every key once before the run.
    #[arg(long)]
    preload: bool,
    /// Compare every value read, byte by byte.
    #[arg(long)]
    verify: bool,
    /// Seconds before anything counts.
    #[arg(long, default_value_t = 0.5)]
    warmup: f64,
    /// Seconds that count.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Ends after so many requests of each thread.
    #[arg(long)]
    requests: Option<u64>,
    /// Generator threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Cores for the threads, in turn (1 or 1,3).
    #[arg(long, value_delimiter = ',')]
    cpu: Vec<usize>,
    /// Sleep while waiting instead of spinning.
    #[arg(long)]
    sleep: bool,
    /// Start of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

impl Options {
    fn plan(self) -> Result<Plan, String> {
        let keys = KEY_BYTES_MIN..=farcache_base::limits::KEY_BYTES_MAX;
        if !keys.contains(&self.key_bytes) {
            return Err(format!(
                "--key-bytes must be from {} to {}",
                keys.start(),
                keys.end()
            ));
        }
        if [
            self.connections,
            self.depth,
            self.threads,
            self.keys as usize,
        ]
        .contains(&0)
        {
            return Err("--connections, --depth, --threads and --keys must be above 0".into());
        }
        Ok(Plan {
            pace: self.pace(),
            limits: self.limits(),
            mix: Mix {
                set_ratio: self.set_ratio,
                multi_get_keys: self.multi_get,
            },
            target: self.server,
            protocol: self.protocol,
            connections: self.connections,
            depth: self.depth,
            threads: self.threads,
            cpus: self.cpu,
            spin: !self.sleep,
            keys: self.keys,
            key_bytes: self.key_bytes,
            zipf: self.zipf,
            values: self.value_bytes,
            verify: self.verify,
            seed: self.seed,
        })
    }

    fn pace(&self) -> Pace {
        match self.mode {
            Mode::Closed => Pace::Closed,
            Mode::Blocking => Pace::Blocking,
            Mode::Open => {
                let rate_per_s = self.rate.unwrap_or(1.0).max(f64::MIN_POSITIVE);
                Pace::Open {
                    rate_per_s,
                    poisson: self.poisson,
                }
            }
        }
    }

    fn limits(&self) -> RunLimits {
        RunLimits {
            warmup_ns: if self.requests.is_some() {
                0
            } else {
                (self.warmup * 1e9) as u64
            },
            measure_ns: if self.requests.is_some() {
                u64::MAX
            } else {
                (self.seconds * 1e9) as u64
            },
            requests_max: self.requests.unwrap_or(u64::MAX),
        }
    }
}

fn run(options: Options) -> Result<(), Box<dyn std::error::Error>> {
    let (preload, json) = (options.preload, options.json);
    let plan = options.plan()?;
    if preload {
        let stored = plan.preload()?;
        if let Some(error) = stored.first_error {
            eprintln!(
                "farcache-load: {} stores failed, the first with: {error}{}",
                stored.counts.errors,
                advice(&error)
            );
        }
    }
    let summary = plan.run()?;
    match json {
        true => println!("{}", serde_json::to_string_pretty(&summary)?),
        false => print!("{summary}"),
    }
    Ok(())
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    match run(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("farcache-load: {error}");
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
        examples: "farcache-load --preload --connections 8 --depth 64 --protocol meta --cpu 1\n\
             farcache-load --preload --mode open --rate 200000 --connections 50 --set-ratio 0.1 --zipf 0.99\n\
             farcache-load --preload --mode blocking --value-bytes 1000000 --keys 64\n\
             farcache-load --preload --connections 8 --multi-get 48 --verify --json",
        failure: None,
        see_also: &["farcached", "farcache-compare", "ohb_memlat", "ohb_memthr"],
    };
    man_page::check::<Options>("farcache-load", &more);
}
