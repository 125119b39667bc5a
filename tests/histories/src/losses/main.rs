//! `farcache-losses`: servers are killed in the middle of a load, again and again.
#![forbid(unsafe_code)]

mod acts;
mod book;
mod load;

use acts::{Run, Task};
use clap::Parser;
use farcache_harness::server_process::stop_servers_on_signals;
use farcache_histories::Outcome;
use farcache_histories::ways::{Network, Placement};
use load::Lost;
use std::path::PathBuf;
use std::process::ExitCode;

/// Kills servers in the middle of a load and checks by content that nothing acknowledged is lost:
/// with these servers down, while they are repaired after an empty return, after a second load with
/// others killed, and at last with as many lost as the policy survives.
#[derive(Debug, Parser)]
#[command(name = "farcache-losses", version)]
struct Options {
    /// Policies, divided by blanks, one run after the other.
    #[arg(long, value_delimiter = ' ', default_value = "ec:3,2 replicate:3")]
    redundancy: Vec<String>,
    /// Megabytes of values.
    #[arg(long, default_value_t = 64)]
    megabytes: u64,
    /// What carries requests: tcp, fabric or fabric-tcp.
    #[arg(long, default_value = "tcp")]
    network: Network,
    /// Who makes parts of values and who puts them together: ce-cd, se-cd, ce-sd or se-sd.
    #[arg(long, default_value = "ce-cd")]
    placement: Placement,
    /// Writers, and readers, at a time.
    #[arg(long, default_value_t = 4)]
    writers: usize,
    /// Which servers are killed when follows from it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Servers have a sixth of the memory that the values take, and the rest on an SSD.
    #[arg(long)]
    on_ssd: bool,
    /// Others are killed before those that returned are repaired: more losses than are promised.
    #[arg(long)]
    impatient: bool,
    /// The run must find that something is lost: for planted faults.
    #[arg(long)]
    must_lose: bool,
    /// The server's program.
    #[arg(long, default_value = "farcached")]
    farcached: PathBuf,
}

fn run_all(options: &Options) -> Outcome<()> {
    stop_servers_on_signals()?;
    for policy in &options.redundancy {
        let Options {
            network, placement, ..
        } = options;
        println!("{policy} {placement} over {network}, seed {}", options.seed);
        let task = Task {
            farcached: options.farcached.clone(),
            policy: policy.clone(),
            network: *network,
            placement: *placement,
            megabytes: options.megabytes,
            writers: options.writers,
            seed: options.seed,
            on_ssd: options.on_ssd,
            is_impatient: options.impatient,
        };
        match (Run::start(&task)?.go(), options.must_lose) {
            (outcome, false) => outcome?,
            (Ok(()), true) => return Err("nothing is lost".into()),
            (Err(error), true) if error.is::<Lost>() => println!("found: {error}"),
            (Err(error), true) => return Err(error),
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    match run_all(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("farcache-losses: {error}");
            ExitCode::FAILURE
        }
    }
}
