//! Gets from the SSD, in short turns with reads of the device itself: both drift on a shared
//! machine, and what lies within a second of each other has seen the same one.

use super::beside;
use super::fabric::FabricReader;
use super::subject::{MEMORY_MEBIBYTES, ROOM, Subject, tier_stat};
use crate::compare::table::{Row, Table, Wanted};
use crate::hybrid::device_limit::PageReader;
use crate::load::blocking;
use crate::load::closed_loop::{self, ClosedLoop};
use crate::load::connection::Connection;
use crate::load::keys::{KeyId, KeyPicker};
use crate::load::run_limits::RunLimits;
use crate::load::runner::Plan;
use crate::load::workload::Workload;
use farcache_harness::server_process::{Product, ServerProcess};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::io;
use std::time::{Duration, Instant};

/// Data over memory.
const SPILL_FACTOR: f64 = 4.0;
/// Which items are on the SSD for sure, as shares of all, in the order of storing.
const ON_SSD: (f64, f64) = (0.02, 0.65);
/// The last items stored are in memory.
pub const MEMORY_KEYS: KeyId = 1000;
/// Gets under way.
const OUTSTANDING: usize = 32;
/// Bytes of values read in a turn with many under way, and gets in a turn with one.
const TURN_BYTES: usize = 16 << 20;
const TURN_SINGLES: u64 = 150;
/// Part of a turn with many under way that warms up.
const WARM_UP_PART: usize = 10;
/// How long the device itself is read, with many under way and with one.
const DEVICE_TOGETHER: Duration = Duration::from_millis(100);
const DEVICE_ALONE: Duration = Duration::from_millis(20);
/// memcached drops what extstore cannot take at once, so everybody stores no faster than so many
/// bytes a second.
const STORED_BYTES_PER_S: f64 = 100e6;
/// What is stored between two pauses, in bytes.
const STORED_BYTES: usize = 256 << 10;
/// Share of the items that must be there, or the figures are about misses.
pub const FOUND_MIN: f64 = 0.9;
/// What a get from the SSD may take beyond a read of the device and a get from memory, in
/// microseconds.
const BEYOND_US_MAX: f64 = 12.0;
/// Part of the device's reads that gets should reach.
const DEVICE_PART_MIN: f64 = 0.7;

/// Items on the SSD, in scattered order. All are read before the first one is read again: by then
/// so much has been read that it does not count as popular, and stays where it is.
#[derive(Clone, Debug)]
pub struct Cursor(KeyPicker);

impl Cursor {
    fn new(keys: KeyId) -> Self {
        let [first, end] = [ON_SSD.0, ON_SSD.1].map(|share| (f64::from(keys) * share) as KeyId);
        Cursor(KeyPicker::Scattered {
            first,
            keys: end - first,
            step: 1,
            chosen: 0,
        })
    }

    /// The next item.
    pub fn next(&mut self) -> KeyId {
        // The order is fixed.
        self.0.pick(&mut SmallRng::seed_from_u64(0))
    }

    /// Gets of the next items, which are passed.
    pub fn workload(&mut self, plan: &Plan, count: u64) -> Workload {
        let workload = Workload::new(plan.renderer(), self.0, plan.mix, plan.seed);
        self.pass(count);
        workload
    }

    /// So many items have been read.
    pub fn pass(&mut self, count: u64) {
        (0..count).for_each(|_| _ = self.next());
    }
}

/// How the client of one connection waits. A core of a virtual machine that sleeps stops, and takes
/// its time to go on, the longer it has slept.
#[derive(Clone, Copy)]
enum Client {
    Sleeping,
    Spinning,
}

impl Client {
    fn title(self) -> &'static str {
        match self {
            Client::Sleeping => "one at a time",
            Client::Spinning => "one at a time, spinning client",
        }
    }
}

/// A server with its data.
pub struct Side<'l> {
    pub subject: Subject<'l>,
    pub server: ServerProcess,
    pub plan: Plan,
    pub cursor: Cursor,
    fabric: Option<FabricReader>,
}

/// What is found out of the device and of each server in one turn.
struct Device {
    reader: PageReader,
    alone_us: f64,
    together_per_s: f64,
}

/// Measures the gets of all servers and the device, so many turns of each.
pub fn measure(subjects: Vec<Subject<'_>>, turns: usize, table: &mut Table) -> io::Result<()> {
    let sides = subjects.into_iter().map(Side::start);
    let mut sides = sides.collect::<io::Result<Vec<_>>>()?;
    let mut device = sides
        .iter()
        .find(|side| side.subject.product == Product::Farcached)
        .map(Device::under)
        .transpose()?;
    for turn in 0..turns {
        eprintln!("tier, reads, turn {} of {turns}", turn + 1);
        if let Some(device) = &mut device {
            device.turn()?;
            device.note(sides[0].subject.kibibytes(), table);
        }
        let count = sides.len();
        for step in 0..count {
            // Whoever went second goes first the next time.
            let side = &mut sides[(turn + step) % count];
            side.turn(device.as_ref(), table)?;
            beside::turn(side, turn, table)?;
        }
    }
    sides.into_iter().try_for_each(Side::stop)
}

