//! More data than memory: farcached with its SSD tier and memcached with extstore, and what the
//! device itself can do.

mod beside;
mod fabric;
mod loading;
mod overwriting;
mod reading;
mod subject;
mod write_out;

use super::Scope;
use super::table::{Row, Table, Wanted};
use crate::hybrid::device_limit::{self, DeviceLimit};
use farcache_harness::server_process::{Launcher, Product};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use subject::Subject;

/// Size of the values, in bytes, where popular ones are read from four times as much data as
/// memory.
const POPULAR_BYTES: usize = 4 << 10;
/// What the device's own limits are measured with.
const DEVICE_BYTES: u64 = 512 << 20;
const DEVICE_TIME: Duration = Duration::from_secs(1);

/// A part of the tier's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Storing more than memory holds, and finding all of it.
    Load,
    /// What is written to the SSD a second, while items are stored and at an orderly stop, in turns
    /// with writing to the device itself.
    WriteOut,
    /// Gets from the SSD, in turns with reads of the device itself, and hits in memory beside them.
    Reads,
    /// What is written to the SSD while items are overwritten.
    Overwriting,
}

impl Part {
    /// Every part.
    pub const ALL: [Part; 4] = [Part::Load, Part::WriteOut, Part::Reads, Part::Overwriting];
}

impl Scope {
    /// Sizes of the values, in bytes.
    fn value_bytes(&self) -> impl Iterator<Item = usize> {
        self.tier_values.iter().map(|&size| usize::from(size) << 10)
    }
}

/// Measures the tier's rows.
///
/// # Errors
/// If a server cannot be started or breaks off, or the directory cannot be written.
pub fn measure(launcher: &Launcher, scope: &Scope, table: &mut Table) -> io::Result<()> {
    let directory = Directory::make(&scope.ssd)?;
    // Clients of the fabric share the servers' memory, so they run as the same user.
    let launcher = Launcher {
        user: "root".into(),
        ..launcher.clone()
    };
    let fixture = Fixture {
        launcher: &launcher,
        directory: &directory.path,
        scope,
    };
    if scope.tier_parts.contains(&Part::Load) {
        (0..scope.rounds).try_for_each(|round| fixture.load(round, table))?;
    }
    for value_bytes in scope.value_bytes() {
        if scope.tier_parts.contains(&Part::WriteOut) {
            fixture.write_out(value_bytes, table)?;
        }
        if scope.tier_parts.contains(&Part::Reads) {
            fixture.reads(value_bytes, table)?;
        }
        if scope.tier_parts.contains(&Part::Overwriting) {
            fixture.overwriting(value_bytes, table)?;
        }
    }
    Ok(())
}

/// What all measurements need.
#[derive(Clone, Copy)]
struct Fixture<'l> {
    launcher: &'l Launcher,
    directory: &'l Path,
    scope: &'l Scope,
}

impl<'l> Fixture<'l> {
    fn subject(self, product: Product, value_bytes: usize) -> Subject<'l> {
        Subject::new(self.launcher, self.directory, product, value_bytes)
    }

    fn load(self, round: usize, table: &mut Table) -> io::Result<()> {
        let device = device_limit::measure(self.directory, DEVICE_BYTES, DEVICE_TIME)?;
        add_device(&device, table);
        for &product in &self.scope.products {
            let (round, rounds) = (round + 1, self.scope.rounds);
            eprintln!("tier, load, round {round} of {rounds}: {}", product.name());
            for value_bytes in self.scope.value_bytes() {
                let subject = self.subject(product, value_bytes);
                subject.spilled_by_half(table)?;
            }
            self.subject(product, POPULAR_BYTES)
                .spilled_four_times(table)?;
        }
        Ok(())
    }

    fn write_out(self, value_bytes: usize, table: &mut Table) -> io::Result<()> {
        if !self.scope.products.contains(&Product::Farcached) {
            return Ok(());
        }
        eprintln!("tier, write-out, {} KB", value_bytes >> 10);
        self.subject(Product::Farcached, value_bytes)
            .write_out(self.scope.turns, table)
    }

    fn reads(self, value_bytes: usize, table: &mut Table) -> io::Result<()> {
        let subjects = self.scope.products.iter();
        let subjects = subjects.map(|&product| self.subject(product, value_bytes));
        reading::measure(subjects.collect(), self.scope.turns, table)
    }

    fn overwriting(self, value_bytes: usize, table: &mut Table) -> io::Result<()> {
        if !self.scope.products.contains(&Product::Farcached) {
            return Ok(());
        }
        eprintln!("tier, overwriting, {} KB", value_bytes >> 10);
        self.subject(Product::Farcached, value_bytes)
            .overwriting(table)
    }
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
