//! `farcache-conformance`: the same checks over every transport.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_client::Transport;
use farcache_conformance::death::{VICTIM_ARGUMENT, be_victim};
use farcache_conformance::fixture::Fixture;
use farcache_conformance::{Outcome, run};
use farcache_harness::server_process::{Launcher, stop_servers_on_signals};
use std::path::PathBuf;
use std::process::ExitCode;

/// Checks that a server does over the fabric what it does over sockets. UCX's variables choose the
/// network, as in `UCX_TLS=tcp,self farcache-conformance`.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// What carries the operations: fabric or tcp; auto leaves it to the client.
    #[arg(long, default_value = "fabric", value_parser = transport)]
    transport: Transport,
    /// Use a server that runs already (host:port), and leave out what starts or kills servers.
    #[arg(long)]
    servers: Option<String>,
    /// The server's program.
    #[arg(long, default_value = "farcached")]
    farcached: PathBuf,
    /// memcached's program.
    #[arg(long, default_value = "memcached")]
    memcached: PathBuf,
    /// Size of the largest values, in MiB.
    #[arg(long, default_value_t = 64)]
    large_mb: usize,
    /// Run only checks whose name contains this.
    #[arg(default_value = "")]
    filter: String,
}

fn transport(text: &str) -> Result<Transport, farcache_client::Error> {
    text.parse()
}

impl Options {
    fn fixture(self) -> std::io::Result<Fixture> {
        let large_bytes = self.large_mb << 20;
        if let Some(servers) = self.servers {
            return Ok(Fixture::on_servers(servers, self.transport, large_bytes));
        }
        let launcher = Launcher {
            farcached: self.farcached,
            memcached: self.memcached,
            cpu: None,
            // Shared memory is for processes of one user.
            user: "root".into(),
        };
        stop_servers_on_signals()?;
        Fixture::on_own(launcher, self.transport, large_bytes)
    }
}

fn check(options: Options) -> std::io::Result<bool> {
    let filter = options.filter.clone();
    let fixture = options.fixture()?;
    let summary = run(&fixture, &filter);
    let result = if summary.failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {result}. {} passed; {} failed; {} ignored; 0 measured; 0 filtered out",
        summary.passed, summary.failed, summary.left_out
    );
    Ok(summary.failed == 0)
}

fn victim(arguments: &[String]) -> Outcome {
    let [servers, transport] = arguments else {
        return Err("wants servers and transport".into());
    };
    be_victim(servers, transport.parse()?)
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((first, rest)) if first == VICTIM_ARGUMENT => victim(rest).map(|()| true),
        _ => check(Options::parse()).map_err(Into::into),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("farcache-conformance: {error}");
            ExitCode::FAILURE
        }
    }
}
