//! A client that asks for large values and never reads an answer.

use farcache_bench::load::connection::{Connection, Pending};
use farcache_bench::load::protocol::Operation;
use farcache_bench::load::runner::Plan;
use farcache_bench::load::values::ValueSizes;
use farcache_harness::server_process::ServerProcess;
use std::io;
use std::time::{Duration, Instant};

/// Size of the value asked for, in bytes.
const LARGE_BYTES: usize = 500_000;
/// How long the server is given to take requests that it cannot answer.
const PUSH_MAX: Duration = Duration::from_secs(5);
/// How often the server's memory is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Asks for `bytes` bytes of values without reading any; reports the server's largest memory.
///
/// # Errors
/// Those of the connection, and if the server holds a good part of the answers in memory.
pub fn run(server: &ServerProcess, bytes: u64) -> io::Result<String> {
    let plan = Plan {
        target: server.target(),
        keys: 1,
        values: ValueSizes::fixed(LARGE_BYTES),
        ..Plan::default()
    };
    plan.preload()?;
    let before_bytes = server.resident_bytes()?;
    let socket = plan.target.connect()?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    let mut connection = Connection::new(socket, plan.scanner());
    for _ in 0..bytes / LARGE_BYTES as u64 {
        let pending = Pending {
            operation: Operation::Get(0),
            since_ns: 0,
        };
        connection.queue(pending, |buffer| plan.renderer().get(0, buffer));
    }
    let grown_most_bytes = push(server, &mut connection, before_bytes)?;
    if grown_most_bytes > bytes / 4 {
        return Err(io::Error::other(format!(
            "{} MiB of answers held",
            grown_most_bytes >> 20
        )));
    }
    Ok(format!(
        "{} MiB asked for, memory grew {} KiB",
        bytes >> 20,
        grown_most_bytes >> 10
    ))
}

/// Sends on as the server takes requests; the most that its memory grew.
fn push(server: &ServerProcess, connection: &mut Connection, before_bytes: u64) -> io::Result<u64> {
    let deadline = Instant::now() + PUSH_MAX;
    let mut most_bytes = 0;
    while Instant::now() < deadline {
        connection.send()?;
        std::thread::sleep(LOOK_EVERY);
        most_bytes = most_bytes.max(server.resident_bytes()?.saturating_sub(before_bytes));
    }
    Ok(most_bytes)
}
