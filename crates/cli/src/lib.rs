//! What operators run: `farcache cluster` shows a cluster's servers, and has them join, drain and
//! leave.
//!
//! | part | what it does |
//! |---|---|
//! | `options` | the command line |
//! | `source` | where the map stands: a file that servers watch, or etcd |
//! | `ask` | what servers tell of themselves |
//! | `report` | that, read |
//! | `overview` | map and reports together: what `status` shows |
//! | `table` | the overview for people |
//! | `change` | the map that an operator wants next, a pure function |
//! | `estimate` | how many keys and bytes a change moves |
//! | `carry` | leads a change to its end |
//! | `progress` | the bar meanwhile |
//! | `watch` | `status`, again and again |
//! | `failure` | what can go wrong, and the exit codes |
#![forbid(unsafe_code)]

pub mod ask;
pub mod carry;
pub mod change;
pub mod estimate;
pub mod failure;
pub mod options;
pub mod overview;
mod progress;
pub mod report;
pub mod source;
mod table;
mod watch;

use ask::Asking;
use change::Change;
use failure::Failure;
use options::{Action, Command, Options};
use overview::Overview;
use source::Source;
use std::io::{self, Write};
use std::time::Duration;

/// Carries out a command line.
///
/// # Errors
/// What went wrong; its [`status`](Failure::status) is what the program ends with.
pub fn run(options: &Options) -> Result<(), Failure> {
    let Command::Cluster(cluster) = &options.command;
    let mut source = Source::open(&cluster.target)?;
    let asking = Asking::new(&cluster.target)?;
    match &cluster.action {
        Action::Status { json } => status(&mut source, &asking, *json),
        Action::Watch { interval } => watch::run(&mut source, &asking, *interval),
        Action::Add { member, how } => {
            let change = Change::Add(member.clone());
            carry::run(&change, how, &mut source, &asking)
        }
        Action::Drain {
            server,
            linger,
            how,
        } => {
            let change = Change::Drain(server.clone());
            carry::run(&change, how, &mut source, &asking)?;
            if !how.dry_run && how.wait_seconds > 0 {
                std::thread::sleep(Duration::from_secs(*linger));
            }
            Ok(())
        }
        Action::Remove { server, force, how } => {
            let change = Change::Remove(server.clone(), *force);
            carry::run(&change, how, &mut source, &asking)
        }
        Action::Rebalance { weights, how } => {
            let change = Change::Rebalance(weights.clone());
            carry::run(&change, how, &mut source, &asking)
        }
    }
}

fn status(source: &mut Source, asking: &Asking, json: bool) -> Result<(), Failure> {
    let standing = source.read()?;
    let overview = Overview::new(&standing, &asking.all(&standing.map), &source.place());
    let text = match json {
        true => serde_json::to_string_pretty(&overview).map_err(io::Error::from)? + "\n",
        false => table::shown(&overview),
    };
    io::stdout().write_all(text.as_bytes())?;
    overview.verdict()
}
