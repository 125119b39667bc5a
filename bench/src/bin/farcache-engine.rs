//! `farcache-engine`: the store on one core, without a network, against what the memory allows.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::engine::{EngineFigures, measure};
use farcache_harness::pinning::pin_to_cpu;
use std::process::ExitCode;
use std::time::Duration;

/// Measures lookups and stores of the engine, 16-byte keys and 64-byte values.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Numbers of items, in millions.
    #[arg(long, value_delimiter = ',', default_value = "1,5,20,50")]
    million_items: Vec<f64>,
    /// Sizes of the batches, up to 32.
    #[arg(long, value_delimiter = ',', default_value = "1,16,32")]
    batches: Vec<usize>,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Core to run on.
    #[arg(long)]
    cpu: Option<usize>,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
}

fn print_line(figures: &EngineFigures) {
    let limit = figures.memory_limit;
    println!(
        "{:>5.1} M items: insert {:.2} M/s, overwrite {:.2} M/s, where memory is full {:.2} M/s",
        f64::from(figures.items) / 1e6,
        figures.inserts_per_s / 1e6,
        figures.overwrites_per_s / 1e6,
        figures.full_sets_per_s / 1e6,
    );
    println!(
        "      above key + value {:.1} B (stats) {:.1} B (resident)",
        figures.overhead_bytes_by_stats, figures.overhead_bytes_by_rss,
    );
    println!(
        "      random 64 B reads over {} MiB: prefetched {:.1} M/s, dependent {:.1} M/s",
        limit.footprint_bytes >> 20,
        limit.prefetched_per_s / 1e6,
        limit.dependent_per_s / 1e6,
    );
    for (batch, rate) in &figures.lookups_per_s {
        let share = rate / limit.prefetched_per_s;
        println!(
            "      GET, batches of {batch:>2}: {:.2} M/s, {share:.2} of that",
            rate / 1e6
        );
    }
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(batch) = options
        .batches
        .iter()
        .find(|batch| !(1..=32).contains(*batch))
    {
        return Err(format!("a batch of {batch} keys").into());
    }
    options.cpu.map_or(Ok(()), pin_to_cpu)?;
    let duration = Duration::from_secs_f64(options.seconds);
    let mut all = Vec::new();
    for millions in &options.million_items {
        let figures = measure((millions * 1e6) as u32, &options.batches, duration)?;
        if !options.json {
            print_line(&figures);
        }
        all.push(figures);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&all)?);
    }
    Ok(())
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("farcache-engine: {error}");
            ExitCode::FAILURE
        }
    }
}
