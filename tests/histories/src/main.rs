//! `farcache-histories`: random operations among servers and clients that fail.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_harness::server_process::stop_servers_on_signals;
use farcache_histories::Outcome;
use farcache_histories::hosts::can_be_cut;
use farcache_histories::run::{Report, run};
use farcache_histories::scenario::{Kind, Scenario, Settings};
use farcache_histories::summary::Summary;
use farcache_histories::ways::{Network, Placement};
use farcache_histories::workload::{CLIENT_ARGUMENT, Task, be_client};
use farcache_linearizability::{Verdict, check, parse, print, shrink};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// Runs random operations on few keys among servers and clients that are killed, stopped and cut
/// off from one another, and checks that what all callers saw can be explained by an order of the
/// operations.
///
/// A violation is shown with its seed, its key and the operations that cannot be ordered, and the
/// status is 1.
#[derive(Debug, Parser)]
#[command(name = "farcache-histories", version)]
struct Options {
    /// Runs.
    #[arg(long, default_value_t = 4)]
    runs: u64,
    /// The seed of the first; the others follow.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs at a time.
    #[arg(long, default_value_t = 2)]
    at_once: usize,
    /// Policies to choose from, divided by blanks.
    #[arg(
        long,
        value_delimiter = ' ',
        default_value = "replicate:3 ec:3,2 ec:2,1"
    )]
    redundancy: Vec<String>,
    /// Which faults: kills, client-kills, stops, cuts, leaves, removals; with --on-etcd also sleeps
    /// and etcd, but no removals, which servers make themselves there.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "kills,client-kills,stops,cuts,leaves,removals"
    )]
    faults: Vec<Kind>,
    /// Seconds of faults in each run.
    #[arg(long, default_value_t = 6.0)]
    seconds: f64,
    /// Client processes.
    #[arg(long, default_value_t = 3)]
    clients: usize,
    /// Threads of each client process.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=8))]
    threads: u32,
    /// The keys: whole values where the first letter is r, numbers for c, joined pieces for j.
    #[arg(long, value_delimiter = ',', default_value = "r0,r1,r2,c0,c1,j0")]
    keys: Vec<String>,
    /// The longest pause of a client's thread between two operations, in milliseconds.
    #[arg(long, default_value_t = 12)]
    pause: u64,
    /// What carries requests, to choose from: tcp, fabric (shared memory, without cuts), fabric-tcp
    /// (UCX over TCP, by which UCX 1.13 ends servers now and then).
    #[arg(long, value_delimiter = ',', default_value = "tcp,fabric")]
    networks: Vec<Network>,
    /// Who makes parts of values and who puts them together, the client or a server, to choose
    /// from: ce-cd, se-cd, ce-sd, se-sd.
    #[arg(long, value_delimiter = ',', default_value = "ce-cd,se-cd,ce-sd,se-sd")]
    placements: Vec<Placement>,
    /// Servers make their map themselves and keep it in etcd, of which three nodes are started.
    /// Values on several servers only stand what their promise is for: no cuts, sleeps or stops, by
    /// which servers leave the map without anybody knowing here, and --placements ce-cd.
    #[arg(long)]
    on_etcd: bool,
    /// Further options of servers, divided by blanks.
    #[arg(long, value_delimiter = ' ', allow_hyphen_values = true)]
    server_options: Vec<String>,
    /// Plants a fault: clients go by this policy instead.
    #[arg(long)]
    planted_policy: Option<String>,
    /// The runs must be refused, so many at least: for planted faults.
    #[arg(long)]
    refused_min: Option<usize>,
    /// The server's program.
    #[arg(long, default_value = "farcached")]
    farcached: PathBuf,
    /// Writes the histories of runs that are refused into this folder.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Checks the history in this file, of one key, and runs nothing.
    #[arg(long)]
    check: Option<PathBuf>,
}

