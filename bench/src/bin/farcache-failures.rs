//! `farcache-failures`: what clients see of a server that is killed and comes back.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::compare::machine::Machine;
use farcache_bench::failures::{Bench, Subject};
use farcache_bench::options::{FileOptions, Results, ServerOptions};
use farcache_bench::sizes::size;
use farcache_bench::ycsb::mix::Workload;
use farcache_bench::ycsb::records::{HEAD_BYTES, RECORD_BYTES};
use farcache_bench::ycsb::task::{WORKER_ARGUMENT, be_client};
use farcache_harness::server_process::{Product, raise_descriptor_limit, stop_servers_on_signals};
use std::path::PathBuf;
use std::process::ExitCode;

/// Kills one of several servers under load, and starts it again, empty: throughput, percentiles and
/// what a database would have to answer, over time.
///
/// farcached with each policy of redundancy, and memcached with clients that give the keys of a
/// server that fails to the others. Clients use the servers as caches in front of a database. Every
/// record that is read is compared; one that nobody has stored makes the status 1.
#[derive(Parser, Debug)]
#[command(name = "farcache-failures", version)]
struct Options {
    /// Numbers of servers.
    #[arg(long, value_delimiter = ',', default_values_t = [3, 5])]
    servers: Vec<usize>,
    /// Policies of farcached, divided by blanks; those that need more servers than there are are
    /// left out.
    #[arg(long, value_delimiter = ' ', default_value = "none replicate:3 ec:3,2")]
    redundancy: Vec<String>,
    /// Leave out memcached.
    #[arg(long)]
    no_memcached: bool,
    /// What carries the requests to farcached: fabric or tcp.
    #[arg(long, default_value = "fabric")]
    transport: String,
    /// Which of YCSB's workloads.
    #[arg(long, value_enum, default_value_t = Workload::B)]
    workload: Workload,
    /// Clients.
    #[arg(long, default_value_t = 8)]
    clients: usize,
    /// Client processes, which share them.
    #[arg(long, default_value_t = 2)]
    processes: usize,
    /// Operations that each client keeps under way.
    #[arg(long, default_value_t = 1)]
    depth: usize,
    /// Memory of each server.
    #[arg(long, default_value = "512M", value_parser = size)]
    memory: usize,
    /// Records.
    #[arg(long, default_value_t = 50_000)]
    records: u64,
    /// Size of each.
    #[arg(long, default_value_t = RECORD_BYTES, value_parser = size)]
    record_bytes: usize,
    /// Seconds of each course. The server is killed after a quarter of it and back after half.
    #[arg(long, default_value_t = 12.0)]
    seconds: f64,
    /// Seconds of each part in which is counted.
    #[arg(long, default_value_t = 0.25)]
    part: f64,
    /// Seconds that a request may take.
    #[arg(long, default_value_t = 1.0)]
    timeout: f64,
    #[command(flatten)]
    where_to: ServerOptions,
    #[command(flatten)]
    files: FileOptions,
    /// Write a picture for each number of servers into this folder, as SVG.
    #[arg(long)]
    svg: Option<PathBuf>,
}

impl Options {
    fn check(&self) -> Result<(), String> {
        let counts = [self.clients, self.processes, self.depth];
        let mut all = counts.iter().chain(&self.servers);
        if all.any(|count| *count == 0) || self.records == 0 {
            return Err("numbers must be above 0".into());
        }
        if self.part <= 0.0 || self.seconds < 8.0 * self.part {
            return Err("--seconds must be at least 8 times --part".into());
        }
        if self.record_bytes < HEAD_BYTES {
            return Err(format!("a record has at least {HEAD_BYTES} bytes"));
        }
        Ok(())
    }

    fn bench(&self) -> std::io::Result<Bench> {
        Ok(Bench {
            // Both ends of shared memory run as one user.
            launcher: self.where_to.launcher("root")?,
            program: std::env::current_exe()?,
            client_cpu: self.where_to.client_cpu(),
            transport: self.transport.clone(),
            workload: self.workload,
            clients: self.clients,
            processes: self.processes,
            depth: self.depth,
            memory_bytes: self.memory,
            records: self.records,
            record_bytes: self.record_bytes,
            kill_at: self.seconds / 4.0,
            return_at: self.seconds / 2.0,
            seconds: self.seconds,
            part_s: self.part,
            timeout_s: self.timeout,
        })
    }

    fn subjects(&self) -> Result<Vec<Subject>, farcache_client::Error> {
        let mut subjects = Vec::new();
        for &servers in &self.servers {
            if !self.no_memcached {
                subjects.push(Subject {
                    product: Product::Memcached,
                    servers,
                    redundancy: "none".into(),
                });
            }
            for redundancy in &self.redundancy {
                let needed = servers_needed(redundancy)?;
                subjects.extend((needed <= servers).then(|| Subject {
                    product: Product::Farcached,
                    servers,
                    redundancy: redundancy.clone(),
                }));
            }
        }
        Ok(subjects)
    }
}

/// Servers that a policy has a place on.
fn servers_needed(redundancy: &str) -> Result<usize, farcache_client::Error> {
    if redundancy == "none" {
        return Ok(1);
    }
    let policy = farcache_client::parse_redundancy(redundancy)?;
    Ok(policy
        .redundancies()
        .map(|one| one.owners())
        .max()
        .unwrap_or(1))
}

/// Descriptors that servers and clients need.
const DESCRIPTORS: u64 = 16_384;

fn run(options: &Options) -> Result<u64, Box<dyn std::error::Error>> {
    options.check()?;
    stop_servers_on_signals()?;
    raise_descriptor_limit(DESCRIPTORS)?;
    let bench = options.bench()?;
    let machine = Machine::look(&bench.launcher.memcached, &bench.launcher.farcached);
    println!("{}\n", machine.line());
    let report = bench.measure(&options.subjects()?)?;
    let markdown = report.markdown();
    print!("{markdown}");
    let results = Results::new(machine, &report);
    options.files.write(&results, &markdown)?;
    if let Some(folder) = &options.svg {
        std::fs::create_dir_all(folder)?;
        for servers in report.sizes() {
            if let Some(picture) = report.picture(servers) {
                std::fs::write(
                    folder.join(format!("failures-{servers}.svg")),
                    picture.svg(),
                )?;
            }
        }
    }
    Ok(report.wrong())
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    let is_worker = std::env::args()
        .nth(1)
        .is_some_and(|first| first == WORKER_ARGUMENT);
    let result = if is_worker {
        be_client().map(|()| 0).map_err(Into::into)
    } else {
        run(&Options::parse())
    };
    match result {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("farcache-failures: {wrong} reads showed what nobody has stored");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("farcache-failures: {error}");
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
        examples: "farcache-failures\n\
             farcache-failures --servers 5 --redundancy 'none ec:3,2' --record-bytes 64K --records 2000\n\
             farcache-failures --workload a --transport tcp --json out.json --svg pictures",
        failure: Some(
            "Something could not be measured, or a record was read that nobody has stored.",
        ),
        see_also: &["farcached", "farcache-ycsb"],
    };
    man_page::check::<Options>("farcache-failures", &more);
}
