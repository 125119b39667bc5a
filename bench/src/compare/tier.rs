//! More data than memory: farcached with its SSD tier and memcached with extstore, and what the device itself can do.

use super::table::{Row, Table, Wanted, median};
use super::{Scope, plan};
use crate::control::Control;
use crate::host_memory;
use crate::hybrid::device_limit::{self, DeviceLimit};
use crate::load::blocking;
use crate::load::closed_loop::ClosedLoop;
use crate::load::connection::Connection;
use crate::load::keys::{KeyId, KeyPicker};
use crate::load::measurement::Summary;
use crate::load::open_loop::Schedule;
use crate::load::run_limits::RunLimits;
use crate::load::runner::{Pace, Plan};
use crate::load::values::ValueSizes;
use crate::load::workload::{Mix, Workload};
use crate::server_process::{Launcher, Product, ServerProcess};
use rustix::fs::Advice;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Memory of each server, in MiB.
const MEMORY_MEBIBYTES: u64 = 256;
/// What a server takes of the machine's memory at most, its part of the page cache included.
const HOST_MEMORY_BYTES: usize = 1 << 30;
/// Bytes of an item beside its value, roughly.
const ITEM_OVERHEAD_BYTES: u64 = 64;
/// Sizes of the values, in bytes.
const VALUE_BYTES: [usize; 2] = [4 << 10, 16 << 10];
/// Room on the SSD, in sizes of the data.
const ROOM: u64 = 2;
/// Share of the SSD that is alive while items are overwritten.
const LIVE_SHARE: f64 = 0.75;
/// Share of memory that holds items: the rest is kept free for those that come, and the index.
const MEMORY_SHARE: f64 = 0.9;
/// What the device's own limits are measured with.
const DEVICE_BYTES: u64 = 512 << 20;
const DEVICE_TIME: Duration = Duration::from_secs(1);
/// Which items are read from the SSD, as shares of all: each once, so that none returns to memory. Those stored before
/// them are lost to memcached, which does not wait for extstore; those stored after them are in memory.
const FROM_SSD: (f64, f64) = (0.25, 0.33);
/// What the page cache reads ahead at most: one item in so many bytes is read alone, so that none is there already.
const READ_AHEAD_BYTES: usize = 128 << 10;
/// Share of these that must be there, or the figures are about misses.
const FOUND_MIN: f64 = 0.9;
/// Gets of items in memory a second, and how many of them in each window. Windows without and with reads from the
/// SSD take turns, and the median of each kind counts: a virtual machine stops for milliseconds now and then, which
/// no server can help.
const MEMORY_GETS_PER_S: f64 = 5_000.0;
const MEMORY_GETS: u64 = 1_000;
const MEMORY_WINDOWS: KeyId = 9;
/// Share of the items that is on the SSD, at least, with four times as much data as memory.
const ON_SSD: f64 = 2.0 / 3.0;
/// The last items stored are in memory.
const MEMORY_KEYS: KeyId = 1000;
const OUTSTANDING: usize = 32;

/// Measures the tier's rows.
///
/// # Errors
/// If a server cannot be started or breaks off, or the directory cannot be written.
pub fn measure(launcher: &Launcher, scope: &Scope, table: &mut Table) -> io::Result<()> {
    let directory = Directory::make(&scope.ssd)?;
    for round in 0..scope.rounds {
        let device = device_limit::measure(&directory.path, DEVICE_BYTES, DEVICE_TIME)?;
        add_device(&device, table);
        for &product in &scope.products {
            eprintln!(
                "tier, round {} of {}: {}",
                round + 1,
                scope.rounds,
                product.name()
            );
            for value_bytes in VALUE_BYTES {
                let subject = Subject::new(launcher, &directory.path, product, value_bytes);
                subject.spilled_by_half(&device, table)?;
                subject.memory_beside_ssd(table)?;
            }
            let subject = Subject::new(launcher, &directory.path, product, VALUE_BYTES[0]);
            subject.spilled_four_times(table)?;
            subject.overwriting(table)?;
        }
    }
    Ok(())
}