impl Device {
    /// The device under a server: the part of its file that has been written.
    fn under(side: &Side<'_>) -> io::Result<Self> {
        let written = tier_stat(&side.server, "bytes_live")? as u64;
        let page_bytes = side.subject.value_bytes;
        // The first segment is not one of items.
        let part = 1 << 20..written;
        Ok(Device {
            reader: PageReader::open(&side.subject.file, part, page_bytes)?,
            alone_us: 0.0,
            together_per_s: 0.0,
        })
    }

    fn turn(&mut self) -> io::Result<()> {
        self.alone_us = self.reader.alone(DEVICE_ALONE)?.p50;
        self.together_per_s = self.reader.together(DEVICE_TOGETHER)?;
        Ok(())
    }

    /// So that a reader of the table sees what the others are compared with.
    fn note(&self, size: usize, table: &mut Table) {
        let rows = [
            (
                format!("device: {size} KB read beside, p50"),
                "us",
                self.alone_us,
            ),
            (
                format!("device: {size} KB reads beside, 32 at a time"),
                "k/s",
                self.together_per_s / 1e3,
            ),
        ];
        for (title, unit, figure) in rows {
            table.add(
                &Row::new(title, unit, Wanted::Nothing),
                Product::Farcached,
                figure,
            );
        }
    }
}

impl<'l> Side<'l> {
    fn start(subject: Subject<'l>) -> io::Result<Self> {
        eprintln!(
            "tier, reads, {} KB: storing in {}",
            subject.kibibytes(),
            subject.product.name()
        );
        let server = subject.start((MEMORY_MEBIBYTES as f64 * SPILL_FACTOR) as u64 * ROOM)?;
        let plan = subject.plan(&server, subject.keys(SPILL_FACTOR));
        store_slowly(&plan, subject.value_bytes)?;
        let fabric = match subject.product {
            Product::Farcached => Some(FabricReader::connect(&server, &plan)?),
            Product::Memcached => None,
        };
        Ok(Side {
            cursor: Cursor::new(plan.keys),
            fabric,
            subject,
            server,
            plan,
        })
    }

    fn stop(self) -> io::Result<()> {
        drop(self.fabric);
        self.server.stop().map(drop)
    }

    fn turn(&mut self, device: Option<&Device>, table: &mut Table) -> io::Result<()> {
        self.subject.empty_page_cache()?;
        let reads = self.reads_of_device()?;
        let size = self.subject.kibibytes();
        for client in [Client::Sleeping, Client::Spinning] {
            self.alone_turn(client, device, table)?;
        }
        let tcp = self.tcp_rate()?;
        let fabric = self.fabric_rate()?;
        let rates = [
            ("TCP, 32 connections", tcp),
            ("fabric, 32 under way", fabric),
        ];
        for (how, rate) in rates {
            let Some(rate) = rate else { continue };
            let title = format!("GETs from the SSD, {how}, {size} KB");
            self.subject
                .add(table, &title, "k/s", Wanted::Nothing, rate / 1e3);
            if let (Some(device), Product::Farcached) = (device, self.subject.product) {
                let title = format!("  over the device's reads, {how}, {size} KB");
                let wanted = wanted_of_pages(size, Wanted::AtLeast(DEVICE_PART_MIN));
                self.subject
                    .add(table, &title, "", wanted, rate / device.together_per_s);
            }
        }
        self.check_reads(reads)
    }

    /// One get after the other.
    fn alone_turn(
        &mut self,
        client: Client,
        device: Option<&Device>,
        table: &mut Table,
    ) -> io::Result<()> {
        let Some(alone_us) = self.alone(client, true)? else {
            eprintln!("{}: most items are lost", self.subject.product.name());
            return Ok(());
        };
        let memory_us = self.alone(client, false)?.unwrap_or_default();
        let when = format!("{}, {} KB, p50", client.title(), self.subject.kibibytes());
        let title = format!("GET from the SSD, {when}");
        let wanted = Wanted::RatioAtMost(1.0);
        self.subject.add(table, &title, "us", wanted, alone_us);
        let title = format!("  hit in memory, {when}");
        self.subject
            .add(table, &title, "us", Wanted::Nothing, memory_us);
        if let (Some(device), Product::Farcached) = (device, self.subject.product) {
            let title = format!("  beyond the device's read and a hit, {when}");
            let beyond = alone_us - memory_us - device.alone_us;
            let wanted = wanted_of_pages(self.subject.kibibytes(), Wanted::AtMost(BEYOND_US_MAX));
            self.subject.add(table, &title, "us", wanted, beyond);
        }
        Ok(())
    }

