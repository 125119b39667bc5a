//! `farcache-workloads`: caches in front of MariaDB, in turn.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::compare::machine::Machine;
use farcache_bench::options::{FileOptions, ServerOptions};
use farcache_bench::sizes::size;
use farcache_bench::workloads::client::Client;
use farcache_bench::workloads::report::Report;
use farcache_bench::workloads::subject::Subject;
use farcache_bench::workloads::{Bench, Condition, Workload};
use farcache_harness::server_process::stop_servers_on_signals;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The workloads that people judge a cache by, with a MariaDB behind it: query cache, TATP,
/// Twitter.
///
/// The same program reaches memcached through the system's libmemcached and farcached through ours.
/// Every row that is read is checked; one that is stale, wrong or failed makes the status 1.
#[derive(Parser, Debug)]
#[command(name = "farcache-workloads", version)]
struct Options {
    /// What to run.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Workload::ALL)]
    workloads: Vec<Workload>,
    /// Who takes turns: server and library; all by default.
    #[arg(long, value_enum, value_delimiter = ',')]
    servers: Vec<Subject>,
    /// Memory of each cache.
    #[arg(long, default_value = "64M", value_parser = size)]
    memory: usize,
    /// Memory of the database's buffer pool.
    #[arg(long, default_value = "64M", value_parser = size)]
    buffer_pool: usize,
    /// Sizes of the query cache's results.
    #[arg(long, value_delimiter = ',', default_values = ["4K"], value_parser = size)]
    value_bytes: Vec<usize>,
    /// The query cache's data over the cache's memory.
    #[arg(long, value_delimiter = ',', default_values_t = [1.0, 1.5, 4.0])]
    spill: Vec<f64>,
    /// Parts of a hundred of the query cache's operations that are updates.
    #[arg(long, value_delimiter = ',', default_values_t = [0])]
    updates: Vec<u32>,
    /// Begin each turn with an empty cache instead of one that all was stored in.
    #[arg(long)]
    cold: bool,
    /// TATP's subscribers.
    #[arg(long, default_value_t = 100_000)]
    subscribers: usize,
    /// Twitter's users.
    #[arg(long, default_value_t = 5000)]
    users: usize,
    /// Clients at a time.
    #[arg(long, value_delimiter = ',', default_values_t = [1])]
    clients: Vec<usize>,
    /// How often the servers take turns.
    #[arg(long, default_value_t = 5)]
    turns: usize,
    /// Seconds of each turn that count.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Seconds before them, where the cache is preloaded.
    #[arg(long, default_value_t = 0.5)]
    warm_up: f64,
    /// Few rows and short turns: whether everything works, no figures to compare.
    #[arg(long)]
    quick: bool,
    /// Leave out the deletions from the cache: stale rows must be noticed.
    #[arg(long)]
    plant_stale: bool,
    /// Damage what is stored in the cache: wrong rows must be noticed.
    #[arg(long)]
    plant_wrong: bool,
    /// Operations of each client in a turn, however long they take.
    #[arg(long, default_value_t = 1)]
    operations: usize,
    /// Folder for the database and the files of SSD tiers; it should lie on the SSD.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// The program with the clients (scripts/workloads builds it).
    #[arg(long, default_value = "target/workloads/workload-client")]
    client: PathBuf,
    /// The folder with Farcache's libmemcached (scripts/drop-in).
    #[arg(long, default_value = "target/drop-in")]
    drop_in: PathBuf,
    /// Program of MariaDB.
    #[arg(long, default_value = "/usr/sbin/mariadbd")]
    mariadbd: PathBuf,
    #[command(flatten)]
    where_to: ServerOptions,
    #[command(flatten)]
    files: FileOptions,
    /// Write a picture of each workload into this folder, as SVG.
    #[arg(long)]
    svg: Option<PathBuf>,
}

