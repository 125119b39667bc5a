//! `farcache-ycsb`: YCSB's workloads on several servers, without its JVM.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::compare::machine::Machine;
use farcache_bench::options::{FileOptions, Results, ServerOptions};
use farcache_bench::sizes::size;
use farcache_bench::ycsb::mix::Workload;
use farcache_bench::ycsb::records::RECORD_BYTES;
use farcache_bench::ycsb::report::Report;
use farcache_bench::ycsb::subject::Subject;
use farcache_bench::ycsb::task::{WORKER_ARGUMENT, be_client};
use farcache_bench::ycsb::{Bench, Condition};
use farcache_harness::server_process::{raise_descriptor_limit, stop_servers_on_signals};
use std::path::PathBuf;
use std::process::ExitCode;

/// YCSB's workloads A, B, C, D and F on several servers: memcached and farcached in turn, over
/// sockets and the fabric.
///
/// Distributions, keys and mixes are those of YCSB 0.17; a record is one value. Workload E is left
/// out, as memcached's protocols have no scans. Every record that is read is checked; one that is
/// absent, wrong or stale, and any request that fails, makes the status 1.
#[derive(Parser, Debug)]
#[command(name = "farcache-ycsb", version)]
struct Options {
    /// Which workloads.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Workload::ALL)]
    workloads: Vec<Workload>,
    /// Who takes turns: servers, and the way to them.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Subject::ALL)]
    subjects: Vec<Subject>,
    /// Numbers of clients, each with a connection to each server.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 80, 640])]
    clients: Vec<usize>,
    /// Operations that each client keeps under way.
    #[arg(long, value_delimiter = ',', default_values_t = [1])]
    depth: Vec<usize>,
    /// Client processes at most, which share the clients.
    #[arg(long, default_value_t = 4)]
    processes: usize,
    /// Servers of each kind.
    #[arg(long, default_value_t = 3)]
    servers: usize,
    /// On how many servers a record lies: none, replicate:3, ec:3,2. Only farcached, by the
    /// library, takes turns where it is not none.
    #[arg(long, default_value = "none")]
    redundancy: String,
    /// Memory of each server.
    #[arg(long, default_value = "512M", value_parser = size)]
    memory: usize,
    /// Records.
    #[arg(long, default_value_t = 100_000)]
    records: u64,
    /// Size of each record.
    #[arg(long, default_value_t = RECORD_BYTES, value_parser = record_bytes)]
    record_bytes: usize,
    /// How often each takes a turn.
    #[arg(long, default_value_t = 5)]
    turns: usize,
    /// Seconds of each turn that count.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Seconds before them.
    #[arg(long, default_value_t = 0.3)]
    warm_up: f64,
    #[command(flatten)]
    where_to: ServerOptions,
    #[command(flatten)]
    files: FileOptions,
    /// Write the picture of throughput by clients to this file, as SVG.
    #[arg(long)]
    svg: Option<PathBuf>,
}

/// A record has room for its head, and fits a value.
fn record_bytes(text: &str) -> Result<usize, String> {
    let bytes = size(text)?;
    (16..=1_000_000)
        .contains(&bytes)
        .then_some(bytes)
        .ok_or_else(|| "a record has from 16 to 1,000,000 bytes".into())
}

impl Options {
    fn check(&self) -> Result<(), String> {
        let counts = [self.processes, self.servers, self.turns];
        let all = counts.iter().chain(&self.clients).chain(&self.depth);
        if all.into_iter().any(|count| *count == 0) || self.records == 0 {
            return Err("numbers must be above 0".into());
        }
        let none = |subject: &Subject| subject.access(&self.redundancy).is_none();
        if self.subjects.iter().all(none) {
            return Err(format!("none of --subjects knows of {}", self.redundancy));
        }
        Ok(())
    }

    fn bench(&self) -> std::io::Result<Bench> {
        Ok(Bench {
            // Both ends of shared memory run as one user.
            launcher: self.where_to.launcher("root")?,
            program: std::env::current_exe()?,
            client_cpu: self.where_to.client_cpu(),
            subjects: self.subjects.clone(),
            redundancy: self.redundancy.clone(),
            servers: self.servers,
            processes: self.processes,
            memory_bytes: self.memory,
            records: self.records,
            record_bytes: self.record_bytes,
            turns: self.turns,
            seconds: self.seconds,
            warm_up_seconds: self.warm_up,
        })
    }

    fn conditions(&self) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for &workload in &self.workloads {
            for &depth in &self.depth {
                conditions.extend(self.clients.iter().map(|&clients| Condition {
                    workload,
                    clients,
                    depth,
                }));
            }
        }
        conditions
    }
}

/// Descriptors that servers and clients need: a connection of each client to each server.
const DESCRIPTORS: u64 = 16_384;

fn run(options: &Options) -> Result<Report, Box<dyn std::error::Error>> {
    options.check()?;
    stop_servers_on_signals()?;
    raise_descriptor_limit(DESCRIPTORS)?;
    let bench = options.bench()?;
    let machine = Machine::look(&bench.launcher.memcached, &bench.launcher.farcached);
    println!("{}\n", machine.line());
    let report = bench.measure(&options.conditions())?;
    let markdown = report.markdown();
    print!("{markdown}");
    let results = Results::new(machine, &report);
    options.files.write(&results, &markdown)?;
    if let Some(path) = &options.svg {
        std::fs::write(path, report.picture().svg())?;
    }
    Ok(report)
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    let is_worker = std::env::args()
        .nth(1)
        .is_some_and(|first| first == WORKER_ARGUMENT);
    let result = if is_worker {
        be_client().map(|()| None).map_err(Into::into)
    } else {
        run(&Options::parse()).map(Some)
    };
    match result {
        Ok(Some(report)) if report.faults() > 0 => {
            let error = report.first_error().unwrap_or("none failed");
            eprintln!(
                "farcache-ycsb: {} requests ended otherwise than they should (first error: {error})",
                report.faults()
            );
            ExitCode::FAILURE
        }
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("farcache-ycsb: {error}");
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
        examples: "farcache-ycsb\n\
             farcache-ycsb --workloads a,b,c --clients 1,80,640 --depth 1,16 --json out.json --svg ycsb.svg\n\
             farcache-ycsb --workloads b --servers 5 --redundancy ec:3,2 --subjects fabric",
        failure: Some(
            "Something could not be measured, or a request ended otherwise than it should.",
        ),
        see_also: &["farcached", "memcached", "farcache-failures"],
    };
    man_page::check::<Options>("farcache-ycsb", &more);
}
