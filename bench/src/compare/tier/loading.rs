//! Storing more than memory holds, finding all of it, and stopping.

use super::subject::{ITEM_OVERHEAD_BYTES, MEMORY_MEBIBYTES, ROOM, Subject, tier_stat};
use crate::compare::table::{Table, Wanted};
use crate::hybrid::device_limit::DeviceLimit;
use crate::load::keys::KeyId;
use crate::load::run_limits::RunLimits;
use crate::load::runner::{Pace, Plan};
use crate::server_process::{Product, ServerProcess};
use std::io;
use std::time::Instant;

/// Times that a server is filled anew, beside the first one, which does not count: that meets memory that the system has
/// given nobody before, and takes longer.
const LOADS: usize = 3;

impl Subject<'_> {
    /// 1.5 times as much data as memory.
    pub fn spilled_by_half(&self, device: &DeviceLimit, table: &mut Table) -> io::Result<()> {
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
        let keys = uniform.keys;
        let found = uniform.run()?.hit_ratio * 100.0;
        let title = format!("success rate, 1.5 times memory, uniform, {size} KB");
        self.add(table, &title, "%", Wanted::AtLeast(100.0), found);
        self.stop(server, keys, device, table)
    }

    /// A server into which 1.5 times as much as memory holds has been stored, what was stored, and how fast, in MB/s.
    fn load(&self) -> io::Result<(ServerProcess, Plan, f64)> {
        let server = self.start(MEMORY_MEBIBYTES * 3 / 2 * ROOM)?;
        let plan = self.plan(&server, self.keys(1.5));
        let megabytes = f64::from(plan.keys) * self.value_bytes as f64 / 1e6;
        let seconds = plan.preload()?.seconds;
        Ok((server, plan, megabytes / seconds))
    }

    /// An orderly stop, which writes what is in memory only, over what the device can write in that time. (While items
    /// are stored the device waits for the core that the server is pinned to.)
    fn stop(
        &self,
        server: ServerProcess,
        keys: KeyId,
        device: &DeviceLimit,
        table: &mut Table,
    ) -> io::Result<()> {
        if self.product != Product::Farcached {
            return server.stop().map(drop);
        }
        let item_bytes = (self.value_bytes as u64 + ITEM_OVERHEAD_BYTES) as f64;
        let written = tier_stat(&server, "bytes_live")?;
        let megabytes = (f64::from(keys) * item_bytes - written) / 1e6;
        let started = Instant::now();
        server.stop()?;
        let share = megabytes / started.elapsed().as_secs_f64() / device.write_megabytes_per_s;
        let size = self.kibibytes();
        let title = format!("write-out at a stop over the device's, {size} KB values");
        self.add(table, &title, "", Wanted::AtLeast(0.8), share);
        Ok(())
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
