//! The log: structured lines on standard error.

use clap::ValueEnum;
use std::io::IsTerminal;
use std::sync::OnceLock;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, reload};

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The target of what an operator is told of without having asked: the start, the stop, what was
/// read anew, clients that were turned away.
pub const EVENTS: &str = "farcached";

/// Where the level of the process's one log is changed, once it has been started.
static LEVEL: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// Starts the log, showing what `verbosity` asks for: 0 warnings and [`EVENTS`], 1 what happens to
/// the server, 2 what happens to connections, more than that everything.
pub fn start(format: LogFormat, verbosity: u8) {
    let (filter, handle) = reload::Layer::new(level(verbosity));
    let log = tracing_subscriber::registry().with(filter);
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => log.with(lines).try_init(),
        LogFormat::Json => log.with(lines.json()).try_init(),
    };
    // Fails only if a log has been started already, which then goes on.
    if started.is_ok() {
        let _ = LEVEL.set(handle);
    }
}

/// Shows from now on what `verbosity` asks for; does nothing where no log has been started.
pub fn set_verbosity(verbosity: u8) {
    if let Some(handle) = LEVEL.get() {
        // Fails only if the log is gone, with which there is nothing to show.
        let _ = handle.reload(level(verbosity));
    }
}

fn level(verbosity: u8) -> Targets {
    let level = match verbosity {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    Targets::new()
        .with_default(level)
        .with_target(EVENTS, level.max(LevelFilter::INFO))
}