    /// Reads that the server has made so far.
    fn reads_of_device(&self) -> io::Result<f64> {
        match self.subject.product {
            Product::Farcached => tier_stat(&self.server, "reads"),
            Product::Memcached => Ok(0.0),
        }
    }

    /// A figure of gets from the SSD counts only if that is where they came from.
    fn check_reads(&self, before: f64) -> io::Result<()> {
        let many = self.turn_gets() as f64;
        let wanted = FOUND_MIN * (2.0 * many + 2.0 * TURN_SINGLES as f64);
        let reads = self.reads_of_device()? - before;
        if self.subject.product == Product::Farcached && reads < wanted {
            return Err(io::Error::other(format!(
                "only {reads} gets came from the SSD"
            )));
        }
        Ok(())
    }

    fn turn_gets(&self) -> usize {
        TURN_BYTES / self.subject.value_bytes
    }

    /// p50 of one get after the other; none where too little is found.
    fn alone(&mut self, client: Client, is_on_ssd: bool) -> io::Result<Option<f64>> {
        let mut workload = match is_on_ssd {
            true => self.cursor.workload(&self.plan, TURN_SINGLES),
            false => in_memory(&self.plan),
        };
        let limits = RunLimits::requests(TURN_SINGLES);
        let (_, summary) = match client {
            Client::Sleeping => {
                let socket = self.plan.target.connect()?;
                let mut connection = Connection::new(socket, self.plan.scanner());
                blocking::run(&mut connection, &mut workload, 1, limits)?
            }
            Client::Spinning => closed_loop::run(self.plan.fleet(1)?, workload, 1, limits)?,
        };
        Ok((summary.hit_ratio >= FOUND_MIN).then_some(summary.latency_us.p50))
    }

    /// Gets a second over many connections; none where memcached has lost too much.
    fn tcp_rate(&mut self) -> io::Result<Option<f64>> {
        let count = self.turn_gets() as u64;
        let warm_up = RunLimits::requests(count / WARM_UP_PART as u64);
        let fleet = self.plan.fleet(OUTSTANDING)?;
        let workload = self.cursor.workload(&self.plan, warm_up.requests_max);
        let fleet = closed_loop::run_and_keep(fleet, workload, 1, warm_up)?;
        let limits = RunLimits::requests(count - warm_up.requests_max);
        let workload = self.cursor.workload(&self.plan, limits.requests_max);
        let mut run = ClosedLoop::start(fleet, workload, 1, limits)?;
        while run.turn()? {}
        let summary = run.finish().1;
        let is_found = summary.hit_ratio >= FOUND_MIN && summary.counts.errors == 0;
        if !is_found && self.subject.product == Product::Farcached {
            return Err(io::Error::other("items on the SSD are missing"));
        }
        Ok(is_found.then_some(summary.requests_per_s))
    }

    fn fabric_rate(&mut self) -> io::Result<Option<f64>> {
        let count = self.turn_gets();
        let warm_up = count / WARM_UP_PART;
        let Some(fabric) = &mut self.fabric else {
            return Ok(None);
        };
        let rate = fabric.rate(&mut self.cursor, OUTSTANDING, warm_up, count - warm_up)?;
        Ok(Some(rate))
    }
}

/// What is wanted is said for values of a page.
fn wanted_of_pages(kibibytes: usize, wanted: Wanted) -> Wanted {
    match kibibytes {
        4 => wanted,
        _ => Wanted::Nothing,
    }
}

/// Gets of items in memory.
pub fn in_memory(plan: &Plan) -> Workload {
    let picker = KeyPicker::Scattered {
        first: plan.keys - MEMORY_KEYS,
        keys: MEMORY_KEYS,
        step: 1,
        chosen: 0,
    };
    Workload::new(plan.renderer(), picker, plan.mix, plan.seed)
}

fn store_slowly(plan: &Plan, value_bytes: usize) -> io::Result<()> {
    let start = Instant::now();
    let together = (STORED_BYTES / value_bytes) as KeyId;
    for first in (0..plan.keys).step_by(together as usize) {
        plan.store(first, together.min(plan.keys - first))?;
        let due = f64::from(first) * value_bytes as f64 / STORED_BYTES_PER_S;
        let rest = Duration::from_secs_f64(due).saturating_sub(start.elapsed());
        std::thread::sleep(rest);
    }
    Ok(())
}