/// The directory of the SSD's files, removed in the end.
struct Directory {
    path: PathBuf,
}

impl Directory {
    fn make(parent: &Path) -> io::Result<Self> {
        let path = parent.join("farcache-compare-ssd");
        std::fs::create_dir_all(&path)?;
        // The servers may run as another user.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777))?;
        Ok(Directory { path })
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What cannot be removed does no harm.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn add_device(device: &DeviceLimit, table: &mut Table) {
    let rows = [
        (
            "device: sequential write",
            "MB/s",
            device.write_megabytes_per_s,
        ),
        ("device: 4 KB read, p50", "us", device.read_latency_us.p50),
        (
            "device: 4 KB reads, 32 at a time",
            "k/s",
            device.reads_per_s / 1e3,
        ),
    ];
    for (title, unit, figure) in rows {
        let row = Row::new(title, unit, Wanted::Nothing);
        table.add(&row, Product::Farcached, figure);
    }
}

/// A server under test with values of one size.
struct Subject<'l> {
    launcher: &'l Launcher,
    file: PathBuf,
    product: Product,
    value_bytes: usize,
}

impl<'l> Subject<'l> {
    fn new(launcher: &'l Launcher, directory: &Path, product: Product, value_bytes: usize) -> Self {
        Subject {
            launcher,
            file: directory.join(product.name()),
            product,
            value_bytes,
        }
    }

    /// Keys whose items fill the memory so many times.
    fn keys(&self, spill_factor: f64) -> KeyId {
        let item_bytes = self.value_bytes as u64 + ITEM_OVERHEAD_BYTES;
        (((MEMORY_MEBIBYTES << 20) / item_bytes) as f64 * spill_factor) as KeyId
    }

    fn start(&self, ssd_mebibytes: u64) -> io::Result<ServerProcess> {
        // It need not be there.
        let _ = std::fs::remove_file(&self.file);
        host_memory::take_and_give_back(HOST_MEMORY_BYTES);
        let (memory, file) = (MEMORY_MEBIBYTES.to_string(), self.file.display());
        let tier = match self.product {
            Product::Farcached => ["--ssd".to_owned(), format!("{file}:{ssd_mebibytes}m")],
            Product::Memcached => {
                let pages = format!("ext_page_size=8,ext_path={file}:{ssd_mebibytes}m");
                ["-o".to_owned(), pages]
            }
        };
        self.launcher
            .start(self.product, &["-m", &memory, &tier[0], &tier[1]])
    }

    fn plan(&self, server: &ServerProcess, keys: KeyId) -> Plan {
        Plan {
            keys,
            values: ValueSizes::fixed(self.value_bytes),
            verify: true,
            ..plan(server.target())
        }
    }

    fn add(&self, table: &mut Table, title: &str, unit: &'static str, wanted: Wanted, figure: f64) {
        table.add(&Row::new(title, unit, wanted), self.product, figure);
    }

    /// 1.5 times as much data as memory.
    fn spilled_by_half(&self, device: &DeviceLimit, table: &mut Table) -> io::Result<()> {
        let server = self.start(MEMORY_MEBIBYTES * 3 / 2 * ROOM)?;
        let plan = self.plan(&server, self.keys(1.5));
        let size = self.value_bytes >> 10;
        let megabytes = f64::from(plan.keys) * self.value_bytes as f64 / 1e6;
        let loaded = plan.preload()?;
        let (rate, load) = (
            megabytes / loaded.seconds,
            format!("load, {size} KB values"),
        );
        self.add(table, &load, "MB/s", Wanted::RatioAtLeast(1.0), rate);
        self.read_from_ssd(&plan, device, table)?;
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
        let title = format!(
            "write-out at a stop over the device's, {} KB values",
            self.value_bytes >> 10
        );
        self.add(table, &title, "", Wanted::AtLeast(0.8), share);
        Ok(())
    }

