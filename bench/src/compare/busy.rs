//! Requests a second and latencies where others want the same cores, and where a quota limits the
//! server.
//!
//! Who polls does well on a core of its own, and badly beside threads that never sleep; so this is
//! measured with clients that poll and with clients that sleep, and over the fabric, where both
//! ends poll.

use super::table::{Row, Table, Wanted};
use super::{Scope, WARMUP_SHARE, in_turn, plan};
use crate::busy_loops::BusyLoops;
use crate::load::measurement::Summary;
use crate::load::runner::Plan;
use crate::ohb::client::{ClientSession, Transport};
use crate::ohb::items::Items;
use crate::ohb::latency::{self, Extent};
use crate::ohb::report::LatencyRow;
use crate::ohb::session::Benchmark;
use crate::quota::Quota;
use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use std::io;
use std::time::Duration;

/// Busy loops on the two cores.
const LOOPS: [usize; 3] = [1, 2, 4];

/// Connections.
const CONNECTIONS: [usize; 3] = [1, 8, 50];

/// Quotas, in cores: what the servers need for the load, and much less.
const QUOTAS: [f64; 2] = [0.8, 0.3];

/// Small values that are stored before the measurements: few, as the caches are not what is
/// measured.
const KEYS: u32 = 10_000;

/// Sizes over the fabric and by the client library over sockets, in bytes.
const VALUE_BYTES: usize = 64;
const KEY_BYTES: usize = 16;

/// Who can share memory with this process, where that is root: the fabric within a host needs it.
const OWN_USER: &str = "root";

/// A server with its data.
struct Side {
    product: Product,
    server: ServerProcess,
}

/// What is asked of both servers in turn.
struct Case {
    title: String,
    connections: usize,
    spin: bool,
}

/// Measures the rows of busy cores, the servers taking short turns.
///
/// # Errors
/// If a server or a busy loop cannot be started, or a server breaks off.
pub fn measure(launcher: &Launcher, scope: &Scope, table: &mut Table) -> io::Result<()> {
    let sides = start(launcher, scope)?;
    let mut fabric = FabricSide::start(launcher, scope)?;
    for count in LOOPS {
        let _loops = BusyLoops::start(count, &scope.cores)?;
        let what = format!("{count} busy loop{}", if count == 1 { "" } else { "s" });
        take_turns(&sides, &cases(&what), scope, table)?;
        if let Some(fabric) = &mut fabric {
            fabric.take_turns(&what, scope, table)?;
        }
    }
    drop((sides, fabric));
    for cores in QUOTAS {
        measure_quota(launcher, cores, scope, table)?;
    }
    Ok(())
}

fn start(launcher: &Launcher, scope: &Scope) -> io::Result<Vec<Side>> {
    let start_one = |&product: &Product| {
        let server = launcher.start(product, &["-m", "64"])?;
        let keys = KEYS;
        let preload = Plan {
            keys,
            ..plan(server.target())
        };
        preload.preload()?;
        Ok(Side { product, server })
    };
    scope.products.iter().map(start_one).collect()
}

fn cases(what: &str) -> Vec<Case> {
    let kinds = [(true, "polling"), (false, "sleeping")];
    let case = |connections: usize, (spin, name): (bool, &str)| Case {
        title: format!("{what}, {name} client, {connections} conn."),
        connections,
        spin,
    };
    let of_count = |connections| kinds.map(|kind| case(connections, kind));
    CONNECTIONS.into_iter().flat_map(of_count).collect()
}

fn take_turns(sides: &[Side], cases: &[Case], scope: &Scope, table: &mut Table) -> io::Result<()> {
    for turn in 0..scope.turns {
        eprintln!("{}, turn {} of {}", cases[0].title, turn + 1, scope.turns);
        for (index, case) in cases.iter().enumerate() {
            for side in in_turn(sides, turn + index) {
                let summary = case.plan(&side.server, scope).run()?;
                case.add(&summary.checked(&case.title)?, side.product, table);
            }
        }
    }
    Ok(())
}

impl Case {
    fn plan(&self, server: &ServerProcess, scope: &Scope) -> Plan {
        Plan {
            connections: self.connections,
            spin: self.spin,
            keys: KEYS,
            limits: scope.limits(),
            ..plan(server.target())
        }
    }

