//! Values on several servers where memory is short: what is a hit, and what is still one when
//! servers are lost?
//!
//! ```text
//! cargo run --release -p farcache-bench --example pressure -- target/release/farcached [SERVERS]
//! ```
//!
//! Servers of limited memory (five, as many as `ec:3,2` has owners) on one core, a client on
//! another that asks for keys by Zipf's law and stores what it misses, as in front of a database.
//! When the servers have been full for a while, the hit ratio is counted, beside that of exact
//! S3-FIFO in the room that values have under the policy. Then keys drawn by the same law are read
//! and not stored, with all servers there, with one killed, and with two: of those that were hits
//! at first, how many are still?
#![forbid(unsafe_code)]

use farcache_bench::coding_fleet::{Fleet, Size};
use farcache_bench::markdown;
use farcache_bench::policies::{Access, NEVER, PolicyName, SegmentRules};
use farcache_bench::trace::{Pattern, Trace};
use farcache_client::{Client, Transport};
use farcache_harness::pinning::pin_to_cpu;
use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

/// How many servers where nobody says how many.
const SERVERS: usize = 5;
const CLIENT_CPU: usize = 1;
/// Memory of each server, in MiB.
const MEMORY_MIB: usize = 64;
/// Size of a value; under `ec` so large a one lies in shards.
const VALUE_BYTES: usize = 64 << 10;
/// Keys, in times of what the servers have room for with one copy of each.
const FOOTPRINT: usize = 2;
/// Requests for each key before hits are counted, and while they are.
const WARM_UP: usize = 6;
const COUNTED: usize = 4;
/// Requests from which the keys are drawn that are read beside lost servers.
const PROBES: usize = 20_000;
const SEED: u64 = 1;
const TIMEOUT: Duration = Duration::from_secs(20);

/// The policies, with what a value takes in times of its size.
const POLICIES: [(Option<&str>, f64); 5] = [
    (None, 1.0),
    (Some("replicate:2"), 2.0),
    (Some("replicate:3"), 3.0),
    (Some("ec:2,1"), 1.5),
    (Some("ec:3,2"), 5.0 / 3.0),
];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn key(id: u32) -> String {
    format!("key-{id}")
}

/// Bytes of memory of all these servers.
fn memory_bytes(size: Size) -> usize {
    (size.servers * size.memory_mib) << 20
}

/// How many keys there are.
fn objects(size: Size) -> usize {
    FOOTPRINT * memory_bytes(size) / VALUE_BYTES
}

fn trace(size: Size) -> Trace {
    Trace::new(Pattern::Zipf, objects(size) as u32, SEED)
}

/// Asks for keys, and stores what is missed; the part that was there.
fn ask(client: &Client, ids: impl Iterator<Item = u32>) -> Outcome<f64> {
    let value = vec![7; VALUE_BYTES];
    let (mut hits, mut all) = (0, 0);
    for id in ids {
        all += 1;
        match client.get(key(id))? {
            Some(_) => hits += 1,
            None => _ = client.set(key(id), value.clone(), 0)?,
        }
    }
    Ok(f64::from(hits) / f64::from(all))
}

/// Of these keys those that can be read.
fn readable(client: &Client, keys: &BTreeSet<u32>) -> BTreeSet<u32> {
    let is_there = |id: &&u32| matches!(client.get(key(**id)), Ok(Some(_)));
    keys.iter().filter(is_there).copied().collect()
}

/// The part of the counted requests that exact S3-FIFO has in the room for values of this size.
fn simulated(size: Size, value_bytes: u64) -> f64 {
    let (objects, rules) = (objects(size), SegmentRules::default());
    let mut cache = PolicyName::S3Fifo.cache(memory_bytes(size) as u64, objects as u32, rules);
    let access = |object| Access {
        object,
        bytes: value_bytes,
        next: NEVER,
    };
    let mut hits = trace(size).map(|id| cache.access(access(id)));
    hits.by_ref().take(WARM_UP * objects).for_each(drop);
    let counted = hits.take(COUNTED * objects).filter(|hit| *hit).count();
    counted as f64 / (COUNTED * objects) as f64
}

fn measure(farcached: &str, size: Size, policy: Option<&str>, copies: f64) -> Outcome<Vec<String>> {
    let mut fleet = Fleet::start_with(farcached, Transport::Auto, size)?;
    let client = fleet.client_for(TIMEOUT, policy)?;
    let (mut trace, objects) = (trace(size), objects(size));
    ask(&client, trace.by_ref().take(WARM_UP * objects))?;
    let hits = ask(&client, trace.by_ref().take(COUNTED * objects))?;
    let probes: BTreeSet<u32> = trace.take(PROBES).collect();
    let at_first = readable(&client, &probes);
    let mut cells = vec![
        policy.unwrap_or("none").into(),
        format!("{hits:.3}"),
        format!(
            "{:.3}",
            simulated(size, (VALUE_BYTES as f64 * copies) as u64)
        ),
        at_first.len().to_string(),
    ];
    for _ in 0..2 {
        // Ends it by SIGKILL.
        drop(fleet.servers.remove(0));
        let still = readable(&client, &at_first).len();
        cells.push(format!("{:.3}", still as f64 / at_first.len() as f64));
    }
    Ok(cells)
}

const HEADS: [&str; 6] = [
    "policy",
    "hit ratio",
    "S3-FIFO in that room",
    "keys that can be read",
    "of them with one server lost",
    "with two lost",
];

fn main() -> Outcome<()> {
    let usage = "usage: pressure FARCACHED [SERVERS]";
    let farcached = std::env::args().nth(1).ok_or(usage)?;
    let servers = std::env::args().nth(2).map(|servers| servers.parse());
    let size = Size {
        servers: servers.transpose()?.unwrap_or(SERVERS),
        memory_mib: MEMORY_MIB,
    };
    pin_to_cpu(CLIENT_CPU)?;
    let mut rows = Vec::new();
    for (policy, copies) in POLICIES {
        let cells = measure(&farcached, size, policy, copies)?;
        eprintln!("{}", cells.join(" | "));
        rows.push(cells);
    }
    println!("{}", markdown::table(&HEADS, rows));
    Ok(())
}
