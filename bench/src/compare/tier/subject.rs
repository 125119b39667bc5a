//! A server under test with values of one size.

use crate::compare::plan;
use crate::compare::table::{Row, Table, Wanted};
use crate::host_memory;
use crate::load::keys::KeyId;
use crate::load::runner::Plan;
use crate::load::values::ValueSizes;
use farcache_harness::control::Control;
use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use rustix::fs::Advice;
use std::io;
use std::path::{Path, PathBuf};

/// Memory of each server, in MiB.
pub const MEMORY_MEBIBYTES: u64 = 256;
/// Bytes of an item beside its value, roughly.
pub const ITEM_OVERHEAD_BYTES: u64 = 64;
/// Room on the SSD, in sizes of the data.
pub const ROOM: u64 = 2;
/// What a server takes of the machine's memory at most, its part of the page cache included.
const HOST_MEMORY_BYTES: usize = 1 << 30;

/// A server that is to be started.
pub struct Subject<'l> {
    launcher: &'l Launcher,
    /// Its file on the SSD.
    pub file: PathBuf,
    /// Which server.
    pub product: Product,
    /// Size of each value, in bytes.
    pub value_bytes: usize,
}

impl<'l> Subject<'l> {
    pub fn new(
        launcher: &'l Launcher,
        directory: &Path,
        product: Product,
        value_bytes: usize,
    ) -> Self {
        Subject {
            launcher,
            file: directory.join(product.name()),
            product,
            value_bytes,
        }
    }

    /// Keys whose items fill the memory so many times.
    pub fn keys(&self, spill_factor: f64) -> KeyId {
        let item_bytes = self.value_bytes as u64 + ITEM_OVERHEAD_BYTES;
        (((MEMORY_MEBIBYTES << 20) / item_bytes) as f64 * spill_factor) as KeyId
    }

    /// Size of the values for titles.
    pub fn kibibytes(&self) -> usize {
        self.value_bytes >> 10
    }

    pub fn start(&self, ssd_mebibytes: u64) -> io::Result<ServerProcess> {
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

    pub fn plan(&self, server: &ServerProcess, keys: KeyId) -> Plan {
        Plan {
            keys,
            values: ValueSizes::fixed(self.value_bytes),
            verify: true,
            ..plan(server.target())
        }
    }

    pub fn add(
        &self,
        table: &mut Table,
        title: &str,
        unit: &'static str,
        wanted: Wanted,
        figure: f64,
    ) {
        table.add(&Row::new(title, unit, wanted), self.product, figure);
    }

    /// What is read from now on comes from the device: memcached reads and writes through the page
    /// cache.
    pub fn empty_page_cache(&self) -> io::Result<()> {
        let file = std::fs::File::open(&self.file)?;
        file.sync_data()?;
        Ok(rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?)
    }
}

/// A figure of farcached's tier.
pub fn tier_stat(server: &ServerProcess, name: &str) -> io::Result<f64> {
    let stats = Control::connect(&server.target())?.stats("tier")?;
    let value = stats.get(name).and_then(|value| value.parse().ok());
    value.ok_or_else(|| io::Error::other(format!("no number in stats tier: {name}")))
}
