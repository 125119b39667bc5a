//! Storing more than memory holds, and finding all of it.

use super::subject::{MEMORY_MEBIBYTES, ROOM, Subject};
use crate::compare::table::{Table, Wanted};
use crate::load::run_limits::RunLimits;
use crate::load::runner::{Pace, Plan};
use farcache_harness::server_process::ServerProcess;
use std::io;

/// Times that a server is filled anew, beside the first one, which does not count: that meets
/// memory that the system has given nobody before, and takes longer.
const LOADS: usize = 3;

impl Subject<'_> {
    /// 1.5 times as much data as memory.
    pub fn spilled_by_half(&self, table: &mut Table) -> io::Result<()> {
        let size = self.kibibytes();
        let load = format!("load, {size} KB values");
        let wanted = Wanted::RatioAtLeast(1.0);
        let (first, ..) = self.load()?;
        first.stop()?;
        for _ in 1..LOADS {
            let (server, _, rate) = self.load()?;
            self.add(table, &load, "MB/s", wanted, rate);
            server.stop()?;
        }
        let (server, plan, rate) = self.load()?;
        self.add(table, &load, "MB/s", wanted, rate);
        let uniform = Plan {
            pace: Pace::Closed,
            limits: RunLimits::requests(u64::from(plan.keys)),
            ..plan
        };
        let found = uniform.run()?.hit_ratio * 100.0;
        let title = format!("success rate, 1.5 times memory, uniform, {size} KB");
        self.add(table, &title, "%", Wanted::AtLeast(100.0), found);
        server.stop().map(drop)
    }

    /// A server into which 1.5 times as much as memory holds has been stored, what was stored, and
    /// how fast, in MB/s.
    fn load(&self) -> io::Result<(ServerProcess, Plan, f64)> {
        let server = self.start(MEMORY_MEBIBYTES * 3 / 2 * ROOM)?;
        let plan = self.plan(&server, self.keys(1.5));
        let megabytes = f64::from(plan.keys) * self.value_bytes as f64 / 1e6;
        let seconds = plan.preload()?.seconds;
        Ok((server, plan, megabytes / seconds))
    }

    /// Four times as much data as memory, some of it popular.
    pub fn spilled_four_times(&self, table: &mut Table) -> io::Result<()> {
        let server = self.start(MEMORY_MEBIBYTES * 4 * ROOM)?;
        let plan = Plan {
            zipf: Some(0.99),
            pace: Pace::Blocking,
            limits: RunLimits::requests(100_000),
            ..self.plan(&server, self.keys(4.0))
        };
        plan.preload()?;
        let summary = plan.run()?;
        let (mean, found) = (summary.latency_us.mean, summary.hit_ratio * 100.0);
        let title = "spill 4, zipf 0.99: mean GET";
        self.add(table, title, "us", Wanted::RatioAtMost(1.0), mean);
        let title = "spill 4, zipf 0.99: success rate";
        self.add(table, title, "%", Wanted::AtLeast(100.0), found);
        server.stop().map(drop)
    }
}
