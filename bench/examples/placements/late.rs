//! Reads while servers stand still: what asking one more than necessary saves.

use super::{Outcome, SHARDS, got, got_timed};
use farcache_bench::coding_fleet::Fleet;
use farcache_bench::statistics::quantile_us;
use farcache_client::Client;
use farcache_harness::server_process::ServerProcess;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

const LATE_BYTES: usize = 64 << 10;
const LATE_KEYS: usize = 64;
const LATE_TIME: Duration = Duration::from_secs(6);
const STALL: Duration = Duration::from_millis(5);
const BETWEEN_STALLS: Duration = Duration::from_millis(45);

/// Has one server after the other, drawn at random, stand still for a moment, until it is told to
/// stop.
fn stall(servers: &[ServerProcess], stop: &AtomicBool) -> std::io::Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    while !stop.load(SeqCst) {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        servers[(state >> 33) as usize % servers.len()].stall(STALL)?;
        std::thread::sleep(BETWEEN_STALLS);
    }
    Ok(())
}

/// Prints the table for clients of these servers.
pub fn late_binding(fleet: &Fleet) -> Outcome<()> {
    println!(
        "\nGET of {LATE_BYTES} B, ec:3,2, us; a server drawn at random stands still for {STALL:?} \
         every {:?}",
        STALL + BETWEEN_STALLS
    );
    println!("                             p50       p99     p99.9   reads");
    for decode in ["client", "server"] {
        for delta in [0, 1] {
            for stalls in [false, true] {
                let policy = format!("{SHARDS};decode={decode};delta={delta}");
                let mut times = late_reads(&fleet.client(Some(&policy))?, &fleet.servers, stalls)?;
                let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|part| quantile_us(&mut times, part));
                let how = if stalls { "one stalls" } else { "healthy" };
                println!(
                    "decode={decode} delta={delta} {how:10} {p50:8.1} {p99:9.1} {p999:9.1} {:7}",
                    times.len()
                );
            }
        }
    }
    Ok(())
}

fn late_reads(client: &Client, servers: &[ServerProcess], stalls: bool) -> Outcome<Vec<Duration>> {
    let keys: Vec<_> = (0..LATE_KEYS)
        .map(|number| format!("late-{number}"))
        .collect();
    let mut room = Vec::new();
    for key in &keys {
        client.set(key, vec![0x5a; LATE_BYTES], 0)?;
        got(client, key, &mut room, LATE_BYTES)?;
    }
    let stop = AtomicBool::new(!stalls);
    std::thread::scope(|scope| {
        let stalling = scope.spawn(|| stall(servers, &stop));
        let end = Instant::now() + LATE_TIME;
        let mut times = Vec::new();
        let mut read = || -> Outcome<()> {
            for key in keys.iter().cycle() {
                if Instant::now() >= end {
                    break;
                }
                times.push(got_timed(client, key, &mut room)?);
            }
            Ok(())
        };
        let outcome = read();
        stop.store(true, SeqCst);
        stalling.join().expect("it ends")?;
        outcome.map(|()| times)
    })
}
