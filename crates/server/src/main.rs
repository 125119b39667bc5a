//! `farcached`, the server.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_server::options::{Options, status_of};
use farcache_server::{check, start};
use std::io::Write;
use std::process::ExitCode;

/// What `-i` prints.
const LICENCE: &str = include_str!("../../../LICENSE");

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => return explain(&error),
    };
    if options.license {
        // A reader that closes the pipe has read enough.
        let _ = std::io::stdout().write_all(LICENCE.as_bytes());
        return ExitCode::SUCCESS;
    }
    if !options.check_ssd.is_empty() {
        return ExitCode::from(check::run(&options, &mut std::io::stdout()));
    }
    match start::run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            eprintln!("farcached: {}", refusal.message);
            ExitCode::from(refusal.status)
        }
    }
}

/// Prints help, the version, or what is wrong with the command line.
fn explain(error: &clap::Error) -> ExitCode {
    // Nothing is left to be done if even this cannot be printed.
    let _ = error.print();
    if error.use_stderr() {
        ExitCode::from(status_of(error))
    } else {
        ExitCode::SUCCESS
    }
}