    fn add(&self, summary: &Summary, product: Product, table: &mut Table) {
        let rate = Row::new(&self.title, "k/s", Wanted::RatioAtLeast(1.0));
        let title = format!("{}, p50", self.title);
        let p50 = Row::new(title, "us", Wanted::RatioAtMost(1.0));
        table.add(&rate, product, summary.requests_per_s / 1e3);
        table.add(&p50, product, summary.latency_us.p50);
    }
}

/// A server whose fabric is compared with its own sockets, by the client library.
struct FabricSide {
    items: Items,
    over_fabric: ClientSession,
    over_sockets: ClientSession,
    _server: ServerProcess,
}

impl FabricSide {
    /// None where only memcached is measured.
    fn start(launcher: &Launcher, scope: &Scope) -> io::Result<Option<FabricSide>> {
        if !scope.products.contains(&Product::Farcached) {
            return Ok(None);
        }
        let launcher = Launcher {
            user: OWN_USER.into(),
            ..launcher.clone()
        };
        let server = launcher.start(Product::Farcached, &["-m", "64"])?;
        let servers = server.address().to_string();
        let open = |transport: Transport| {
            let mut session = ClientSession::open(&servers, transport.name())?;
            session.connect()?;
            Ok::<_, io::Error>(session)
        };
        let mut over_sockets = open(Transport::Tcp)?;
        let items = Items::new(VALUE_BYTES, KEY_BYTES, None, true);
        items.store(&mut over_sockets)?;
        Ok(Some(FabricSide {
            items,
            over_fabric: open(Transport::Fabric)?,
            over_sockets,
            _server: server,
        }))
    }

    fn take_turns(&mut self, what: &str, scope: &Scope, table: &mut Table) -> io::Result<()> {
        let extent = Extent {
            iterations: u64::MAX,
            warmup: u64::MAX,
            time_max: Duration::from_secs_f64(scope.seconds),
            warmup_time_max: Duration::from_secs_f64(scope.seconds * WARMUP_SHARE),
        };
        for turn in 0..scope.turns {
            let run = |session| latency::measure(session, &self.items, Benchmark::Get, extent);
            // Whoever went second goes first the next time.
            let (sockets, fabric) = match turn % 2 {
                0 => (run(&mut self.over_sockets)?, run(&mut self.over_fabric)?),
                _ => {
                    let fabric = run(&mut self.over_fabric)?;
                    (run(&mut self.over_sockets)?, fabric)
                }
            };
            add_fabric(what, &sockets, &fabric, table);
        }
        Ok(())
    }
}

fn add_fabric(what: &str, sockets: &LatencyRow, fabric: &LatencyRow, table: &mut Table) {
    let mut add = |title: &str, unit, wanted, figure| {
        let row = Row::new(format!("{what}, client library, {title}"), unit, wanted);
        table.add(&row, Product::Farcached, figure);
    };
    let (rates, p50s) = (
        [sockets.operations_per_s, fabric.operations_per_s],
        [sockets.latency_us.p50, fabric.latency_us.p50],
    );
    add("sockets", "k/s", Wanted::Nothing, rates[0] / 1e3);
    add("fabric", "k/s", Wanted::Nothing, rates[1] / 1e3);
    add(
        "fabric over sockets",
        "x",
        Wanted::AtLeast(1.0),
        rates[1] / rates[0],
    );
    add("sockets, p50", "us", Wanted::Nothing, p50s[0]);
    add("fabric, p50", "us", Wanted::Nothing, p50s[1]);
    add(
        "fabric over sockets, p50",
        "x",
        Wanted::AtMost(1.0),
        p50s[1] / p50s[0],
    );
}

/// Measures servers that have so much of a core, each by itself.
fn measure_quota(
    launcher: &Launcher,
    cores: f64,
    scope: &Scope,
    table: &mut Table,
) -> io::Result<()> {
    // A group can be removed when its server has ended.
    let mut quotas = Vec::with_capacity(scope.products.len());
    let sides = start(launcher, scope)?;
    for side in &sides {
        let quota = Quota::new(side.product.name(), cores);
        let limited = quota.and_then(|quota| quota.add(side.server.id()).map(|()| quota));
        match limited {
            Ok(quota) => quotas.push(quota),
            Err(error) => {
                eprintln!("no quota of processor time can be given here: {error}");
                return Ok(());
            }
        }
    }
    let what = format!("quota of {cores} cores");
    take_turns(&sides, &cases(&what), scope, table)
}
