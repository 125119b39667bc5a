//! `farcache-expiry`: values that expire, on memcached and farcached at equal memory.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::compare::machine::Machine;
use farcache_bench::expiry::Bench;
use farcache_bench::expiry::cluster::Cluster;
use farcache_bench::options::{FileOptions, Results, ServerOptions};
use farcache_bench::sizes::size;
use farcache_harness::server_process::{UNPRIVILEGED_USER, stop_servers_on_signals};
use std::path::PathBuf;
use std::process::ExitCode;

/// Traffic after the statistics that Twitter has published of its clusters 52, 12, 29 and 37, on
/// memcached and farcached at equal memory: hit ratio, memory, throughput, and what is held after
/// its time.
///
/// Both get the same requests at the same times. Every value that is read is compared; one that is
/// another's, or is read after its time, makes the status 1.
#[derive(Parser, Debug)]
#[command(name = "farcache-expiry", version)]
struct Options {
    /// Which clusters.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Cluster::ALL)]
    clusters: Vec<Cluster>,
    /// Memory of each server.
    #[arg(long, default_value = "64M", value_parser = size)]
    memory: usize,
    /// Seconds in which requests come at fixed times; the second half counts.
    #[arg(long, default_value_t = 16.0)]
    seconds: f64,
    /// Turns in which they come as fast as they go.
    #[arg(long, default_value_t = 5)]
    turns: usize,
    /// Seconds of each of these turns.
    #[arg(long, default_value_t = 0.3)]
    turn_seconds: f64,
    /// How many times faster than at Twitter time passes; by default 100 times, and 10 times for
    /// cluster 37.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    speed: Option<u32>,
    #[command(flatten)]
    where_to: ServerOptions,
    #[command(flatten)]
    files: FileOptions,
    /// Write the picture of what is held over time to this file, as SVG.
    #[arg(long)]
    svg: Option<PathBuf>,
}

fn run(options: &Options) -> Result<u64, Box<dyn std::error::Error>> {
    if options.memory < 1 << 20 {
        return Err("--memory must be at least 1M".into());
    }
    stop_servers_on_signals()?;
    let bench = Bench {
        launcher: options.where_to.launcher(UNPRIVILEGED_USER)?,
        memory_bytes: options.memory,
        seconds: options.seconds,
        turns: options.turns,
        turn_seconds: options.turn_seconds,
        speed: options.speed,
    };
    let machine = Machine::look(&bench.launcher.memcached, &bench.launcher.farcached);
    println!("{}\n", machine.line());
    options.where_to.pin_client()?;
    let report = bench.measure(&options.clusters)?;
    let markdown = report.markdown();
    print!("{markdown}");
    let results = Results::new(machine, &report);
    options.files.write(&results, &markdown)?;
    if let Some(path) = &options.svg {
        std::fs::write(path, report.picture().svg())?;
    }
    Ok(report.faults())
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    match run(&Options::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(faults) => {
            eprintln!(
                "farcache-expiry: {faults} reads found another's value, or one after its time"
            );
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("farcache-expiry: {error}");
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
        examples: "farcache-expiry\n\
             farcache-expiry --clusters 12,37 --memory 256M --json out.json --svg held.svg",
        failure: Some(
            "Something could not be measured, or a value was read that should not have been.",
        ),
        see_also: &["farcached", "memcached", "farcache-replay"],
    };
    man_page::check::<Options>("farcache-expiry", &more);
}
