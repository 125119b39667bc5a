//! `ohb_memthr`: throughput of the client library, by clients, window, batch and size.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::load::keys::KEY_BYTES_MIN;
use farcache_bench::ohb::client::{ClientSession, Transport};
use farcache_bench::ohb::items::Items;
use farcache_bench::ohb::report::{ThroughputReport, ThroughputRow};
use farcache_bench::ohb::session::Benchmark;
use farcache_bench::ohb::throughput;
use farcache_bench::ohb::workers::{self, Outcome, Task, WORKER_ARGUMENT};
use farcache_bench::sizes::Sizes;
use farcache_bench::workers::be_worker;
use std::io;
use std::process::ExitCode;

/// Measures how many operations the client library does when many are under way: every combination
/// of clients, windows, batches and sizes. Each client is a process of its own.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Servers: host:port, several with commas between.
    #[arg(long, alias = "server", default_value = "127.0.0.1:11211")]
    servers: String,
    /// What carries the operations.
    #[arg(long, value_enum, default_value = "auto")]
    transport: Transport,
    /// Benchmarks to run.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "get")]
    benchmarks: Vec<Benchmark>,
    /// Numbers of client processes.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    clients: Vec<usize>,
    /// Numbers of batches that each client has under way.
    #[arg(long, value_delimiter = ',', default_value = "1,8,32")]
    windows: Vec<usize>,
    /// Numbers of operations in a batch, which travel together.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    batches: Vec<usize>,
    /// Sizes of the values: 64,4K or 1-512K, which doubles.
    #[arg(long, default_value = "64,4K")]
    sizes: Sizes,
    /// Number of keys, used in turn; a thousand by default, or as many values as fill 64 MB.
    #[arg(long)]
    keys: Option<usize>,
    /// Size of each key in bytes.
    #[arg(long, default_value_t = 16)]
    key_bytes: usize,
    /// Seconds before anything counts, for each combination.
    #[arg(long, default_value_t = 0.2)]
    warmup: f64,
    /// Seconds that count, for each combination.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Cores for the clients, in turn (1 or 1,3).
    #[arg(long, value_delimiter = ',')]
    cpus: Vec<usize>,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
}

impl Options {
    fn check(&self) -> Result<(), String> {
        let keys = KEY_BYTES_MIN..=farcache_base::limits::KEY_BYTES_MAX;
        if !keys.contains(&self.key_bytes) {
            return Err(format!(
                "--key-bytes must be from {} to {}",
                keys.start(),
                keys.end()
            ));
        }
        let counts = [&self.clients, &self.windows, &self.batches];
        if self.keys == Some(0) || counts.into_iter().flatten().any(|count| *count == 0) {
            return Err("--clients, --windows, --batches and --keys must be above 0".into());
        }
        Ok(())
    }

    fn task(&self, benchmark: Benchmark, value_bytes: usize, window: usize, batch: usize) -> Task {
        Task {
            servers: self.servers.clone(),
            transport: self.transport.name().into(),
            benchmark,
            window,
            batch,
            value_bytes,
            key_bytes: self.key_bytes,
            keys: self.keys,
            warmup_s: self.warmup,
            seconds: self.seconds,
        }
    }

    /// Every combination, sizes outermost, so that each is stored once.
    fn rows(&self, session: &mut ClientSession) -> io::Result<Vec<ThroughputRow>> {
        let program = std::env::current_exe()?;
        let mut rows = Vec::new();
        for &value_bytes in &self.sizes.0 {
            let items = Items::new(value_bytes, self.key_bytes, self.keys, true);
            session.register(items.memory())?;
            items.store(session)?;
            items.verify(session)?;
            for &benchmark in &self.benchmarks {
                for &window in &self.windows {
                    for &batch in &self.batches {
                        let task = self.task(benchmark, value_bytes, window, batch);
                        for &clients in &self.clients {
                            rows.push(workers::run(&program, &task, clients, &self.cpus)?);
                        }
                    }
                }
            }
        }
        Ok(rows)
    }
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    options.check()?;
    let mut session = ClientSession::open(&options.servers, options.transport.name())?;
    session.connect()?;
    let report = ThroughputReport {
        servers: options.servers.clone(),
        carried_by: session.carried_by(),
        rows: options.rows(&mut session)?,
    };
    match options.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{report}"),
    }
    Ok(())
}

fn be_client() -> io::Result<()> {
    be_worker(
        |task: &Task| {
            let mut session = ClientSession::open(&task.servers, &task.transport)?;
            session.connect()?;
            let with_values = task.benchmark != Benchmark::Get;
            let items = Items::new(task.value_bytes, task.key_bytes, task.keys, with_values);
            if with_values {
                session.register(items.memory())?;
            }
            Ok((session, items))
        },
        |task, (mut session, items)| {
            let done = throughput::run(&mut session, &items, task.load())?;
            Ok(Outcome::from(done))
        },
    )
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    let is_worker = std::env::args()
        .nth(1)
        .is_some_and(|first| first == WORKER_ARGUMENT);
    let result = match is_worker {
        true => be_client().map_err(Into::into),
        false => run(&Options::parse()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ohb_memthr: {error}");
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
        examples: "ohb_memthr --clients 1,2,4 --windows 1,8,32 --batches 1,16,48 --sizes 64,4K --cpus 1,2,3 --json",
        failure: None,
        see_also: &["farcached", "ohb_memlat", "farcache-fabric"],
    };
    man_page::check::<Options>("ohb_memthr", &more);
}
