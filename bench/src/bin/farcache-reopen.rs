//! `farcache-reopen`: how long a store with an SSD takes to open again.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::reopen::{Contents, ReopenFigures, measure, slope_per_100_gb_s};
use std::path::PathBuf;
use std::process::ExitCode;

/// Fills a device in a file, opens it again several times, and extrapolates to 100 GB.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Where the device's file is made and removed: on the SSD.
    #[arg(long, default_value = ".")]
    directory: PathBuf,
    /// Sizes of the data, in MiB of values, smallest first.
    #[arg(long, value_delimiter = ',', default_value = "1024,2048,4096")]
    megabytes: Vec<u64>,
    /// Sizes of the values, in bytes.
    #[arg(long, value_delimiter = ',', default_value = "4096,16384")]
    value_bytes: Vec<usize>,
    /// So many percent of the items are stored twice.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=100))]
    overwritten_percent: u64,
    /// Memory limit of the store, in MiB.
    #[arg(long, default_value_t = 256)]
    memory_megabytes: u64,
    /// End as by a kill instead of an orderly stop.
    #[arg(long)]
    kill: bool,
    /// Openings of each; the median counts.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
}

fn print_line(figures: &ReopenFigures) {
    let items = figures.items.max(1) as f64;
    println!(
        "{:>6} B values: {:>9} items, {:>6} segments: {:.3} s, processor {:.3} s, {:.0} ns an item; 100 GB {:.1} s",
        figures.value_bytes,
        figures.items,
        figures.segments,
        figures.median_s(),
        figures.median_cpu_s(),
        figures.median_s() * 1e9 / items,
        figures.per_100_gb_s(),
    );
}

fn measure_size(options: &Options, value_bytes: usize) -> std::io::Result<Vec<ReopenFigures>> {
    let mut all: Vec<ReopenFigures> = Vec::new();
    for megabytes in &options.megabytes {
        let contents = Contents {
            data_bytes: megabytes << 20,
            value_bytes,
            overwritten_percent: options.overwritten_percent,
            memory_bytes: options.memory_megabytes << 20,
            is_killed: options.kill,
        };
        let figures = measure(&options.directory, &contents, usize::from(options.rounds))?;
        if !options.json {
            print_line(&figures);
        }
        all.push(figures);
    }
    if let [first, .., last] = &all[..]
        && !options.json
    {
        let slope = slope_per_100_gb_s(first, last);
        println!(
            "                 each further 100 GB, by the smallest and the largest: {slope:.1} s"
        );
    }
    Ok(all)
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let mut all = Vec::new();
    for &value_bytes in &options.value_bytes {
        all.extend(measure_size(options, value_bytes)?);
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
            eprintln!("farcache-reopen: {error}");
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
        examples: "farcache-reopen --directory /mnt/ssd\n\
             farcache-reopen --directory /mnt/ssd --megabytes 2048 --value-bytes 1024 --overwritten-percent 50 --kill",
        failure: Some("The file could not be made, or a store did not open."),
        see_also: &["farcached", "ohb_memhybrid"],
    };
    man_page::check::<Options>("farcache-reopen", &more);
}
