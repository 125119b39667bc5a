//! What a request costs the server: processor time and system calls, with an ordinary client, which
//! makes one call for each request and sleeps until the answer is there.
//!
//! The client's own calls take as long as the server's, so rates understate what a server saves.
//! This group asks for the server's part alone. Polling is off: it spends time that belongs to no
//! request.

use super::table::{Row, Table, Wanted};
use super::{Scope, in_turn, plan, with_cpu_share};
use crate::load::runner::Plan;
use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Connections.
const CONNECTIONS: [usize; 3] = [1, 8, 50];

/// Small values that are stored before the measurements.
const KEYS: u32 = 100_000;

/// What a request should cost over what it costs memcached.
const WANTED: Wanted = Wanted::RatioAtMost(0.7);

/// The kernel's trace point at the entry of each system call.
const EVENT: &str = "raw_syscalls:sys_enter";

/// How long `perf` may take to begin, and how often it is looked at.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_PERIOD: Duration = Duration::from_millis(1);

struct Side {
    product: Product,
    server: ServerProcess,
}

/// Measures what a request costs, the servers taking short turns.
///
/// # Errors
/// If a server cannot be started or breaks off.
pub fn measure(launcher: &Launcher, scope: &Scope, table: &mut Table) -> io::Result<()> {
    let sides = scope.products.iter();
    let sides: Vec<Side> = sides
        .map(|&product| start(launcher, product))
        .collect::<io::Result<_>>()?;
    let counts_calls = can_count_calls()?;
    if !counts_calls {
        eprintln!("cost: system calls are not counted: `perf stat -e {EVENT}` does not work here");
    }
    for turn in 0..scope.turns {
        eprintln!("cost, turn {} of {}", turn + 1, scope.turns);
        for (index, connections) in CONNECTIONS.into_iter().enumerate() {
            for side in in_turn(&sides, turn + index) {
                side.add_time(connections, scope, table)?;
                if counts_calls {
                    side.add_calls(connections, scope, table)?;
                }
            }
        }
    }
    Ok(())
}

fn start(launcher: &Launcher, product: Product) -> io::Result<Side> {
    let options: &[&str] = match product {
        Product::Memcached => &["-m", "64"],
        Product::Farcached => &["-m", "64", "--poll-us", "0"],
    };
    let server = launcher.start(product, options)?;
    let preload = Plan {
        keys: KEYS,
        ..plan(server.target())
    };
    preload.preload()?;
    Ok(Side { product, server })
}

fn can_count_calls() -> io::Result<bool> {
    let Some(count) = CallCount::start(std::process::id())? else {
        return Ok(false);
    };
    Ok(count.end().is_ok())
}

impl Side {
    fn plan(&self, connections: usize, scope: &Scope) -> Plan {
        Plan {
            connections,
            spin: false,
            keys: KEYS,
            limits: scope.limits(),
            ..plan(self.server.target())
        }
    }

    fn add_time(&self, connections: usize, scope: &Scope, table: &mut Table) -> io::Result<()> {
        let title = format!("server's time per GET, {connections} conn.");
        let row = Row::new(title, "us", WANTED);
        let plan = self.plan(connections, scope);
        let (summary, share) = with_cpu_share(&self.server, || plan.run())?;
        let summary = summary.checked(&row.title)?;
        table.add(&row, self.product, share * 1e6 / summary.requests_per_s);
        Ok(())
    }

    /// Apart from the time, which counting makes longer.
    fn add_calls(&self, connections: usize, scope: &Scope, table: &mut Table) -> io::Result<()> {
        let title = format!("server's system calls per GET, {connections} conn.");
        let row = Row::new(title, "calls", WANTED);
        let Some(count) = CallCount::start(self.server.id())? else {
            return Err(io::Error::other("perf stat does not count any more"));
        };
        let start = Instant::now();
        let summary = self.plan(connections, scope).run()?;
        let seconds = start.elapsed().as_secs_f64();
        let calls = count.end()?;
        let summary = summary.checked(&row.title)?;
        let per_request = calls as f64 / seconds / summary.requests_per_s;
        table.add(&row, self.product, per_request);
        Ok(())
    }
}

/// `perf stat` that counts a process's system calls.
struct CallCount(Child);

impl CallCount {
    /// Returns when it counts; none where it cannot.
    ///
    /// # Errors
    /// If it cannot be started although it is there, or does not begin in time.
    fn start(process: u32) -> io::Result<Option<CallCount>> {
        let mut command = Command::new("perf");
        command.args(["stat", "-x", ",", "-e", EVENT, "-p", &process.to_string()]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let deadline = Instant::now() + PATIENCE;
        while !has_opened_counter(&child) {
            if child.try_wait()?.is_some() {
                return Ok(None);
            }
            if Instant::now() >= deadline {
                child.kill()?;
                return Err(io::Error::other("perf stat does not begin to count"));
            }
            std::thread::sleep(LOOK_PERIOD);
        }
        Ok(Some(CallCount(child)))
    }

    /// The count.
    fn end(self) -> io::Result<u64> {
        kill_process(Pid::from_child(&self.0), Signal::INT)?;
        let output = self.0.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        count_in(&said).ok_or_else(|| io::Error::other(format!("perf stat: {said}")))
    }
}

/// Whether `perf` has the kernel's counter open.
fn has_opened_counter(perf: &Child) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{}/fd", perf.id())) else {
        return false;
    };
    let mut targets = files
        .flatten()
        .filter_map(|file| fs::read_link(file.path()).ok());
    targets.any(|target| target.as_os_str() == "anon_inode:[perf_event]")
}

/// The count in what `perf stat -x ,` says, by `perf-stat(1)`, "CSV FORMAT".
fn count_in(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains(EVENT))?;
    line.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_the_first_field_of_its_line() {
        let counted = "144,,raw_syscalls:sys_enter,1212345,100.00,,\n";
        assert_eq!(count_in(counted), Some(144));
    }

    #[test]
    fn where_perf_cannot_count_there_is_no_count() {
        let refused = "<not supported>,,raw_syscalls:sys_enter,0,100.00,,\n";
        assert_eq!(count_in(refused), None);
        assert_eq!(count_in("Error:\nNo permission to enable it.\n"), None);
    }
}
