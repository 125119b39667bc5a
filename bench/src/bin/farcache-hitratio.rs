//! `farcache-hitratio`: hit ratios of the store without a network, beside an exact LRU.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::hits::{Case, CaseResult};
use farcache_bench::load::values::ValueSizes;
use farcache_bench::trace::Pattern;
use std::process::ExitCode;

/// Replays deterministic traces on the store and on an exact LRU.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Traces to replay.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "zipf,zipf-scans,one-hit-wonders"
    )]
    patterns: Vec<Pattern>,
    /// Popular keys of each trace.
    #[arg(long, default_value_t = 1_000_000)]
    objects: u32,
    /// Requests of each trace; the first half does not count.
    #[arg(long, default_value_t = 3_000_000)]
    requests: usize,
    /// Sizes of the values: 64, or 32-1024.
    #[arg(long, default_value = "64")]
    value_bytes: ValueSizes,
    /// Memory limits in megabytes.
    #[arg(long, value_delimiter = ',', default_value = "16,32,64")]
    megabytes: Vec<u64>,
    /// Size of the store's segments in KiB.
    #[arg(long, default_value_t = 1024)]
    segment_kib: u32,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
}

impl Options {
    fn cases(&self) -> Vec<Case> {
        let case = |pattern, megabytes| Case {
            pattern,
            objects: self.objects,
            sizes: self.value_bytes,
            memory_bytes: megabytes << 20,
            segment_bytes: self.segment_kib << 10,
            requests: self.requests,
            warmup: self.requests / 2,
        };
        let patterns = self.patterns.iter();
        patterns
            .flat_map(|&pattern| {
                self.megabytes
                    .iter()
                    .map(move |&megabytes| case(pattern, megabytes))
            })
            .collect()
    }
}

fn print_line(result: &CaseResult) {
    println!(
        "{:<16} {:>5} {:>9.4} {:>14.4} {:>16.4} {:>10}",
        result.case.pattern.name(),
        result.case.memory_bytes >> 20,
        result.store,
        result.lru_of_memcached,
        result.lru_of_equal_cost,
        result.store_items,
    );
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let mut results = Vec::new();
    if !options.json {
        println!(
            "{:<16} {:>5} {:>9} {:>14} {:>16} {:>10}",
            "trace", "MB", "store", "memcached LRU", "equal-cost LRU", "items"
        );
    }
    for case in options.cases() {
        let result = case.measure()?;
        if !options.json {
            print_line(&result);
        }
        results.push(result);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&results)?);
    }
    Ok(())
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("farcache-hitratio: {error}");
            ExitCode::FAILURE
        }
    }
}