    /// Items on the SSD, each read once.
    fn read_from_ssd(
        &self,
        plan: &Plan,
        device: &DeviceLimit,
        table: &mut Table,
    ) -> io::Result<()> {
        self.empty_page_cache()?;
        let [first, end] =
            [FROM_SSD.0, FROM_SSD.1].map(|share| (f64::from(plan.keys) * share) as KeyId);
        let step = (READ_AHEAD_BYTES / self.value_bytes) as KeyId;
        let limits = RunLimits::requests(u64::from((end - first) / step));
        let mut connection = Connection::new(plan.target.connect()?, plan.scanner());
        let mut workload = each_once(plan, first, end, step);
        let (_, summary) = blocking::run(&mut connection, &mut workload, 1, limits)?;
        if summary.hit_ratio < FOUND_MIN {
            eprintln!("{}: most items are lost", self.product.name());
            return Ok(());
        }
        let size = self.value_bytes >> 10;
        let title = format!("GET from the SSD, one at a time, {size} KB, p50");
        let wanted = Wanted::RatioAtMost(1.0);
        self.add(table, &title, "us", wanted, summary.latency_us.p50);
        let limits = RunLimits::requests(u64::from(end - first));
        let workload = each_once(plan, first, end, 1);
        let summary = finish(ClosedLoop::start(
            plan.fleet(OUTSTANDING)?,
            workload,
            1,
            limits,
        )?)?;
        let wanted = match size {
            4 => Wanted::AtLeast((0.7 * device.reads_per_s / 1e3).round()),
            _ => Wanted::Nothing,
        };
        let title = format!("GETs from the SSD, 32 outstanding, {size} KB");
        self.add(table, &title, "k/s", wanted, summary.requests_per_s / 1e3);
        Ok(())
    }

    /// What is read from now on comes from the device: memcached reads and writes through the page cache.
    fn empty_page_cache(&self) -> io::Result<()> {
        let file = std::fs::File::open(&self.file)?;
        file.sync_data()?;
        Ok(rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?)
    }

    /// Latency of items in memory, without and with reads from the SSD beside them. So much lies there that each item
    /// is read once.
    fn memory_beside_ssd(&self, table: &mut Table) -> io::Result<()> {
        let server = self.start(MEMORY_MEBIBYTES * 4 * ROOM)?;
        let plan = self.plan(&server, self.keys(4.0));
        plan.preload()?;
        let hot = Plan {
            limits: RunLimits::requests(MEMORY_GETS),
            keys: MEMORY_KEYS,
            ..plan.clone()
        };
        // Stored again, they are in memory.
        hot.store(0, MEMORY_KEYS)?;
        // The client has one core for both: it does not compare what comes from the SSD here.
        let beside = Plan {
            verify: false,
            ..plan.clone()
        };
        let in_window = (f64::from(plan.keys) * ON_SSD) as KeyId / MEMORY_WINDOWS;
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for window in 0..MEMORY_WINDOWS {
            without.push(memory_p99(&hot, None)?);
            let first = MEMORY_KEYS + window * in_window;
            let reads = each_once(&beside, first, first + in_window, 1);
            let endless = RunLimits::requests(u64::MAX);
            let reading = ClosedLoop::start(beside.fleet(OUTSTANDING / 4)?, reads, 1, endless)?;
            with.push(memory_p99(&hot, Some(reading))?);
        }
        let title = format!(
            "memory hits beside SSD reads over alone, p99, {} KB",
            self.value_bytes >> 10
        );
        let (without, with) = (median(without), median(with));
        if let (Some(without), Some(with)) = (without, with) {
            self.add(table, &title, "", Wanted::AtMost(1.3), with / without);
        }
        server.stop().map(drop)
    }

