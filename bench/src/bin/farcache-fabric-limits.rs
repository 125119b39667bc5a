//! `farcache-fabric-limits`: what UCX itself allows between two processes of this machine.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::limits::server::{SERVE_ARGUMENT, serve};
use farcache_bench::limits::{Figures, Limits, LimitsPlan, Operation, Scenario, measure};
use farcache_bench::sizes::Sizes;
use farcache_harness::pinning::pin_to_cpu;
use std::process::ExitCode;
use std::time::Duration;

/// Measures requests and replies as bare UCX active messages between two processes: the limit that
/// the fabric's figures are compared with.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// UCX's networks, as in UCX_TLS: tcp, or shm, or posix,cma; UCX's own choice by default.
    #[arg(long)]
    networks: Option<String>,
    /// Sizes of the values fetched one at a time: 64,4K or 1-512K, which doubles.
    #[arg(long, default_value = "64,4K,64K,1M")]
    get_sizes: Sizes,
    /// Sizes of the values stored one at a time.
    #[arg(long, default_value = "1M")]
    set_sizes: Sizes,
    /// Numbers of outstanding requests for 64 B.
    #[arg(long, value_delimiter = ',', default_value = "8,32,128")]
    windows: Vec<usize>,
    /// Numbers of keys, of 64 B each, that travel in one message.
    #[arg(long, value_delimiter = ',', default_value = "16,48")]
    keys: Vec<usize>,
    /// Numbers of such messages outstanding.
    #[arg(long, value_delimiter = ',', default_value = "8")]
    keys_windows: Vec<usize>,
    /// Leave out what has many outstanding, and many keys in a message.
    #[arg(long)]
    no_rates: bool,
    /// Sizes of large values fetched one at a time, at the end.
    #[arg(long, default_value = "64M,512M")]
    large: Sizes,
    /// Leave the large values out.
    #[arg(long)]
    no_large: bool,
    /// Receive each large body into memory that is made anew, instead of that of the body before.
    #[arg(long)]
    new_buffers: bool,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Core of the server.
    #[arg(long, default_value_t = 0)]
    server_cpu: usize,
    /// Core of the client.
    #[arg(long, default_value_t = 1)]
    client_cpu: usize,
    /// Leave the placement of server and client to the system.
    #[arg(long)]
    unpinned: bool,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
}

/// Most bytes of one message's values: UCX moves them as one body.
const VALUE_BYTES_MAX: usize = 1 << 30;

impl Options {
    fn scenarios(&self) -> Result<Vec<Scenario>, String> {
        let get = |bytes: &usize| Scenario::solo(Operation::Get, *bytes);
        let set = |bytes: &usize| Scenario::solo(Operation::Set, *bytes);
        let windows = self.windows.iter().map(|window| Scenario {
            window: *window,
            ..get(&64)
        });
        let batches = self.keys.iter().flat_map(|keys| {
            self.keys_windows.iter().map(|window| Scenario {
                keys_per_message: *keys,
                window: *window,
                ..get(&64)
            })
        });
        let mut scenarios: Vec<_> = self.get_sizes.0.iter().map(get).collect();
        scenarios.extend(self.set_sizes.0.iter().map(set));
        if !self.no_rates {
            scenarios.extend(windows.chain(batches));
        }
        if !self.no_large {
            scenarios.extend(self.large.0.iter().map(get));
        }
        let is_wrong = |scenario: &&Scenario| {
            scenario.window == 0
                || scenario.keys_per_message == 0
                || scenario.value_bytes > VALUE_BYTES_MAX
        };
        match scenarios.iter().find(is_wrong) {
            Some(scenario) => Err(format!("cannot measure {}", scenario.title())),
            None => Ok(scenarios),
        }
    }

    fn plan(&self) -> Result<LimitsPlan, Box<dyn std::error::Error>> {
        Ok(LimitsPlan {
            program: std::env::current_exe()?,
            server_cpu: (!self.unpinned).then_some(self.server_cpu),
            networks: self.networks.clone(),
            duration: Duration::from_secs_f64(self.seconds),
            new_buffers: self.new_buffers,
            scenarios: self.scenarios()?,
        })
    }
}

fn print_line(figures: &Figures) {
    let latency = figures.latency_us.map_or(String::new(), |latency| {
        format!("p50 {:.2} us, p99 {:.2} us, ", latency.p50, latency.p99)
    });
    println!(
        "{:<42} {latency}{:.3} M keys/s, {:.2} GB/s",
        figures.title,
        figures.keys_per_s / 1e6,
        figures.value_bytes_per_s / 1e9,
    );
}

fn print(limits: &Limits) {
    println!("UCX {}", limits.ucx);
    limits.lanes.iter().for_each(|lane| println!("  {lane}"));
    limits.figures.iter().for_each(print_line);
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let plan = options.plan()?;
    if !options.unpinned {
        pin_to_cpu(options.client_cpu)
            .map_err(|error| format!("core {}: {error} (--unpinned?)", options.client_cpu))?;
    }
    let limits = measure(&plan)?;
    match options.json {
        true => println!("{}", serde_json::to_string_pretty(&limits)?),
        false => print(&limits),
    }
    Ok(())
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((first, rest)) if first == SERVE_ARGUMENT => {
            serve(rest.first().map(String::as_str)).map_err(Into::into)
        }
        _ => run(&Options::parse()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("farcache-fabric-limits: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
#[path = "../../tests/man_page/mod.rs"]
mod man_page;

#[test]
fn the_manual_page_is_up_to_date() {
    let more = man_page::More {
        examples: "farcache-fabric-limits\n\
             farcache-fabric-limits --networks tcp,self --no-large --json",
        failure: None,
        see_also: &["farcache-fabric", "ohb_memlat"],
    };
    man_page::check::<Options>("farcache-fabric-limits", &more);
}
