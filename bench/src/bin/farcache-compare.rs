//! `farcache-compare`: farcached and memcached in turn on the same core, and the ratios.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::compare::machine::Machine;
use farcache_bench::compare::table::Line;
use farcache_bench::compare::tier::Part;
use farcache_bench::compare::{Group, Scope, compare};
use farcache_bench::options::{FileOptions, ServerOptions};
use farcache_harness::server_process::{Product, UNPRIVILEGED_USER, stop_servers_on_signals};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compares farcached with memcached: one worker each, pinned, taking turns; medians.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// The main rows only, in under a minute.
    #[arg(long)]
    short: bool,
    /// Groups of rows to measure; all of the version by default.
    #[arg(long, value_enum, value_delimiter = ',')]
    groups: Vec<Group>,
    /// How often the servers take turns at each speed row, on busy cores, and at reads and the
    /// write-out of the SSD tier; 5 in the short version.
    #[arg(long)]
    turns: Option<usize>,
    /// Seconds of each of these turns.
    #[arg(long, default_value_t = 0.25)]
    seconds: f64,
    /// How often the servers take turns in the other groups.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Measure only this server.
    #[arg(long, value_parser = product)]
    only: Option<Product>,
    /// Show also the server's CPU time per key, which other load on the machine disturbs least.
    #[arg(long)]
    cpu_time: bool,
    /// Directory for the files of the SSD tier; it should lie on the SSD.
    #[arg(long, default_value = ".")]
    ssd: PathBuf,
    /// Parts of the SSD tier's rows to measure; all by default.
    #[arg(long, value_enum, value_delimiter = ',')]
    tier_parts: Vec<Part>,
    /// Sizes of the values of the SSD tier's rows, in KB.
    #[arg(long, value_delimiter = ',', default_values_t = [4, 16], value_parser = clap::value_parser!(u16).range(1..=512))]
    tier_values: Vec<u16>,
    #[command(flatten)]
    where_to: ServerOptions,
    #[command(flatten)]
    files: FileOptions,
    /// Fail where a wanted figure is missed.
    #[arg(long)]
    strict: bool,
}

fn product(name: &str) -> Result<Product, String> {
    [Product::Farcached, Product::Memcached]
        .into_iter()
        .find(|product| product.name() == name)
        .ok_or_else(|| "farcached or memcached".into())
}

impl Options {
    fn scope(&self) -> Scope {
        let products = match self.only {
            Some(product) => vec![product],
            None => vec![Product::Memcached, Product::Farcached],
        };
        Scope {
            short: self.short,
            turns: self.turns.unwrap_or(if self.short { 5 } else { 21 }),
            seconds: self.seconds,
            rounds: self.rounds,
            cpu_time: self.cpu_time,
            cores: self.where_to.cpus(),
            ssd: self.ssd.clone(),
            tier_parts: match self.tier_parts.is_empty() {
                true => Part::ALL.to_vec(),
                false => self.tier_parts.clone(),
            },
            tier_values: self.tier_values.clone(),
            products,
        }
    }

    fn groups(&self) -> &[Group] {
        match (self.groups.is_empty(), self.short) {
            (false, _) => &self.groups,
            (true, true) => &Group::SHORT,
            (true, false) => &Group::ALL,
        }
    }
}

/// What the JSON file holds.
#[derive(serde::Serialize)]
struct Results {
    machine: Machine,
    rows: Vec<Line>,
}

/// Whether no wanted figure was missed.
fn run(options: &Options) -> Result<bool, Box<dyn std::error::Error>> {
    stop_servers_on_signals()?;
    let launcher = options.where_to.launcher(UNPRIVILEGED_USER)?;
    let machine = Machine::look(&launcher.memcached, &launcher.farcached);
    println!("{}\n", machine.line());
    options.where_to.pin_client()?;
    let table = compare(&launcher, &options.scope(), options.groups())?;
    println!("{table}");
    let results = Results {
        machine,
        rows: table.lines(),
    };
    options.files.write(&results, &table.markdown())?;
    Ok(table.none_missed())
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    let options = Options::parse();
    match run(&options) {
        Ok(met) if met || !options.strict => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("farcache-compare: {error}");
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
        examples: "farcache-compare\n\
             farcache-compare --short\n\
             farcache-compare --groups speed,hits --turns 41 --rounds 5 --cpu-time --json out.json --markdown out.md",
        failure: Some(
            "Something could not be measured or, with --strict, a wanted figure was missed.",
        ),
        see_also: &["farcached", "memcached", "farcache-load", "farcache-fabric"],
    };
    man_page::check::<Options>("farcache-compare", &more);
}