    /// Four times as much data as memory, some of it popular.
    fn spilled_four_times(&self, table: &mut Table) -> io::Result<()> {
        let server = self.start(MEMORY_MEBIBYTES * 4 * ROOM)?;
        let plan = Plan {
            zipf: Some(0.99),
            pace: Pace::Blocking,
            limits: RunLimits::requests(100_000),
            ..self.plan(&server, self.keys(4.0))
        };
        plan.preload()?;
        let summary = plan.run()?;
        let wanted = Wanted::RatioAtMost(1.0);
        self.add(
            table,
            "spill 4, zipf 0.99: mean GET",
            "us",
            wanted,
            summary.latency_us.mean,
        );
        let found = summary.hit_ratio * 100.0;
        self.add(
            table,
            "spill 4, zipf 0.99: success rate",
            "%",
            Wanted::AtLeast(100.0),
            found,
        );
        server.stop().map(drop)
    }

    /// Overwrites items in random order while so much of the SSD is alive.
    fn overwriting(&self, table: &mut Table) -> io::Result<()> {
        if self.product != Product::Farcached {
            return Ok(());
        }
        let data_mebibytes = MEMORY_MEBIBYTES * 3;
        let on_ssd = data_mebibytes as f64 - MEMORY_MEBIBYTES as f64 * MEMORY_SHARE;
        let server = self.start((on_ssd / LIVE_SHARE) as u64)?;
        let plan = self.plan(&server, self.keys(3.0));
        plan.preload()?;
        let figures = |name| tier_stat(&server, name);
        for zipf in [Some(0.99), None] {
            let (written, from_memory) = (figures("bytes_written")?, figures("bytes_from_memory")?);
            let overwriting = Plan {
                mix: Mix {
                    set_ratio: 1.0,
                    multi_get_keys: 1,
                },
                zipf,
                depth: 16,
                limits: RunLimits::requests(u64::from(plan.keys)),
                ..plan.clone()
            };
            overwriting.run()?;
            let written = figures("bytes_written")? - written;
            let from_memory = figures("bytes_from_memory")? - from_memory;
            let how = if zipf.is_some() {
                "zipf 0.99"
            } else {
                "then uniform"
            };
            let title = format!("write amplification, 75 % alive, {how}");
            let figure = written / from_memory.max(1.0);
            self.add(table, &title, "", Wanted::AtMost(1.3), figure);
            let stored = f64::from(plan.keys) * self.value_bytes as f64;
            let title = format!("bytes written per byte stored, 75 % alive, {how}");
            self.add(table, &title, "", Wanted::Nothing, written / stored);
        }
        server.stop().map(drop)
    }
}

/// Gets of every `step`th key from `first` to before `end`, each once.
fn each_once(plan: &Plan, first: KeyId, end: KeyId, step: KeyId) -> Workload {
    let picker = KeyPicker::Scattered {
        first,
        keys: (end - first) / step,
        step,
        chosen: 0,
    };
    Workload::new(plan.renderer(), picker, plan.mix, plan.seed)
}

/// The 99th percentile of gets at a fixed rate, in microseconds.
fn memory_p99(hot: &Plan, mut beside: Option<ClosedLoop>) -> io::Result<f64> {
    let mut probing = hot.probing(Schedule::even(MEMORY_GETS_PER_S))?;
    while probing.turn()? {
        if let Some(reading) = &mut beside {
            reading.turn()?;
        }
    }
    Ok(probing.finish()?.1.latency_us.p99)
}

fn finish(mut run: ClosedLoop) -> io::Result<Summary> {
    while run.turn()? {}
    Ok(run.finish().1)
}

fn tier_stat(server: &ServerProcess, name: &str) -> io::Result<f64> {
    let stats = Control::connect(&server.target())?.stats("tier")?;
    let value = stats.get(name).and_then(|value| value.parse().ok());
    value.ok_or_else(|| io::Error::other(format!("no number in stats tier: {name}")))
}