impl Options {
    /// What `--quick` makes of the options.
    fn quick(mut self) -> Self {
        if self.quick {
            (self.memory, self.buffer_pool) = (64 << 20, 16 << 20);
            (self.subscribers, self.users) = (500, 200);
            (self.spill, self.turns) = (vec![0.05], 1);
            (self.seconds, self.warm_up, self.operations) = (0.1, 0.0, 1000);
        }
        self
    }

    fn bench(&self) -> std::io::Result<Bench> {
        let subjects = match self.servers.is_empty() {
            true => Subject::ALL.to_vec(),
            false => self.servers.clone(),
        };
        Ok(Bench {
            // Both ends of shared memory run as one user.
            launcher: self.where_to.launcher("root")?,
            client: Client {
                program: self.client.clone(),
                drop_in: self.drop_in.clone(),
                cpu: self.where_to.client_cpu(),
                plants_stale: self.plant_stale,
                plants_wrong: self.plant_wrong,
                operations_min: self.operations,
            },
            subjects,
            turns: self.turns,
            seconds: self.seconds,
            warm_up_seconds: self.warm_up,
            memory_bytes: self.memory,
            buffer_pool_bytes: self.buffer_pool,
            mariadbd: self.mariadbd.clone(),
            folder: self.folder.clone().unwrap_or_else(std::env::temp_dir),
        })
    }

    fn conditions(&self) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for workload in &self.workloads {
            for base in self.sizes(*workload) {
                conditions.extend(self.clients.iter().map(|&clients| Condition {
                    clients,
                    preloaded: !self.cold,
                    ..base.clone()
                }));
            }
        }
        conditions
    }

    /// A workload in all its sizes.
    fn sizes(&self, workload: Workload) -> Vec<Condition> {
        let mut sizes = Vec::new();
        match workload {
            Workload::QueryCache => {
                for &value_bytes in &self.value_bytes {
                    for &spill in &self.spill {
                        sizes.extend(self.updates.iter().map(|&updates_percent| Condition {
                            updates_percent,
                            ..Condition::query_cache(self.memory, value_bytes, spill)
                        }));
                    }
                }
            }
            Workload::Tatp => sizes.push(Condition::of_rows(workload, self.subscribers)),
            Workload::Twitter => sizes.push(Condition::of_rows(workload, self.users)),
        }
        sizes
    }
}

/// What the JSON file holds.
#[derive(serde::Serialize)]
struct Results<'r> {
    machine: Machine,
    mariadb: String,
    report: &'r Report,
}

/// What a program says of its version.
fn version(program: &Path) -> String {
    let output = Command::new(program)
        .args(["--no-defaults", "--version"])
        .output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_default()
}

fn write_results(options: &Options, results: &Results<'_>) -> std::io::Result<()> {
    options.files.write(results, &results.report.markdown())?;
    if let Some(folder) = &options.svg {
        std::fs::create_dir_all(folder)?;
        for &workload in &options.workloads {
            if let Some(picture) = results.report.picture(workload) {
                let path = folder.join(format!("{}.svg", workload.name()));
                std::fs::write(path, picture.svg())?;
            }
        }
    }
    Ok(())
}

fn run(options: &Options) -> Result<u64, Box<dyn std::error::Error>> {
    stop_servers_on_signals()?;
    let bench = options.bench()?;
    let machine = Machine::look(&bench.launcher.memcached, &bench.launcher.farcached);
    let mariadb = version(&options.mariadbd);
    println!("{}; {mariadb}\n", machine.line());
    let report = bench.measure(&options.conditions())?;
    print!("{}", report.markdown());
    write_results(
        options,
        &Results {
            machine,
            mariadb,
            report: &report,
        },
    )?;
    Ok(report.faults())
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    match run(&Options::parse().quick()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(faults) => {
            eprintln!("farcache-workloads: {faults} reads were stale, wrong or failed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("farcache-workloads: {error}");
            ExitCode::FAILURE
        }
    }
}
