//! The witness of a power loss: it loads a server inside a virtual machine, keeps on the machine's
//! disk how much has been acknowledged, and after the cut checks the server's items by content.
//!
//! What each client does is a pure function of the seed ([`history`]), so a count of acknowledged
//! operations for each client (a [`mark`]) is all that has to survive for an exact check.

#![forbid(unsafe_code)]

mod check;
mod client;
mod history;
mod load;
mod mark;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Loads a server before a power loss, and checks what is back after it.
#[derive(Parser)]
struct Arguments {
    /// Address of the server.
    #[arg(long, default_value = "127.0.0.1:11211")]
    address: String,
    /// Block device or file whose first sector holds the mark.
    #[arg(long)]
    marks: PathBuf,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Changes items until it is killed or the time is over.
    Load {
        /// Number of this start of the machine, from 1; it is part of every value.
        #[arg(long)]
        life: u32,
        /// Seed of the clients' operations.
        #[arg(long)]
        seed: u64,
        /// Longest time under load.
        #[arg(long, default_value_t = 600)]
        seconds: u64,
    },
    /// Reads every key and compares it with what may be there.
    Check {
        /// Whether an acknowledged change has to be there, as with `--durability sync`.
        #[arg(long)]
        strict: bool,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.action {
        Action::Load {
            life,
            seed,
            seconds,
        } => {
            let history = history::History { life, seed };
            let limit = Duration::from_secs(seconds);
            load::run(&arguments.address, &arguments.marks, history, limit)
        }
        Action::Check { strict } => check::run(&arguments.address, &arguments.marks, strict),
    };
    match outcome {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}
