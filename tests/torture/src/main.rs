//! `farcache-torture`: hostile clients against a server, and what it must survive.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::ohb::client::ClientSession;
use farcache_bench::shows::helpers::{HELPER_ARGUMENT, be_helper};
use farcache_harness::server_process::{
    Launcher, Product, UNPRIVILEGED_USER, raise_descriptor_limit, stop_servers_on_signals,
};
use farcache_harness::target::Target;
use farcache_torture::checks::Limits;
use farcache_torture::killed_clients::{VICTIM_ARGUMENT, be_victim};
use farcache_torture::siege::Outcome;
use farcache_torture::{Part, Torture, Verdict};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Kills clients, leaves answers unread, floods with connections and fills the memory, and has an
/// honest client work beside adversaries that use up what the server has; fails if the server
/// leaves its limits, keeps others waiting, refuses the honest client anything or leaks.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Program of farcached; the one beside this program by default.
    #[arg(long)]
    farcached: Option<PathBuf>,
    /// Torture this memcached instead.
    #[arg(long)]
    memcached: Option<PathBuf>,
    /// Parts to run; all by default.
    #[arg(long, value_enum, value_delimiter = ',')]
    parts: Vec<Part>,
    /// Memory limit of the server, in megabytes.
    #[arg(long, default_value_t = 64)]
    megabytes: u32,
    /// Clients killed in sets, and as many in gets.
    #[arg(long, default_value_t = 200)]
    kills: usize,
    /// Megabytes that the client that never reads asks for.
    #[arg(long, default_value_t = 1024)]
    silent_megabytes: u64,
    /// Connects a second of the flood.
    #[arg(long, default_value_t = 5000)]
    connects: u32,
    /// Seconds of the flood.
    #[arg(long, default_value_t = 5.0)]
    flood_seconds: f64,
    /// Connections of the adversaries that hold some.
    #[arg(long, default_value_t = 300)]
    adversaries: usize,
    /// Seconds that the honest client works alone, and again beside each adversary.
    #[arg(long, default_value_t = 5.0)]
    siege_seconds: f64,
    /// Fail where the honest client's 99th percentile beside an adversary is more than so many
    /// times that alone.
    #[arg(long)]
    p99_ratio_max: Option<f64>,
    /// Write what the honest client saw to this file, as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Megabytes that the server may take above its limit (index, buffers).
    #[arg(long, default_value_t = 48)]
    slack_megabytes: u64,
    /// Milliseconds that a well-behaved client may wait at most.
    #[arg(long, default_value_t = 1000)]
    wait_milliseconds: u64,
    /// Core of the server.
    #[arg(long)]
    server_cpu: Option<usize>,
}

impl Options {
    fn torture(&self) -> Torture {
        Torture {
            megabytes: self.megabytes,
            kills: self.kills,
            silent_reader_bytes: self.silent_megabytes << 20,
            connects_per_s: self.connects.max(1),
            flood: Duration::from_secs_f64(self.flood_seconds),
            adversaries: self.adversaries,
            siege: Duration::from_secs_f64(self.siege_seconds),
            limits: Limits {
                slack_bytes: self.slack_megabytes << 20,
                wait_max: Duration::from_millis(self.wait_milliseconds),
                ..Limits::default()
            },
        }
    }
}

impl Options {
    fn too_slow(&self, verdict: &Verdict) -> Option<String> {
        let (most, outcome) = self.p99_ratio_max.zip(verdict.outcome)?;
        let ratio = outcome.p99_ratio;
        (ratio > most).then(|| format!("the 99th percentile is {ratio:.2} times that alone"))
    }
}

/// Whether the server survived everything.
fn run(options: &Options) -> std::io::Result<bool> {
    stop_servers_on_signals()?;
    raise_descriptor_limit(8192)?;
    let product = match options.memcached {
        Some(_) => Product::Memcached,
        None => Product::Farcached,
    };
    let beside = std::env::current_exe()?.with_file_name("farcached");
    let launcher = Launcher {
        farcached: options.farcached.clone().unwrap_or(beside),
        memcached: options.memcached.clone().unwrap_or_default(),
        cpu: options.server_cpu,
        user: UNPRIVILEGED_USER.into(),
    };
    let parts = if options.parts.is_empty() {
        &Part::ALL[..]
    } else {
        &options.parts
    };
    let mut survived = true;
    let mut rows = Vec::new();
    for &part in parts {
        let mut verdict = options.torture().run(&launcher, product, part)?;
        println!("{part:?}: {}", verdict.seen);
        verdict.faults.extend(options.too_slow(&verdict));
        verdict
            .faults
            .iter()
            .for_each(|fault| println!("  FAULT: {fault}"));
        survived &= verdict.faults.is_empty();
        rows.extend(verdict.outcome.map(|outcome| Row {
            part: format!("{part:?}"),
            outcome,
        }));
    }
    if let Some(path) = &options.json {
        std::fs::write(path, serde_json::to_string_pretty(&rows)?)?;
    }
    Ok(survived)
}

/// A row of the JSON file.
#[derive(serde::Serialize)]
struct Row {
    part: String,
    #[serde(flatten)]
    outcome: Outcome,
}

fn victim(arguments: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let [target, set_ratio] = arguments else {
        return Err("victim ADDRESS SET_RATIO".into());
    };
    Ok(be_victim(&target.parse::<Target>()?, set_ratio.parse()?)?)
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((first, rest)) if first == VICTIM_ARGUMENT => victim(rest).map(|()| true),
        Some((first, rest)) if first == HELPER_ARGUMENT => {
            let helped = be_helper(rest, ClientSession::open);
            helped.map(|()| true).map_err(Into::into)
        }
        _ => run(&Options::parse()).map_err(Into::into),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("farcache-torture: {error}");
            ExitCode::FAILURE
        }
    }
}