impl Options {
    fn settings(&self) -> Settings {
        let mut faults = self.faults.clone();
        if faults.contains(&Kind::Cuts)
            && let Err(why) = can_be_cut()
        {
            println!("SKIPPED: cuts between hosts: there are no network namespaces here ({why})");
            faults.retain(|kind| *kind != Kind::Cuts);
        }
        Settings {
            policies: self.redundancy.clone(),
            faults,
            clients: self.clients,
            threads: self.threads,
            keys: self.keys.clone(),
            pause: Duration::from_millis(self.pause),
            time: Duration::from_secs_f64(self.seconds),
            networks: self.networks.clone(),
            placements: self.placements.clone(),
            server_options: self.server_options.clone(),
            on_etcd: self.on_etcd,
            planted_policy: self.planted_policy.clone(),
        }
    }
}

/// All runs; whether they are as they must be.
fn run_all(options: &Options) -> Outcome<bool> {
    stop_servers_on_signals()?;
    let settings = options.settings();
    let (next, summary) = (AtomicU64::new(0), Mutex::new(Summary::default()));
    let work = || {
        loop {
            let at = next.fetch_add(1, SeqCst);
            if at >= options.runs {
                return;
            }
            let seed = options.seed + at;
            let outcome = run_one(options, &settings, seed);
            let Ok(mut summary) = summary.lock() else {
                return;
            };
            match outcome {
                Ok(report) => summary.add(&report),
                Err(error) => {
                    println!("seed {seed}: the run has failed: {error}");
                    summary.add_failed(seed);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..options.at_once {
            scope.spawn(work);
        }
    });
    let summary = summary.into_inner().map_err(|_| "a run has panicked")?;
    print!("{summary}");
    Ok(match options.refused_min {
        None => summary.is_success(),
        Some(refused_min) => summary.refused() >= refused_min,
    })
}

fn run_one(options: &Options, settings: &Settings, seed: u64) -> Outcome<Report> {
    let scenario = Scenario::of(seed, settings)?;
    let report = run(&options.farcached, &scenario)?;
    let operations: usize = report.ends.values().sum();
    let faults: usize = report.faults.values().sum();
    let verdict = match report.violations.is_empty() {
        true => "ok",
        false => "REFUSED",
    };
    let title = &report.title;
    println!("seed {seed}: {title}: {operations} operations, {faults} faults: {verdict}");
    for violation in &report.violations {
        println!("seed {seed}: {violation}");
    }
    for key in &report.undecided {
        println!("seed {seed}: {key}: not judged: there are too many orders to try them all");
    }
    for undone in &report.undone {
        println!("seed {seed}: lost with a server, though it was read: {undone}");
    }
    if let Some(folder) = &options.keep
        && !(report.violations.is_empty() && report.undone.is_empty())
    {
        keep(folder, &report)?;
    }
    Ok(report)
}

fn keep(folder: &Path, report: &Report) -> Outcome<()> {
    std::fs::create_dir_all(folder)?;
    let seed = report.seed;
    let log = report.log.join("\n");
    let log = format!(
        "{}\n{log}\n{}\n",
        report.title,
        report.violations.join("\n")
    );
    std::fs::write(folder.join(format!("{seed}-faults")), log)?;
    for (key, history) in &report.histories {
        std::fs::write(folder.join(format!("{seed}-{key}")), print(history))?;
    }
    for (server, log) in report.server_logs.iter().enumerate() {
        std::fs::write(folder.join(format!("{seed}-server-{server}")), log)?;
    }
    Ok(())
}

fn check_file(path: &Path) -> Outcome<bool> {
    const STATES_MAX: usize = 3_000_000;
    let history = parse(&std::fs::read_to_string(path)?)?;
    let verdict = check(&history, STATES_MAX);
    println!(
        "{}: {} operations: {verdict:?}",
        path.display(),
        history.len()
    );
    if verdict == Verdict::Refused {
        print!("{}", print(&shrink(&history, STATES_MAX)));
    }
    Ok(verdict == Verdict::Linearizable)
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((first, rest)) if first == CLIENT_ARGUMENT => Task::parse(rest)
            .and_then(|task| be_client(&task))
            .map(|()| true),
        _ => {
            let options = Options::parse();
            match &options.check {
                Some(path) => check_file(path),
                None => run_all(&options),
            }
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("farcache-histories: {error}");
            ExitCode::FAILURE
        }
    }
}
