//! `farcache-fleet`: several servers in one process, whose workers take turns on one thread.
//!
//! For benchmarks of values on several servers on a machine with few processors: with a process
//! each, most of such a figure is the time in which the kernel changes from one server to the next.
//! The thread never sleeps.
//!
//! `farcache-fleet OPTIONS [-- OPTIONS]...`: the options of each server are `farcached`'s.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_server::crew::{OneThread, one_thread};
use farcache_server::options::{Options, Refusal};
use farcache_server::start;
use std::process::ExitCode;
use std::thread::JoinHandle;

/// Stands between the options of two servers.
const BETWEEN: &str = "--";

type Serving = JoinHandle<Result<(), Refusal>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let servers: Result<Vec<Options>, _> = options(&arguments).collect();
    let servers = servers.unwrap_or_else(|error| error.exit());
    let (crew, turns) = one_thread();
    let serving = servers
        .into_iter()
        .map(|options| serve(options, crew.clone()));
    let serving: Vec<Serving> = serving.collect();
    drop(crew);
    turns.take();
    let refused = serving.into_iter().filter_map(refusal);
    match refused
        .inspect(|one| eprintln!("farcache-fleet: {}", one.message))
        .last()
    {
        Some(refusal) => ExitCode::from(refusal.status),
        None => ExitCode::SUCCESS,
    }
}

/// The options of each server.
fn options(arguments: &[String]) -> impl Iterator<Item = Result<Options, clap::Error>> {
    let name = || std::iter::once("farcache-fleet");
    let servers = arguments.split(|argument| argument == BETWEEN);
    servers.map(move |own| Options::try_parse_from(name().chain(own.iter().map(String::as_str))))
}

/// Starts a server, whose connections are accepted on a thread of its own.
fn serve(options: Options, crew: OneThread) -> Serving {
    std::thread::spawn(move || start::run_with(&options, &crew))
}

/// Why a server could not start.
fn refusal(serving: Serving) -> Option<Refusal> {
    serving.join().expect("a panic ends the process").err()
}
