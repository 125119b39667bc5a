//! What a cluster's servers owe to one another, with real processes on this machine.
//!
//! ```text
//! cargo build --release -p farcache-server
//! cargo run --release -p farcache-bench --example cluster -- --help
//! ```
#![forbid(unsafe_code)]

mod deaths;
mod etcd;
mod fleet;
mod forwarding;
mod growth;
mod languages;
mod misses;
mod moving;
mod row;
mod takeover;
mod watchers;

use clap::{Parser, Subcommand};
use farcache_harness::server_process::stop_servers_on_signals;
use fleet::Programs;
use std::io;
use std::path::PathBuf;

/// Measures a cluster of farcached processes.
#[derive(Debug, Parser)]
struct Options {
    /// The server's program.
    #[arg(long, default_value = "target/release/farcached")]
    farcached: PathBuf,
    /// Cores of the servers, in turn; any where none are named.
    #[arg(long, value_delimiter = ',')]
    server_cpus: Vec<usize>,
    /// Core of the client.
    #[arg(long)]
    client_cpu: Option<usize>,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A GET of 64 bytes that another server owns, beside one of the asked server's own.
    Forwarding(forwarding::Options),
    /// GETs while a fourth server joins three, with what they hold of its keys, and leaves again.
    Moving(moving::Options),
    /// Extra misses while three servers become four, with moves and without.
    Misses(misses::Options),
    /// How long requests wait while servers take over a new map; needs etcd.
    Takeover(takeover::Options),
    /// How soon the others list a server as gone that was killed; needs etcd.
    Deaths(deaths::Options),
    /// How soon all who follow the map on etcd have the next one.
    Watchers(watchers::Options),
    /// Clients of six languages while a server joins and one leaves, beside memcached's fleet;
    /// needs etcd.
    Languages(languages::Options),
    /// One of these clients.
    #[command(hide = true)]
    LanguageClient(languages::rust::Options),
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    stop_servers_on_signals()?;
    let programs = Programs {
        farcached: options.farcached,
        server_cpus: options.server_cpus,
    };
    if let Some(cpu) = options.client_cpu {
        farcache_harness::pinning::pin_to_cpu(cpu)?;
    }
    match options.what {
        What::Forwarding(options) => forwarding::measure(&programs, &options),
        What::Moving(options) => moving::measure(&programs, &options),
        What::Misses(options) => misses::measure(&programs, &options),
        What::Takeover(options) => takeover::measure(&programs, &options),
        What::Deaths(options) => deaths::measure(&programs, &options),
        What::Watchers(options) => watchers::measure(&options),
        What::Languages(options) => languages::measure(&programs, &options),
        What::LanguageClient(options) => languages::rust::run(&options),
    }
}
