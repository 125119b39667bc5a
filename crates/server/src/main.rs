//! `farcached`, the server.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_server::net::listen::bind_tcp;
use farcache_server::options::Options;
use farcache_server::server::Server;
use farcache_server::shared::Shared;
use farcache_server::signals::Signals;
use farcache_store::{Store, StoreConfig};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("farcached: {message}");
            ExitCode::from(71)
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let settings = options.settings();
    let listeners = bind_tcp(&options.places()?, settings.tcp_port, settings.backlog, false)?;
    for listener in &listeners {
        println!("listening on {}", listener.address);
    }
    let config = StoreConfig {
        memory_bytes: settings.memory_bytes,
        handles_max: settings.threads + 4,
        ..StoreConfig::default()
    };
    let signals = Signals::take_over()?;
    let shared = Arc::new(Shared::new(Store::new(config)?, settings));
    Ok(Server::start(shared)?.serve(listeners, signals)?)
}
