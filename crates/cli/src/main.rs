//! `farcache`, what operators run.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_cli::options::Options;
use std::process::ExitCode;

fn main() -> ExitCode {
    match farcache_cli::run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("farcache: {failure}");
            ExitCode::from(failure.status())
        }
    }
}
