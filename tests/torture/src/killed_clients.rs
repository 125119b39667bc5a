//! Clients killed (SIGKILL) at odd moments of large sets and gets.
//!
//! The victim is this same program, started anew: a process of its own, so that its end is the
//! real one, with sockets full of unread data and requests cut anywhere.

use farcache_bench::load::run_limits::RunLimits;
use farcache_bench::load::runner::{Pace, Plan};
use farcache_bench::load::values::ValueSizes;
use farcache_bench::load::workload::Mix;
use farcache_harness::target::Target;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Argument that makes a program call [`be_victim`].
pub const VICTIM_ARGUMENT: &str = "victim";

/// Size of the large values, in bytes.
const LARGE_BYTES: usize = 900_000;
/// Large keys, few enough to fit a small server.
const LARGE_KEYS: u32 = 8;
/// Victims alive at once.
const VICTIMS: usize = 4;

/// Starts and kills `kills` clients that set, and as many that get.
///
/// # Errors
/// If a client cannot be started.
pub fn run(target: &Target, kills: usize) -> io::Result<String> {
    large_plan(target, 0.0).preload()?;
    for set_ratio in ["1", "0"] {
        let mut alive: Vec<Child> = Vec::new();
        for kill in 0..kills {
            alive.push(start_victim(target, set_ratio)?);
            // A different instant of the victim's life each time.
            std::thread::sleep(Duration::from_micros(
                3_000 + (kill as u64 * 7_919) % 20_000,
            ));
            if alive.len() == VICTIMS {
                kill_one(alive.remove(0))?;
            }
        }
        alive.into_iter().try_for_each(kill_one)?;
    }
    Ok(format!("{} clients killed", kills * 2))
}

fn kill_one(mut victim: Child) -> io::Result<()> {
    victim.kill()?;
    victim.wait()?;
    Ok(())
}

fn start_victim(target: &Target, set_ratio: &str) -> io::Result<Child> {
    let address = match target {
        Target::Tcp(address) => address.to_string(),
        Target::Unix(path) => path.display().to_string(),
    };
    Command::new(std::env::current_exe()?)
        .args([VICTIM_ARGUMENT, &address, set_ratio])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// Sets or gets large values until killed.
///
/// # Errors
/// Those of its connections.
pub fn be_victim(target: &Target, set_ratio: f64) -> io::Result<()> {
    let summary = large_plan(target, set_ratio).run()?;
    Err(io::Error::other(format!(
        "not killed, {} requests",
        summary.counts.requests
    )))
}

fn large_plan(target: &Target, set_ratio: f64) -> Plan {
    Plan {
        target: target.clone(),
        pace: Pace::Closed,
        connections: 4,
        depth: 4,
        spin: false,
        keys: LARGE_KEYS,
        values: ValueSizes::fixed(LARGE_BYTES),
        mix: Mix {
            set_ratio,
            multi_get_keys: 1,
        },
        limits: RunLimits {
            warmup_ns: 0,
            measure_ns: 60_000_000_000,
            requests_max: u64::MAX,
        },
        ..Plan::default()
    }
}
