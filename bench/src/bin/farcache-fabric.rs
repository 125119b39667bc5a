//! `farcache-fabric`: what the fabric shows, beside bare UCX, sockets and memcached.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::compare::machine::Machine;
use farcache_bench::ohb::client::ClientSession;
use farcache_bench::options::{FileOptions, ServerOptions};
use farcache_bench::shows::helpers::{HELPER_ARGUMENT, be_helper};
use farcache_bench::shows::programs::Programs;
use farcache_bench::shows::table::Line;
use farcache_bench::shows::{Bench, Scope, Section, show};
use farcache_harness::server_process::stop_servers_on_signals;
use std::path::PathBuf;
use std::process::ExitCode;

/// Measures the fabric beside bare UCX between the same cores, beside farcached over sockets, and
/// beside memcached; and what dead clients and a dead server leave behind.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// The main rows only, in about half a minute.
    #[arg(long)]
    short: bool,
    /// Sections to measure; all of the version by default.
    #[arg(long, value_enum, value_delimiter = ',')]
    sections: Vec<Section>,
    /// How often everything but the speeds is measured in turn.
    #[arg(long)]
    rounds: Option<usize>,
    /// Short turns in which the speeds are measured.
    #[arg(long)]
    turns: Option<usize>,
    /// Seconds of each measurement; of the speeds a tenth of it in each turn.
    #[arg(long)]
    seconds: Option<f64>,
    /// Clients that are killed in the middle of large values.
    #[arg(long, default_value_t = 1000)]
    kills: usize,
    /// Clients that connect and leave.
    #[arg(long, default_value_t = 1000)]
    clients: usize,
    #[command(flatten)]
    where_to: ServerOptions,
    #[command(flatten)]
    files: FileOptions,
    /// Write the picture by size to this file, as SVG.
    #[arg(long)]
    svg: Option<PathBuf>,
    /// Write the picture of all transports by size to this file, as SVG.
    #[arg(long)]
    transports_svg: Option<PathBuf>,
    /// Fail where a wanted figure is missed.
    #[arg(long)]
    strict: bool,
}

impl Options {
    fn bench(&self) -> std::io::Result<Bench> {
        let here = std::env::current_exe()?;
        Ok(Bench {
            // Memory is shared between processes of one user only.
            launcher: self.where_to.launcher("root")?,
            programs: Programs {
                folder: here.parent().map(PathBuf::from).unwrap_or_default(),
                server_cpu: self.where_to.server_cpu(),
                client_cpu: self.where_to.client_cpu(),
            },
            scope: self.scope(),
        })
    }

    fn scope(&self) -> Scope {
        Scope {
            short: self.short,
            rounds: self.rounds.unwrap_or(if self.short { 1 } else { 3 }),
            turns: self.turns.unwrap_or(if self.short { 5 } else { 12 }),
            seconds: self.seconds.unwrap_or(if self.short { 0.15 } else { 1.0 }),
            kills: self.kills,
            clients: self.clients,
        }
    }

    fn sections(&self) -> &[Section] {
        match (self.sections.is_empty(), self.short) {
            (false, _) => &self.sections,
            (true, true) => &Section::SHORT,
            (true, false) => &Section::USUAL,
        }
    }
}

/// What the JSON file holds.
#[derive(serde::Serialize)]
struct File {
    machine: Machine,
    lanes: Vec<String>,
    rows: Vec<Line>,
}

/// Whether no wanted figure was missed.
fn run(options: &Options) -> Result<bool, Box<dyn std::error::Error>> {
    if let Err(error) = farcache_ucx_sys::Library::load() {
        println!("No fabric on this machine, so nothing is measured: {error}");
        return Ok(false);
    }
    stop_servers_on_signals()?;
    let bench = options.bench()?;
    let machine = Machine::look(&bench.launcher.memcached, &bench.launcher.farcached);
    println!("{}", machine.line());
    options.where_to.pin_client()?;
    let results = show(&bench, options.sections())?;
    results.lanes.iter().for_each(|lane| println!("  {lane}"));
    println!("\n{}", results.table);
    let file = File {
        machine,
        lanes: results.lanes,
        rows: results.table.lines(),
    };
    options.files.write(&file, &results.table.markdown())?;
    if let (Some(path), Some(picture)) = (&options.svg, &results.picture) {
        std::fs::write(path, picture.svg())?;
    }
    if let (Some(path), Some(picture)) = (&options.transports_svg, &results.transports) {
        std::fs::write(path, picture.svg())?;
    }
    Ok(results.table.none_missed())
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((first, rest)) if first == HELPER_ARGUMENT => {
            let helped = be_helper(rest, ClientSession::open);
            helped.map(|()| true).map_err(Into::into)
        }
        _ => {
            let options = Options::parse();
            let is_met = run(&options);
            is_met.map(|met| met || !options.strict)
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("farcache-fabric: {error}");
            ExitCode::FAILURE
        }
    }
}
