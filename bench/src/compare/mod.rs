//! farcached and memcached in turn on the same core, and the ratio of what was measured.

pub mod busy;
pub mod cost;
pub mod engine_row;
pub mod growth;
pub mod hit_ratio;
pub mod idle;
pub mod machine;
pub mod memory;
pub mod speed;
pub mod table;
pub mod tier;

use crate::load::run_limits::RunLimits;
use crate::load::runner::Plan;
use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use farcache_harness::target::Target;
use std::io;
use std::path::PathBuf;
use std::time::Instant;
use table::Table;

/// Share of each turn that warms up.
const WARMUP_SHARE: f64 = 0.2;

/// How much is measured.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The main rows only, in about 45 seconds.
    pub short: bool,
    /// How often the servers take turns at each speed row, and at reads of the SSD tier and writing
    /// to it.
    pub turns: usize,
    /// Length of each of these turns, in seconds.
    pub seconds: f64,
    /// How often the servers take turns in the other groups.
    pub rounds: usize,
    /// Show also the server's CPU time per key: what other load on the machine disturbs least.
    pub cpu_time: bool,
    /// The cores of server and client, where they are pinned; none otherwise.
    pub cores: Vec<usize>,
    /// Directory for the files of the SSD tier.
    pub ssd: PathBuf,
    /// Parts of the tier's rows that are measured.
    pub tier_parts: Vec<tier::Part>,
    /// Sizes of the values of the tier's rows, in KB.
    pub tier_values: Vec<u16>,
    /// Products measured, in this order within a round.
    pub products: Vec<Product>,
}

impl Scope {
    /// One turn of a speed row.
    fn limits(&self) -> RunLimits {
        RunLimits {
            warmup_ns: (self.seconds * WARMUP_SHARE * 1e9) as u64,
            measure_ns: (self.seconds * 1e9) as u64,
            requests_max: u64::MAX,
        }
    }
}

/// A group of rows measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Group {
    /// Requests a second and latencies.
    Speed,
    /// Resident bytes per item.
    Memory,
    /// Hit ratio at equal memory.
    Hits,
    /// Latency while the index grows.
    Growth,
    /// Many idle connections.
    Idle,
    /// Other threads that want the same cores, and quotas of processor time.
    Busy,
    /// The server's processor time and system calls per request.
    Cost,
    /// The store without a network.
    Engine,
    /// More data than memory, with an SSD.
    Tier,
}

impl Group {
    /// Every group, in the order of the table.
    pub const ALL: [Group; 9] = [
        Group::Speed,
        Group::Memory,
        Group::Engine,
        Group::Hits,
        Group::Growth,
        Group::Idle,
        Group::Busy,
        Group::Cost,
        Group::Tier,
    ];

    /// The groups of the short version.
    pub const SHORT: [Group; 2] = [Group::Speed, Group::Memory];
}

/// Measures the groups; the calling thread, which is the client, must be pinned already.
///
/// # Errors
/// If a server cannot be started or breaks off.
pub fn compare(launcher: &Launcher, scope: &Scope, groups: &[Group]) -> io::Result<Table> {
    let mut table = Table::default();
    for group in Group::ALL
        .into_iter()
        .filter(|group| groups.contains(group))
    {
        match group {
            Group::Speed => speed::measure(launcher, scope, &mut table)?,
            Group::Memory => memory::measure(launcher, scope, &mut table)?,
            Group::Hits => hit_ratio::measure(launcher, scope, &mut table)?,
            Group::Growth => growth::measure(launcher, scope, &mut table)?,
            Group::Idle => idle::measure(launcher, scope, &mut table)?,
            Group::Busy => busy::measure(launcher, scope, &mut table)?,
            Group::Cost => cost::measure(launcher, scope, &mut table)?,
            Group::Engine => engine_row::measure(&mut table)?,
            Group::Tier => tier::measure(launcher, scope, &mut table)?,
        }
    }
    Ok(table)
}

/// The plan that all measurements of a server start from.
pub fn plan(target: Target) -> Plan {
    Plan {
        target,
        ..Plan::default()
    }
}

/// Both sides, in the order of this turn: the one that went second goes first the next time.
fn in_turn<T>(sides: &[T], turn: usize) -> impl Iterator<Item = &T> {
    let (head, tail) = sides.split_at(turn % 2 * (sides.len() - 1));
    tail.iter().chain(head)
}

/// What a run has given, and the server's processor time meanwhile as a share of the time it took.
fn with_cpu_share<T>(
    server: &ServerProcess,
    run: impl FnOnce() -> io::Result<T>,
) -> io::Result<(T, f64)> {
    let (before_ns, start) = (server.cpu_ns()?, Instant::now());
    let result = run()?;
    let cpu_ns = server.cpu_ns()? - before_ns;
    let share = cpu_ns as f64 / start.elapsed().as_nanos() as f64;
    Ok((result, share))
}
